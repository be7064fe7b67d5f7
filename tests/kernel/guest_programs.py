# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Our own programs, built for a guest's architecture."""

import os
import subprocess
import unittest
from pathlib import Path

import debian
from debian import ROOT
from guest import Guest

COMPILERS = {"amd64": "cc", "arm64": "aarch64-linux-gnu-gcc"}
TARGETS = {"amd64": "x86_64-unknown-linux-gnu", "arm64": "aarch64-unknown-linux-gnu"}
# Debian's packages for what ringfence-linux links with, and their libraries.
LIBRARIES = ("libelf1",)
LINKED = {"libelf.so": "libelf.so.1", "libz.so": "libz.so.1"}
DEVELOPMENT = "libelf-dev"

JOB_API = ROOT / "crates/ringfence-workloads/include"

# Names the folder of programs for this machine if they have been built already.
BUILT = "RINGFENCE_BUILT"


def need_rust_for(target):
    """Skips the test if this machine's Rust cannot build for the target."""
    asked = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=True)
    if not (Path(asked.stdout.strip()) / "lib/rustlib" / target).exists():
        raise unittest.SkipTest(f"this Rust has no standard library for {target}; `rustup target add` has")


def cross_environment(architecture):
    """Where the compilers find the libraries of another architecture."""
    root = debian.unpacked(architecture, DEVELOPMENT)
    triple = "aarch64-linux-gnu"
    # Alone: the C library beside them would be taken for the cross compiler's.
    linked = debian.CACHE / f"linked-{architecture}"
    linked.mkdir(exist_ok=True)
    for name, library in LINKED.items():
        (linked / name).unlink(missing_ok=True)
        (linked / name).symlink_to(next(root.glob(f"**/{triple}/{library}")).resolve())
    target = TARGETS[architecture].replace("-", "_")
    return {
        f"CARGO_TARGET_{target.upper()}_LINKER": f"{triple}-gcc",
        f"CARGO_TARGET_{target.upper()}_RUSTFLAGS": f"-L native={linked}",
        f"CC_{target}": f"{triple}-gcc",
        f"AR_{target}": f"{triple}-ar",
        f"CFLAGS_{target}": f"-idirafter {root}/usr/include",
    }


def build(architecture, package, *targets):
    """Builds a target of a package, such as `--example gang_load`; the folder it is in."""
    triple = TARGETS[architecture]
    if architecture == "amd64" and os.environ.get(BUILT):
        return Path(os.environ[BUILT])
    environment = dict(os.environ)
    command = ["cargo", "build", "--locked", "--quiet", "--package", package, *targets]
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    if architecture != "amd64":
        need_rust_for(triple)
        environment |= cross_environment(architecture)
        command += ["--target", triple]
        folder = folder / triple
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / "debug"


def compile_c(architecture, source, into):
    """Compiles a program of one file, which may use the job API; where it is."""
    program = into / source.stem
    command = [COMPILERS[architecture], "-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-pthread"]
    subprocess.run([*command, "-I", JOB_API, "-o", program, source, "-lm"], check=True)
    return program


RINGFENCE = ("ringfence-cli", "--bin", "ringfence")
# Building it for another architecture takes minutes, which only `make test-kernels` spends.
RINGFENCE_BY_DEFAULT = ("amd64",)
GANG_LOAD = ("ringfence-linux", "--example", "gang_load")


def guest(kernel, built, files=None, *, library_packages=(), **options):
    """A guest that has programs of ours in /bin, each as `build` takes it."""
    found = dict(files or {})
    for package, kind, name in built:
        folder = build(kernel.architecture, package, kind, name)
        found[f"/bin/{name}"] = folder / ("examples" if kind == "--example" else "") / name
    libraries = () if kernel.architecture == "amd64" else LIBRARIES
    return Guest(kernel, files=found, library_packages=(*libraries, *library_packages), **options)
