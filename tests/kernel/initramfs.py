# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What a guest starts with: files, and the shared libraries of the programs among them."""

import os
import platform
import re
import stat
import subprocess
from pathlib import Path

from debian import ROOT

MACHINES = {"amd64": ("x86_64", "Advanced Micro Devices X86-64"), "arm64": ("aarch64", "AArch64")}


class LibraryError(Exception):
    """A program cannot run in the guest."""


def library_folders(architecture, roots=()):
    """Where shared libraries of an architecture are: in unpacked packages, then on this machine."""
    machine, _ = MACHINES[architecture]
    triplet = f"{machine}-linux-gnu"
    folders = [root / "usr/lib" / triplet for root in roots] + [root / "lib" / triplet for root in roots]
    folders += [root / lib for root in roots for lib in ("usr/lib", "lib", "lib64", "usr/lib64")]
    if platform.machine() == machine:
        folders += [f"/usr/local/lib/{triplet}", "/usr/local/lib", f"/lib/{triplet}", f"/usr/lib/{triplet}"]
        folders += ["/lib64", "/lib", "/usr/lib"]
    # The cross compiler's, and what tools/setup has unpacked.
    folders += [f"/usr/{triplet}/lib", ROOT / f".cache/root/usr/{triplet}/lib", ROOT / f".cache/root/usr/lib/{triplet}"]
    return [Path(folder) for folder in folders]


def needs(program, architecture):
    """(interpreter or nothing, shared libraries, run path) of a program or library; nothing for other files."""
    with open(program, "rb") as file:
        if file.read(4) != b"\x7fELF":
            return None, [], []
    environment = dict(os.environ, LC_ALL="C")
    text = subprocess.check_output(["readelf", "-hldW", program], text=True, env=environment)
    if not re.search(r"Type: +(EXEC|DYN)", text):
        return None, [], []  # an object file, of BPF for example
    machine = re.search(r"Machine: +(.*)", text)[1]
    if machine != MACHINES[architecture][1]:
        raise LibraryError(f"{program} is for {machine}; the guest is {architecture}")
    interpreter = re.search(r"Requesting program interpreter: (.*)\]", text)
    run_path = re.search(r"\((?:RUNPATH|RPATH)\) .*\[(.*)\]", text)
    folders = run_path[1].replace("$ORIGIN", str(Path(program).parent)).split(":") if run_path else []
    libraries = re.findall(r"\(NEEDED\) .*\[(.*)\]", text)
    return interpreter and interpreter[1], libraries, [Path(folder) for folder in folders]


def with_libraries(files, architecture, roots=()):
    """The files, by their path in the guest, and all shared libraries that they need."""
    found = dict(files)
    known = library_folders(architecture, roots)
    waiting = list(files.values())
    while waiting:
        program = waiting.pop()
        interpreter, libraries, run_path = needs(program, architecture)
        wanted = {f"/lib/{name}": name for name in libraries}
        if interpreter:
            wanted[interpreter] = Path(interpreter).name
        for guest_path, name in wanted.items():
            if guest_path in found:
                continue
            places = [folder / name for folder in [*run_path, *known] if (folder / name).exists()]
            if not places:
                raise LibraryError(
                    f"{program} needs {name}, which is in none of {', '.join(map(str, [*run_path, *known]))}; "
                    "name the Debian package that has it (library_packages, --library-package)"
                )
            found[guest_path] = places[0]
            waiting.append(places[0])
    return found


def entry(number, path, mode, content):
    """One entry of a newc archive (Documentation/driver-api/early-userspace/buffer-format.rst)."""
    name = path.encode() + b"\0"
    fields = (number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0)
    header = b"070701" + b"".join(b"%08X" % field for field in fields) + name
    return header + b"\0" * (-len(header) % 4) + content + b"\0" * (-len(content) % 4)


def archive(contents):
    """A newc archive of (mode, bytes) by absolute path; parent folders are added."""
    folders = {str(parent) for path in contents for parent in Path(path).parents}
    every = {folder: (stat.S_IFDIR | 0o755, b"") for folder in folders - {"/"}} | contents
    # Sorted, a folder comes before what is in it.
    ordered = sorted(every.items()) + [("/TRAILER!!!", (0, b""))]
    return b"".join(entry(number, path[1:], *what) for number, (path, what) in enumerate(ordered, 1))


def read(path):
    """Mode and content of a file as it goes into an archive."""
    path = Path(path)
    return stat.S_IFREG | (path.stat().st_mode & 0o777), path.read_bytes()


def text(content, mode=0o644):
    return stat.S_IFREG | mode, content.encode()
