# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A virtual machine that boots a Debian kernel, runs a script and gives files back.

    guest = Guest(images.preferred("amd64"), cpus=4, files={"/bin/ringfence": path})
    outcome = guest.run("ringfence doctor > /out/doctor.txt", collect=["/out"], timeout_s=60)
    assert not outcome.why_failed, outcome.why_failed
    guest.collect(folder)

QEMU interprets the guest (TCG), so no rights and no virtualization are needed. The guest's
clocks advance with the instructions that it executes, not with the host's time: a busy host
makes it slower and does not disturb it, and while it sleeps no time is lost. The guest's script
talks to the host over virtio ports, which every kernel here has built in; the serial line has
the kernel's log and nothing else.
"""

import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import debian
import emulator
import initramfs
import kernel_log

HERE = Path(__file__).resolve().parent
SERIAL = {"amd64": "ttyS0", "arm64": "ttyAMA0"}
PORTS = ("output", "files", "status")
POLL_S = 0.05
# For each instruction, of all CPUs together: about as fast as hosts interpret them.
NS_PER_INSTRUCTION = 8
CLOCK = f"shift={NS_PER_INSTRUCTION.bit_length() - 1},sleep=off"
# Virtual CPUs run in turns. QEMU ends a turn when a CPU sets a timer or reads a device and else at
# the next timer of any: a CPU in the scheduler's code would stand still for the milliseconds that
# another spends in a loop, at each of its steps. A device's timer of this period ends turns, too.
# No multiple of it is a period of the guest's: a CPU whose turn always came as one of the other
# timers ended it would get none for milliseconds.
TURN_US = 401
EXCERPT_LINES = 25


class GuestError(Exception):
    """A guest cannot be started, or did not give what was asked of it."""


@dataclass(frozen=True)
class Outcome:
    """What a guest did."""

    exit_status: int | None  # the script's; None if it did not end
    timed_out: bool
    failures: list  # lines of the kernel's log
    output: str  # standard output and error of the script
    kernel_log: str
    seconds: float  # from the start of QEMU to its end

    @property
    def reasons(self):
        """All that went wrong, a line each."""
        found = [f"the kernel's log: {line}" for line in self.failures]
        if self.timed_out:
            found.append(f"the guest was killed after {self.seconds:.0f} s")
        elif self.exit_status is None:
            found.append("the guest ended before the script did")
        elif self.exit_status != 0:
            found.append(f"the script ended with exit status {self.exit_status}")
        return found

    @property
    def why_failed(self):
        """The reasons with what was printed around them; empty if all went well."""
        if not self.reasons:
            return ""
        output = "\n".join(self.output.splitlines()[-EXCERPT_LINES:])
        return "\n".join([*self.reasons, "--- end of the output", output, "--- kernel's log", self.excerpt])

    @property
    def excerpt(self):
        """The kernel's log around the first failure; without one, its end."""
        lines = self.kernel_log.splitlines()
        first = next((at for at, line in enumerate(lines) if self.failures and self.failures[0] in line), len(lines))
        start = max(0, min(first - 5, len(lines) - EXCERPT_LINES))
        return "\n".join(lines[start : start + EXCERPT_LINES])


def every_file(files):
    """The files, with all that is below a folder in place of the folder."""
    found = {}
    for guest_path, source in files.items():
        source = Path(source)
        if source.is_dir():
            below = [path for path in sorted(source.rglob("*")) if path.is_file()]
            found |= {f"{guest_path}/{path.relative_to(source)}": path for path in below}
        elif source.is_file():
            found[guest_path] = source
        else:
            raise GuestError(f"{source}, which is to be {guest_path} in the guest, does not exist")
    return found


class Guest:
    """A guest that can be run any number of times; every run starts from the same state.

    files           path on this machine by path in the guest; a folder stands for all below it.
                    Shared libraries of the programs among them are added.
    programs        PACKAGE/NAME of programs that Debian has, for the guest's /bin
    library_packages  Debian packages of libraries that `files` need and this machine does not have
    sysctl          value by name
    freezer_v1      mount version 1 of the cgroup freezer, with version 2 at /sys/fs/cgroup/unified
    pmu             arm64 only: a performance monitoring unit that counts cycles
    kernel_arguments  more of the kernel's command line
    allow           regular expressions of lines in the kernel's log that are no failures
    init            the first process, which in the end becomes /harness/run
    qemu            command of the emulator; by default one that is fair to all CPUs
    """

    def __init__(self, kernel, cpus=4, memory_mib=1024, *, files=None, programs=(), library_packages=(),
                 sysctl=None, hostname="guest", freezer_v1=False, pmu=False,
                 kernel_arguments=(), allow=(), init=HERE / "init", qemu=()):
        if pmu and kernel.architecture != "arm64":
            raise GuestError("QEMU emulates a performance monitoring unit for arm64 alone")
        self.kernel = kernel
        self.qemu = qemu or emulator.command(kernel.architecture)
        self.cpus = cpus
        self.memory_mib = memory_mib
        self.pmu = pmu
        self.kernel_arguments = kernel_arguments
        self.allow = allow
        self.init = init
        self._process = None
        self._folder = None
        self._fixed = self._files(files or {}, programs, library_packages)
        settings = "".join(f"{name.replace('.', '/')} {value}\n" for name, value in (sysctl or {}).items())
        self._fixed |= {
            "/etc/hostname": initramfs.text(f"{hostname}\n"),
            "/etc/passwd": initramfs.text("root:x:0:0:root:/root:/bin/sh\n"),
            "/etc/group": initramfs.text("root:x:0:\n"),
            "/harness/sysctl": initramfs.text(settings),
        }
        if freezer_v1:
            self._fixed["/harness/freezer-v1"] = initramfs.text("")

    def _files(self, files, programs, library_packages):
        """Mode and content of all files that are the same in every run, by path in the guest."""
        architecture = self.kernel.architecture
        files = every_file(files) | {"/init": self.init, "/harness/run": HERE / "run"}
        modules = self.kernel.modules
        files |= {f"/harness/modules/{number}-{path.name}": path for number, path in enumerate(modules)}
        roots = [debian.unpacked(architecture, package) for package in library_packages]
        for program in ("busybox-static/busybox", *programs):
            package, name = program.split("/")
            roots.append(debian.unpacked(architecture, package))
            files[f"/bin/{name}"] = debian.program(roots[-1], name)
        files = initramfs.with_libraries(files, architecture, roots)
        return {path: initramfs.read(source) for path, source in files.items()}

    def command(self):
        """QEMU's command line; its files are in the working folder."""
        arm = self.kernel.architecture == "arm64"
        # Version 2 of the interrupt controller ends at 8 CPUs.
        machine = f"virt,gic-version={2 if self.cpus <= 8 else 3}" if arm else "q35"
        processor = f"cortex-a72,pmu={'on' if self.pmu else 'off'}" if arm else "max"
        console = SERIAL[self.kernel.architecture]
        # An oops ends the guest at once: what runs after it proves nothing. Lines that programs put
        # into the log are not thinned out.
        line = ["loglevel=7", "panic=-1", "oops=panic", "printk.devkmsg=on", f"console={console}"]
        # Page tables of the kernel's own would cost QEMU all its translations in every system call.
        line += ["mitigations=off"]
        line += self.kernel_arguments
        command = [*self.qemu, "-M", machine, "-cpu", processor]
        command += ["-accel", "tcg,thread=single", "-icount", CLOCK]
        command += ["-netdev", "hubport,id=none,hubid=0"]
        command += ["-object", f"filter-buffer,id=turns,netdev=none,interval={TURN_US}"]
        command += ["-smp", str(self.cpus), "-m", str(self.memory_mib), "-nodefaults", "-no-user-config"]
        command += ["-display", "none", "-no-reboot", "-device", "virtio-serial-pci"]
        command += ["-chardev", "file,id=console,path=console", "-serial", "chardev:console"]
        for port in PORTS:
            command += ["-chardev", f"file,id={port},path={port}"]
            command += ["-device", f"virtserialport,chardev={port},name={port}"]
        return [*command, "-kernel", str(self.kernel.image), "-initrd", "initrd", "-append", " ".join(line)]

    def start(self, script, *, collect=(), timeout_s=120):
        """Boots the guest, which runs `script` with busybox's shell, and returns at once.

        At the end of the script the files and folders of `collect` go to the host.
        """
        self.stop()
        self._collected = [path.strip("/") for path in collect]
        self._folder = tempfile.TemporaryDirectory(prefix="guest-")
        folder = Path(self._folder.name)
        contents = self._fixed | {
            "/harness/script": initramfs.text(script),
            "/harness/collect": initramfs.text("".join(f"{path}\n" for path in self._collected)),
        }
        (folder / "initrd").write_bytes(initramfs.archive(contents))
        for name in ("console", *PORTS):
            (folder / name).touch()
        # Should we be killed, QEMU still ends.
        command = ["timeout", "--signal=KILL", str(timeout_s + 10), *self.command()]
        self._timeout_s = timeout_s
        self._started = time.monotonic()
        with open(folder / "errors", "wb") as errors:
            self._process = subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True
            )

    def wait(self, on_output=None, on_kernel_log=None):
        """Waits for the end of the guest; the functions get the text that has come since the last call."""
        folder = Path(self._folder.name)
        follow = [(folder / "output", on_output), (folder / "console", on_kernel_log)]
        followed = [(open(path, encoding="utf-8", errors="replace", newline=""), to) for path, to in follow if to]
        try:
            has_ended = timed_out = False
            while not has_ended and not timed_out:
                has_ended = self._process.poll() is not None
                timed_out = not has_ended and time.monotonic() - self._started > self._timeout_s
                for file, to in followed:
                    if text := file.read():
                        to(text)
                if not has_ended:
                    time.sleep(POLL_S)
        finally:
            for file, _ in followed:
                file.close()
            self._kill()
        return self._outcome(timed_out, time.monotonic() - self._started)

    def _outcome(self, timed_out, seconds):
        output, log, status, errors = (
            (Path(self._folder.name) / name).read_text(encoding="utf-8", errors="replace")
            for name in ("output", "console", "status", "errors")
        )
        # It warns that the network of the turns is none.
        errors = "\n".join(line for line in errors.splitlines() if "warning:" not in line)
        if errors and not log:
            raise GuestError(f"QEMU does not start: {errors}")
        log = log.replace("\r", "")
        exit_status = int(status) if re.fullmatch(r"\d+\n", status) else None
        return Outcome(exit_status, timed_out, kernel_log.failures(log, self.allow), output, log, seconds)

    def run(self, script, *, collect=(), timeout_s=120, on_output=None, on_kernel_log=None):
        """Boots the guest, runs the script and waits for the end."""
        self.start(script, collect=collect, timeout_s=timeout_s)
        return self.wait(on_output, on_kernel_log)

    def collect(self, into):
        """Puts the files of the last run below a folder, by their path in the guest."""
        into = Path(into)
        into.mkdir(parents=True, exist_ok=True)
        archive = Path(self._folder.name) / "files"
        came = set()
        if archive.stat().st_size > 0:
            command = ["tar", "-xvf", archive, "--no-same-owner", "-C", into]
            unpacked = subprocess.run(command, capture_output=True, text=True, check=False)
            if unpacked.returncode != 0:
                raise GuestError(f"the files of the guest did not come whole: {unpacked.stderr.strip()}")
            came = {name.rstrip("/") for name in unpacked.stdout.splitlines()}
        missing = [path for path in self._collected if path not in came]
        if missing:
            raise GuestError(f"the guest had no /{', /'.join(missing)} to collect when the script ended")

    @property
    def is_running(self):
        return self._process is not None and self._process.poll() is None

    def _kill(self):
        if self.is_running:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def stop(self):
        """Kills the guest if it runs, and forgets its files."""
        self._kill()
        self._process = None
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
