# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A QEMU machine under the hypervisor: builds it for a configuration, boots it, reads its console.

    machine = Machine("writers", {"BUDGET": 300}).with_writer()
    console = machine.run(timeout_s=60)

With `exact` (as it is by default) all clocks advance with the instructions that the machine
executes, of all cores together, so that two runs print the same bytes.
"""

import contextlib
import functools
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests/kernel"), str(ROOT / "hyp/guests/linux")]

import debian  # noqa: E402
import device_tree  # noqa: E402
import emulator  # noqa: E402
import initramfs  # noqa: E402

HYP = ROOT / "hyp"
GUESTS = ("writer", "intruder", "spinner", "manager", "waiter", "walker", "alarm", "messenger", "painter", "reader")
QEMU = "qemu-system-aarch64"


@dataclass(frozen=True)
class Platform:
    """How QEMU emulates a platform of hyp/platform, and what it boots there."""

    gic_version: int
    arguments: str
    image: str = "ringfence.elf"
    # Who has the inputs of its interrupt controller, from interrupt 32 on.
    lines: str = ""

    def machine(self):
        return self.arguments.split()[1].split(",")[0]


VIRT = "-M virt,virtualization=on,gic-version={} -cpu cortex-a53 -smp 4 -m 1G"
# Boards boot raw images; QEMU has no ZCU104, but one with the same chip.
PLATFORMS = {
    "qemu-virt": Platform(3, VIRT.format(3)),
    "qemu-virt-gicv2": Platform(2, VIRT.format(2)),
    "qemu-virt-bus": Platform(3, VIRT.format(3)),
    "zcu104": Platform(2, "-M xlnx-zcu102,virtualization=on -smp 4 -m 2G", "ringfence.bin", "/machine/soc/gic"),
    "raspberry-pi-4": Platform(2, "-M raspi4b", "ringfence.bin", "/machine/soc/peripherals"),
}
EXACT = ["-accel", "tcg,thread=single", "-icount", "shift=0,sleep=off", "-rtc", "base=2026-01-01,clock=vm"]
# Cores run in turns, which end when a core sets a timer and else at the next timer of any: one that
# is busy and sets none would take the whole periods of those that have just set theirs. A device's
# timer of this period ends turns, too. After each timer the first core is served first: one that is
# busy, never yields and is before others would take all turns, so the configurations have it last.
TURN_US = 50
TURNS = ["-netdev", "hubport,id=none,hubid=0", "-object", f"filter-buffer,id=turns,netdev=none,interval={TURN_US}"]
# Where the configurations have their VMs' memory, and where the writer's is to be loaded.
WRITER = 0x44000000
LINUX = 0x60000000
LINUX_GUEST = 0x40000000
LINUX_BYTES = 0x10000000
INITRD = 0x08000000  # from the start of its memory
DEVICE_TREE = 0x0F000000
POLL_S = 0.02


class MachineError(Exception):
    """The machine cannot be built or started, or did not end as it should."""


# What configurations share is built once a process.
built = tempfile.TemporaryDirectory(prefix="hyp-built-")


def build(config, settings, into, *, platform="qemu-virt", trace=False):
    """Puts the hypervisor for a configuration, and the guests, into a folder; perhaps one that traces."""
    flags = " ".join(f"-D{name}={value}" for name, value in settings.items())
    command = ["make", "-s", "-C", HYP, f"CONFIG={config}", f"CONFIG_FLAGS={flags}"]
    command += [f"PLATFORM={platform}", f"BUILD={built.name}"]
    command += ["TRACE=1"] if trace else []
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MachineError(f"the hypervisor is not built for {config} with {flags}:\n{made.stderr}")
    for file in (f"{config}/ringfence.elf", f"{config}/ringfence.bin", *(f"guests/{name}.bin" for name in GUESTS)):
        shutil.copy(f"{built.name}/{file}", into)


@functools.cache
def qemu_for(platform):
    """How to call a QEMU that emulates it: this machine's own, or else the newer one that Debian offers."""
    listed = subprocess.run([QEMU, "-M", "help"], capture_output=True, text=True, check=False).stdout
    has_machine = any(line.startswith(f"{PLATFORMS[platform].machine()} ") for line in listed.splitlines())
    return (QEMU,) if has_machine else emulator.backported("arm64")


def skip_without_qemu(platform):
    try:
        qemu_for(platform)
    except debian.Unavailable as error:
        raise unittest.SkipTest(f"no QEMU for {platform}: {error}") from None


def init(script):
    """The first process of a Linux guest: runs a script with busybox and turns the guest off."""
    return (
        "#!/bin/busybox sh\n/bin/busybox mkdir -p /proc /sys /dev\n/bin/busybox --install -s /bin\n"
        "mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs devtmpfs /dev\n"
        f"exec >/dev/console 2>&1\n{script}\npoweroff -f\n"
    )


class HeldLine:
    """A shared interrupt's line that is held up from outside, as its device would, until something was printed."""

    def __init__(self, folder, line, until):
        self.path = f"{folder}/qtest"
        self.line = line
        self.until = until
        self.connection = None

    def arguments(self):
        """QEMU waits for us before it begins."""
        return ["-qtest", f"unix:{self.path},server=on", "-qtest-log", "none"]

    def begin(self, process):
        while self.connection is None and process.poll() is None:
            try:
                self.connection = socket.socket(socket.AF_UNIX)
                self.connection.connect(self.path)
            except OSError:
                self.end()
                time.sleep(POLL_S)
        self.set(1)

    def set(self, level):
        if self.connection:
            self.connection.sendall(f"set_irq_in {self.line} {level}\n".encode())

    def look(self, printed):
        if self.connection and re.search(self.until, printed, re.MULTILINE):
            self.set(0)
            self.end()

    def end(self):
        if self.connection:
            self.connection.close()
            self.connection = None


class Typist:
    """
    Types on the serial line. Of each pair, what the second says is typed when the first, a regular expression,
    was printed behind what the one before has found. What is not typed by then is not typed any more.
    """

    def __init__(self, folder, lines):
        self.path = f"{folder}/line"
        self.console = f"{folder}/console"
        self.lines = list(lines)
        self.seen = 0
        self.rest = b""
        self.connection = None
        self.reader = threading.Thread(target=self.read)

    def arguments(self):
        """QEMU waits for us before it begins."""
        return ["-chardev", f"socket,id=line,path={self.path},server=on,wait=on", "-serial", "chardev:line"]

    def begin(self, process):
        self.connection = socket.socket(socket.AF_UNIX)
        while process.poll() is None:
            try:
                self.connection.connect(self.path)
            except OSError:
                time.sleep(POLL_S)
            else:
                self.reader.start()
                break

    def read(self):
        """All that is printed, at once: few bytes fill such a line, and a machine that waits for us is slow."""
        with open(self.console, "ab", buffering=0) as console, contextlib.suppress(OSError):
            while printed := self.connection.recv(1 << 16):
                console.write(printed)

    def look(self, printed):
        if self.lines:
            pattern, text = self.lines[0]
            found = re.compile(pattern, re.MULTILINE).search(printed, self.seen)
            if found:
                self.seen = found.end()
                self.rest = text.encode()
                del self.lines[0]
        if self.rest:
            with contextlib.suppress(OSError):  # it is full, or QEMU has ended
                self.rest = self.rest[self.connection.send(self.rest, socket.MSG_DONTWAIT):]

    def end(self):
        """QEMU has ended."""
        if self.reader.is_alive():
            self.reader.join()
        self.connection.close()


class Machine:
    """A built machine; `close` removes its files."""

    def __init__(self, config, settings=None, *, platform="qemu-virt", exact=True, trace=False):
        if shutil.which(QEMU) is None:
            raise MachineError(f"{QEMU} is not installed; `tools/setup test` does it")
        self.folder = Path(tempfile.mkdtemp(prefix="hyp-"))
        build(config, settings or {}, self.folder, platform=platform, trace=trace)
        self.platform = PLATFORMS[platform]
        self.qemu = qemu_for(platform)
        self.exact = exact
        self.loaded = []
        self.held = None
        self.typist = None
        self.memory = None

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def load(self, path, address):
        self.loaded += ["-device", f"loader,file={path},addr={address:#x},force-raw=on"]

    def with_guest(self, name, address=WRITER):
        self.load(self.folder / f"{name}.bin", address)
        return self

    def with_linux(self, kernel, script, vcpus=1, arguments="console=ttyAMA0 mitigations=off panic=-1"):
        """Linux, which runs a script of busybox's shell and turns itself off."""
        busybox = debian.program(debian.unpacked(kernel.architecture, "busybox-static"), "busybox")
        contents = {"/init": initramfs.text(init(script), 0o755), "/bin/busybox": initramfs.read(busybox)}
        initrd = initramfs.archive(contents)
        tree = device_tree.of_guest(
            gicv3=self.platform.gic_version == 3, vcpus=vcpus, memory=LINUX_GUEST, memory_bytes=LINUX_BYTES, initrd=LINUX_GUEST + INITRD,
            initrd_bytes=len(initrd), arguments=arguments,
        )
        (self.folder / "initrd").write_bytes(initrd)
        (self.folder / "tree").write_bytes(tree)
        self.load(kernel.image, LINUX)
        self.load(self.folder / "initrd", LINUX + INITRD)
        self.load(self.folder / "tree", LINUX + DEVICE_TREE)
        return self

    def with_held_line(self, number, until):
        """Of the interrupt with that number from 32 on; until the console has printed what a regular expression says."""
        self.held = HeldLine(self.folder, f"{self.platform.lines} unnamed-gpio-in {number}", until)
        return self

    def with_typist(self, *lines):
        """Who types on the serial line."""
        self.typist = Typist(self.folder, lines)
        return self

    def with_memory_in(self, memory):
        """Its RAM is this file (memory.py), with what is in it."""
        self.memory = memory
        return self

    def command(self):
        command = [*self.qemu, *self.platform.arguments.split(), *(EXACT + TURNS if self.exact else [])]
        command += self.memory.arguments() if self.memory else []
        command += ["-nodefaults", "-no-user-config"]
        console = f"{self.folder}/console"
        command += ["-display", "none"]
        command += self.typist.arguments() if self.typist else ["-serial", f"file:{console}"]
        command += self.held.arguments() if self.held else []
        return [*command, "-kernel", str(self.folder / self.platform.image), *self.loaded]

    def run(self, *, until=None, timeout_s=60):
        """Boots and waits until the machine is off, or has printed what a regular expression says."""
        console = self.folder / "console"
        console.write_bytes(b"")
        # Should we be killed, QEMU still ends.
        command = ["timeout", "--signal=KILL", str(timeout_s + 10), *self.command()]
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        started = time.monotonic()
        others = [other for other in (self.held, self.typist) if other]
        try:
            for other in others:
                other.begin(process)
            while process.poll() is None:
                printed = console.read_text(encoding="utf-8", errors="replace")
                for other in others:
                    other.look(printed)
                if until and re.search(until, printed, re.MULTILINE):
                    return printed.replace("\r", "")
                if time.monotonic() - started > timeout_s:
                    raise MachineError(f"the machine did not end within {timeout_s} s; it printed:\n{printed}")
                time.sleep(POLL_S)
            if process.returncode != 0:
                raise MachineError(f"QEMU failed: {process.stderr.read().decode()}")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            process.stderr.close()
            for other in others:
                other.end()
        return console.read_text(encoding="utf-8", errors="replace").replace("\r", "")
