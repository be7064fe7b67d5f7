# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""`ringfence run --target hyp` with a Linux guest: its device tree, its images, its record."""

import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from machine import ROOT, init  # it finds the modules of the kernel tests

import debian  # isort: skip
import initramfs  # isort: skip
import matrix  # isort: skip

SCENARIOS = ROOT / "scenarios/hyp"
TIMEOUT_S = 300
# Of its second vCPU: its share in each of the periods that it counts.
WRITER_LINES = "[writer] vCPU 1:" + " 300" * 20


class Scenario(unittest.TestCase):
    kernel = None

    def setUp(self):
        self.ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not self.ringfence.exists():
            self.skipTest(f"{self.ringfence} is not built; `make built` does it")
        self.folder = Path(tempfile.mkdtemp(prefix="hyp-scenario-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_linux(self, script, text):
        """Runs the scenario's text with a Linux that runs a script; what is on its console."""
        (self.folder / "linux.toml").write_text(text, encoding="utf-8")
        shutil.copy(SCENARIOS / "qemu-virt.toml", self.folder)
        busybox = debian.program(debian.unpacked(self.kernel.architecture, "busybox-static"), "busybox")
        contents = {"/init": initramfs.text(init(script), 0o755), "/bin/busybox": initramfs.read(busybox)}
        (self.folder / "initrd").write_bytes(initramfs.archive(contents))
        (self.folder / "Image").symlink_to(self.kernel.image)
        command = [self.ringfence, "run", "--target", "hyp", "-q", "linux.toml"]
        ran = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("The reservations: promised and held.", ran.stdout)
        return (self.folder / "linux.rfr.console").read_text(encoding="utf-8")

    def test_linux_on_two_vcpus_beside_a_writer(self):
        script = "echo from the shell; nproc; awk '/MemTotal/ {print ($2 > 200000)}' /proc/meminfo"
        # Its own clock, which begins with the year, and tells it of an alarm.
        script += "; cat /sys/class/rtc/rtc0/date; awk '/rtc-pl031/ {print \"before\", $2 + $3}' /proc/interrupts"
        script += "; echo +2 >/sys/class/rtc/rtc0/wakealarm; sleep 3; awk '/rtc-pl031/ {print \"after\", $2 + $3}' /proc/interrupts"
        console = self.run_linux(script, (SCENARIOS / "linux.toml").read_text(encoding="utf-8"))
        clock = ("[linux] 2026-01-01\n", "[linux] before 0\n", "[linux] after 1\n")
        for said in (*clock, "[linux] from the shell\n", "[linux] 2\n", "[linux] 1\n", WRITER_LINES):
            self.assertIn(said, console)

    def test_linux_in_half_of_the_colours(self):
        """It sees as much memory, and nothing of its colours; the writer beside it has its lines."""
        text = (SCENARIOS / "linux.toml").read_text(encoding="utf-8")
        for name, cores, colours in (("writer", "0-1", "0-7"), ("linux", "2-3", "8-15")):
            vm = f'name = "{name}"\ncores = "{cores}"\n'
            self.assertEqual(text.count(vm), 1)
            text = text.replace(vm, f'{vm}colours = "{colours}"\n')
        text = text.replace('name = "reserved"', 'name = "both"\nreservations = true\ncache_allocation = true')
        script = "echo from the shell; nproc; awk '/MemTotal/ {print ($2 > 200000)}' /proc/meminfo"
        # Some of it, written and read back.
        script += "; mkdir /tmp; mount -t tmpfs tmpfs /tmp; seq 200000 >/tmp/first; cp /tmp/first /tmp/second"
        script += "; cmp /tmp/first /tmp/second && echo as it was"
        console = self.run_linux(script, text)
        for said in ("[linux] from the shell\n", "[linux] 2\n", "[linux] 1\n", "[linux] as it was\n", WRITER_LINES):
            self.assertIn(said, console)


def load_tests(loader, _tests, _pattern):
    return matrix.on_kernels(loader, Scenario, by_default=("arm64",))


if __name__ == "__main__":
    unittest.main()
