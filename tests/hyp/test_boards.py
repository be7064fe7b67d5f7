# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Images of real boards, on what of them QEMU emulates: all but what is counted, as QEMU counts no accesses."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import test_containment
import test_linux
from machine import HYP, PLATFORMS, ROOT, WRITER, Machine, build, skip_without_qemu  # it finds the modules of the kernel tests

import matrix  # isort: skip

CORES = range(4)
PERIODS = 20
SPINNER_BYTES = 0x200000


class Builds(unittest.TestCase):
    """Also boards that this QEMU does not emulate."""

    def test_every_platform_has_an_image_that_boot_loaders_take(self):
        platforms = {folder.name for folder in (HYP / "platform").iterdir()}
        self.assertEqual(platforms, set(PLATFORMS))
        for platform in sorted(platforms):
            with self.subTest(platform), tempfile.TemporaryDirectory() as folder:
                build("writers", {}, folder, platform=platform)
                image = Path(folder, "ringfence.bin").read_bytes()
                # Linux, Documentation/arch/arm64/booting.rst: magic, place behind the start of memory, bytes.
                self.assertEqual(image[56:60], b"ARM\x64")
                self.assertEqual(int.from_bytes(image[8:16], "little"), 0x200000)
                self.assertGreater(int.from_bytes(image[16:24], "little"), len(image))


class OfBoard:
    """What is the same for all boards."""

    platform = None
    counter_lines = None  # of the cores' counters: shared interrupts, the number less 32
    # QEMU's GICv2 tells of each sender.
    from_both = test_containment.ContainmentOnGicv2.from_both

    @classmethod
    def setUpClass(cls):
        skip_without_qemu(cls.platform)

    def machine(self, config, settings):
        machine = Machine(config, settings, platform=self.platform)
        self.addCleanup(machine.close)
        return machine

    def test_all_cores_start_and_begin_periods(self):
        settings = {"VCPUS": 4, "CORES": "0,1,2,3", "BUDGET": 4_000_000, "PERIODS": PERIODS, "PERIOD_NS": 1_000_000}
        console = self.machine("writers", settings).with_guest("writer").run()
        self.assertTrue(console.startswith(f"ringfence: {self.platform}, 4 cores, 1 VMs\n"), console)
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual([len(counted.split()) for counted in lines], [PERIODS] * 4, console)
        refills = re.search(r"it turned itself off; (\d+) refills, 0 overflows", console)
        self.assertGreaterEqual(int(refills[1]), PERIODS * 4, console)
        self.assertIn("no VM is left, the machine is turned off", console)

    def run_scenario(self, name, case):
        """What a scenario of scenarios/hyp prints from the raw image that `ringfence hyp image` writes of it."""
        ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not ringfence.exists():
            self.skipTest(f"{ringfence} is not built; `make built` does it")
        machine = self.machine("writers", {})
        scenario = (ROOT / f"scenarios/hyp/{name}.toml").read_text(encoding="utf-8")
        (machine.folder / "scenario.toml").write_text(scenario.replace("qemu-virt.toml", self.platform), encoding="utf-8")
        command = [ringfence, "hyp", "image", "--case", case, "--format", "raw", "-o", "ringfence.bin", "scenario.toml"]
        built = subprocess.run(command, cwd=machine.folder, capture_output=True, text=True, check=False)
        self.assertEqual(built.returncode, 0, built.stderr)
        return machine.run()

    def test_a_raw_image_has_guests_in_pages_of_their_colours(self):
        console = self.run_scenario("colours", "coloured")
        self.assertTrue(console.startswith(f"ringfence: {self.platform}, 4 cores, 3 VMs\n"), console)
        for name in ("critical", "other"):
            self.assertRegex(console, rf"\[{name}\] 500 pages from 4000c000 on, 0 words wrong")
        lines = re.findall(r"^\[writer\] vCPU 0: (.*)$", console, re.MULTILINE)
        self.assertEqual(len(" ".join(lines).split()), 150, console)
        self.assertIn("no VM is left, the machine is turned off", console)

    def test_an_image_of_a_scenario_boots(self):
        """As `ringfence hyp image` writes it: one file, with all guests in it."""
        console = self.run_scenario("writer", "reserved")
        self.assertTrue(console.startswith(f"ringfence: {self.platform}, 4 cores, 2 VMs\n"), console)
        self.assertIn("[critical] 500000 rounds", console)
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual([len(counted.split()) for counted in lines], [50] * 3, console)
        self.assertIn("no VM is left, the machine is turned off", console)

    def test_a_counter_s_interrupt_is_its_own_core_s(self):
        """
        Each core's counter has a shared interrupt. QEMU leaves their lines unconnected; held up, one keeps its own
        core from its guest, and no other one. Lowered when the others have ended, it lets that go on.
        """
        for core in CORES:
            with self.subTest(core=core):
                others = "|".join(f"core{other}" for other in CORES if other != core)
                ended = rf"(VM ({others}) has stopped[^$]*){{3}}"
                machine = self.machine("spinners", {}).with_held_line(self.counter_lines[core], ended)
                for other in CORES:
                    machine.with_guest("spinner", WRITER + other * SPINNER_BYTES)
                console = machine.run(timeout_s=20)
                stopped = re.findall(r"VM core(\d) has stopped: it turned itself off; \d+ refills, (\d+) overflows", console)
                self.assertEqual(stopped[-1][0], str(core), console)
                self.assertGreater(int(stopped[-1][1]), 0, console)
                self.assertEqual({count for _, count in stopped[:-1]}, {"0"}, console)


class Contained(OfBoard, test_containment.Containment):
    """Attacks and faults, beside a writer that is not held to its budget."""

    def assert_writer_undisturbed(self, console):
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual([len(counted.split()) for counted in lines], [PERIODS] * 2, console)
        self.assertNotIn("[writer] interrupt", console)
        self.assertIn("VM writer has stopped: it turned itself off", console)
        self.assertIn("no VM is left", console)


class Zcu104(Contained):
    platform = "zcu104"
    counter_lines = (143, 144, 145, 146)


class RaspberryPi4(Contained):
    platform = "raspberry-pi-4"
    counter_lines = (16, 17, 18, 19)


class LinuxOnZcu104(test_linux.Linux):
    """On two vCPUs, beside a writer that is not held to its budget."""

    platform = "zcu104"
    test_reaches_a_shell_beside_a_writer_on_three_cores = None
    test_reaches_a_shell_beside_an_endless_writer_with_threads = None

    def assert_written(self, console, shares):
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual([len(counted.split()) for counted in lines], [test_linux.PERIODS] * len(shares), console)


class LinuxOnRaspberryPi4(LinuxOnZcu104):
    platform = "raspberry-pi-4"


def load_tests(loader, _tests, _pattern):
    suites = [loader.loadTestsFromTestCase(case) for case in (Builds, Zcu104, RaspberryPi4)]
    for case in (LinuxOnZcu104, LinuxOnRaspberryPi4):
        suites.append(matrix.on_kernels(loader, case, by_default=("arm64",)))
    return unittest.TestSuite(suites)


if __name__ == "__main__":
    unittest.main()
