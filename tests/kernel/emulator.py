# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The QEMU that interprets guests: this machine's own, or a newer one of Debian's if that is too old."""

import functools
import platform
import re
import shutil
import subprocess

import debian
import initramfs

# Guest architecture: program, its Debian package.
PROGRAMS = {"amd64": ("qemu-system-x86_64", "qemu-system-x86"), "arm64": ("qemu-system-aarch64", "qemu-system-arm")}
# Older ones give all instructions until the next timer to one CPU of a guest whose clock counts
# instructions: an interrupt for another CPU waits as long as the first one computes
# (`late-interrupts --own-qemu` shows it). Since 8.1 every CPU has its share of them.
OLDEST_FAIR = (8, 1)


class EmulatorError(Exception):
    """There is no QEMU to run a guest with."""


def version(command):
    """What a QEMU says of itself, as (8, 1, 2)."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"version (\d+)\.(\d+)\.(\d+)", said.stdout)
    if found is None:
        raise EmulatorError(f"{command[0]} --version says no version: {(said.stdout + said.stderr).strip()}")
    return tuple(int(number) for number in found.groups())


def own(architecture):
    """Command of the machine's own QEMU."""
    program, _ = PROGRAMS[architecture]
    if shutil.which(program) is None:
        raise EmulatorError(f"{program} is not installed; `tools/setup test` does it")
    return (program,)


def backported(architecture):
    """Command of the QEMU that Debian offers for this machine's release beside the release's own."""
    program, package = PROGRAMS[architecture]
    machine = next(name for name, (kind, _) in initramfs.MACHINES.items() if kind == platform.machine())
    root = debian.unpacked(machine, package, backported=True)
    # With its own loader, C library and modules: the machine's may be older than what it was built for.
    loader = next(path for path in sorted(root.glob("lib*/**/ld-linux-*.so.*")) if path.is_file())
    libraries = [root / below / f"{platform.machine()}-linux-gnu" for below in ("lib", "usr/lib")]
    data = [option for name in ("qemu", "seabios") for option in ("-L", str(root / "usr/share" / name))]
    modules = f"QEMU_MODULE_DIR={libraries[1] / 'qemu'}"
    path = ":".join(map(str, libraries))
    return ("env", modules, str(loader), "--library-path", path, str(debian.program(root, program)), *data)


@functools.cache
def command(architecture):
    """How to call a QEMU that is fair to all CPUs of a guest; fetches it once if the machine has none."""
    mine = own(architecture)
    return mine if version(mine) >= OLDEST_FAIR else backported(architecture)
