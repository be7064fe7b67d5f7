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


class Scenario(unittest.TestCase):
    kernel = None

    def setUp(self):
        self.ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not self.ringfence.exists():
            self.skipTest(f"{self.ringfence} is not built; `make built` does it")
        self.folder = Path(tempfile.mkdtemp(prefix="hyp-scenario-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_linux_on_two_vcpus_beside_a_writer(self):
        for name in ("linux.toml", "qemu-virt.toml"):
            shutil.copy(SCENARIOS / name, self.folder)
        busybox = debian.program(debian.unpacked(self.kernel.architecture, "busybox-static"), "busybox")
        script = "echo from the shell; nproc; awk '/MemTotal/ {print ($2 > 200000)}' /proc/meminfo"
        # Its own clock, which begins with the year, and tells it of an alarm.
        script += "; cat /sys/class/rtc/rtc0/date; awk '/rtc-pl031/ {print \"before\", $2 + $3}' /proc/interrupts"
        script += "; echo +2 >/sys/class/rtc/rtc0/wakealarm; sleep 3; awk '/rtc-pl031/ {print \"after\", $2 + $3}' /proc/interrupts"
        contents = {"/init": initramfs.text(init(script), 0o755), "/bin/busybox": initramfs.read(busybox)}
        (self.folder / "initrd").write_bytes(initramfs.archive(contents))
        (self.folder / "Image").symlink_to(self.kernel.image)
        command = [self.ringfence, "run", "--target", "hyp", "-q", "linux.toml"]
        ran = subprocess.run(
            command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        self.assertIn("The reservations: promised and held.", ran.stdout)
        console = (self.folder / "linux.rfr.console").read_text(encoding="utf-8")
        clock = ("[linux] 2026-01-01\n", "[linux] before 0\n", "[linux] after 1\n")
        for said in (*clock, "[linux] from the shell\n", "[linux] 2\n", "[linux] 1\n", "[writer] vCPU 1:" + " 300" * 20):
            self.assertIn(said, console)


def load_tests(loader, _tests, _pattern):
    return matrix.on_kernels(loader, Scenario, by_default=("arm64",))


if __name__ == "__main__":
    unittest.main()
