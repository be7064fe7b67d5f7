# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A device that a VM has to itself, and its interrupt: a PL031 clock, whose line stays up until it is told."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from machine import ROOT, Machine
from test_containment import PERIODS, SHARE

SCENARIOS = ROOT / "scenarios/hyp"
TIMEOUT_S = 120
ALARM_AT = 0x48000000
CLOCK = 0x09010000
BUS_MONITOR = 0x7FE00000
ALARM, STORM, NEVER_ENDS, SLEEPER, FOREIGN = range(5)
FIRST_CORE = 2  # of the VM with the clock
UNUSABLE = {
    "a device is not whole pages of 4 KiB": {"CLOCK_BYTES": 0x800},
    "a device is in the platform's memory": {"CLOCK": 0x50000000},
    "a device has the addresses of one that is emulated": {"CLOCK": 0x09000000},
    "a device has the addresses of its VM's pages of statistics": {"STATISTICS": 0x0A000000, "CLOCK": 0x0A001000},
    "an interrupt of a device is not a shared one, 32 to 1019": {"INTERRUPT": 27},
    "an interrupt is of two devices": {"WRITERS_INTERRUPT": 34},
}


class Devices(unittest.TestCase):
    platform = "qemu-virt"

    def run_beside_writer(self, deed, **settings):
        console = self.console({"DEED": deed} | settings)
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual(lines, [" ".join([str(SHARE)] * PERIODS)] * 2, console)
        self.assertNotIn("nobody's", console)
        return console

    def console(self, settings, platform=None):
        machine = Machine("devices", settings, platform=platform or self.platform)
        self.addCleanup(machine.close)
        return machine.with_guest("writer").with_guest("alarm", ALARM_AT).run()

    def test_an_interrupt_waits_until_it_is_on_and_comes_again_while_its_line_is_up(self):
        for vcpu in (0, 1):
            console = self.run_beside_writer(ALARM, TARGET=vcpu)
            self.assertIn("[alarm] off: pending 1, taken 0\n", console)
            self.assertIn(f"[alarm] on: pending 0, taken 2 by vCPU {vcpu}\n", console)
            self.assertIn("[alarm] still here", console)

    def test_a_storm_is_the_vm_s_own(self):
        console = self.run_beside_writer(STORM, TARGET=1)
        self.assertIn("[alarm] a storm: many, until it is off", console)

    def test_an_interrupt_that_is_never_ended_is_the_vm_s_own(self):
        console = self.run_beside_writer(NEVER_ENDS, TARGET=1)
        self.assertIn("[alarm] still here", console)

    def test_an_interrupt_waits_for_a_vcpu_that_is_off(self):
        console = self.run_beside_writer(SLEEPER, TARGET=1)
        self.assertIn("[alarm] asleep: taken 0\n[alarm] awake: taken 1 by vCPU 1\n", console)

    def test_other_interrupts_are_out_of_reach(self):
        console = self.run_beside_writer(FOREIGN)
        self.assertIn("[alarm] others': 0\n", console)

    def test_a_clock_that_is_not_the_vm_s_ends_it(self):
        console = self.run_beside_writer(ALARM, OWNED=0)
        what = "a write to memory that it has not"
        self.assertIn(f"ringfence: VM alarm, vCPU 0 on core {FIRST_CORE}: {what}\n", console)
        self.assertIn(f"of the guest's memory 0x{CLOCK:016x}", console)

    def test_what_cannot_be_a_device_is_refused(self):
        for why, settings in UNUSABLE.items():
            with self.subTest(why):
                self.assertIn(f"the configuration cannot be used: {self.platform}: {why}\n", self.console(settings))

    def test_a_device_of_the_hypervisor_s_is_refused(self):
        """The monitor of the bus; the others have the addresses of emulated ones here."""
        self.assertIn("a device is the hypervisor's\n", self.console({"CLOCK": BUS_MONITOR}, "qemu-virt-bus"))


class InAScenario(unittest.TestCase):
    def setUp(self):
        self.ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not self.ringfence.exists():
            self.skipTest(f"{self.ringfence} is not built; `make built` does it")
        self.folder = Path(tempfile.mkdtemp(prefix="hyp-devices-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_on(self, platform, **changed):
        text = (SCENARIOS / "devices.toml").read_text(encoding="utf-8").replace("qemu-virt.toml", f"{platform}.toml")
        for old, new in changed.values():
            self.assertIn(old, text)
            text = text.replace(old, new)
        shutil.copy(SCENARIOS / f"{platform}.toml", self.folder)
        (self.folder / "devices.toml").write_text(text)
        command = [self.ringfence, "run", "--target", "hyp", "-q", "devices.toml"]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)

    def test_a_vm_has_the_clock_and_the_writer_its_reservation(self):
        for platform in ("qemu-virt", "qemu-virt-gicv2"):
            ran = self.run_on(platform)
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("The reservations: promised and held.", ran.stdout)
            console = (self.folder / "devices.rfr.console").read_text(encoding="utf-8")
            self.assertIn("[alarm] on: pending 0, taken 2 by vCPU 0\n", console)

    def test_what_the_board_cannot_give_is_refused_before_it_starts(self):
        wrong = {
            "the device `clock` is at 0x50000000 to 0x50001000, but qemu-virt has RAM from": ("address = 0x0901_0000", "address = 0x5000_0000"),
            "a device has the addresses of one that is emulated": ("address = 0x0901_0000", "address = 0x0900_0000"),
        }
        for why, change in wrong.items():
            ran = self.run_on("qemu-virt", change=change)
            self.assertNotEqual(ran.returncode, 0)
            self.assertIn(why, ran.stderr + ran.stdout)


class DevicesOnGicv2(Devices):
    platform = "qemu-virt-gicv2"


if __name__ == "__main__":
    unittest.main()
