# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Debian's kernel in a VM: to a shell script and to poweroff, alone, beside others, on 2 vCPUs."""

import re
import unittest

from machine import Machine  # it finds the modules of the kernel tests

import kernel_log  # isort: skip
import matrix  # isort: skip

TIMEOUT_S = 300
ENDED = "^ringfence: VM linux has stopped: it turned itself off;"
PERIODS = 20


class Linux(unittest.TestCase):
    kernel = None
    platform = "qemu-virt"
    endless = {}  # of the writer that does not end

    def run_linux(self, script, *, vcpus=1, settings=None, exact=True, typed=()):
        machine = Machine("linux", {"LINUX_VCPUS": vcpus} | (settings or {}), platform=self.platform, exact=exact)
        self.addCleanup(machine.close)
        machine.with_guest("writer").with_linux(self.kernel, script, vcpus)
        if typed:
            machine.with_typist(*typed)
        console = machine.run(until=ENDED, timeout_s=TIMEOUT_S)
        self.assertRegex(console, re.compile(ENDED, re.MULTILINE))
        log = re.sub(r"^\[linux\] ", "", console, flags=re.MULTILINE)
        self.assertEqual(kernel_log.failures(log, ()), [])
        return console

    def assert_written(self, console, shares):
        """What the writer has counted, in each period."""
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual(lines, [" ".join([str(share)] * PERIODS) for share in shares])

    def printed(self, console):
        """What the script printed."""
        lines = re.findall(r"^\[linux\] (.*)$", console, re.MULTILINE)
        return [line for line in lines if not re.match(r"\[ *\d+\.\d+\]", line)]

    def test_reaches_a_shell_beside_a_writer_on_three_cores(self):
        settings = {"WRITER_VCPUS": 3, "BUDGET": 900, "PERIODS": PERIODS}
        console = self.run_linux("echo from the shell; cat /proc/version", settings=settings)
        printed = self.printed(console)
        self.assertEqual(printed[0], "from the shell")
        self.assertIn(f"Linux version {self.kernel.version}", printed[1])
        self.assert_written(console, [300, 300, 300])

    def test_reaches_a_shell_beside_an_endless_writer_with_threads(self):
        """Each core is a thread of the host's: races that one thread hides, can show."""
        console = self.run_linux("echo from the shell", settings={"WRITER_VCPUS": 3, "PERIODS": 0} | self.endless, exact=False)
        self.assertEqual(self.printed(console), ["from the shell"])
        self.assertIn("[writer] 3 vCPUs", console)
        self.assertNotIn("VM writer has stopped", console)

    def test_two_vcpus_talk_to_each_other(self):
        script = """
            nproc; awk '/Rescheduling|Function call/ {print ($2 > 0), ($3 > 0)}' /proc/interrupts
            for turn in 1 2 3; do
                echo 0 >/sys/devices/system/cpu/cpu1/online; nproc
                echo 1 >/sys/devices/system/cpu/cpu1/online; nproc
            done
            (taskset 1 sh -c 'echo on 0') & (taskset 2 sh -c 'echo on 1') & wait
        """
        console = self.run_linux(script, vcpus=2, settings={"WRITER_VCPUS": 2, "BUDGET": 600, "PERIODS": PERIODS})
        printed = self.printed(console)
        self.assertEqual(printed[:9], ["2", "1 1", "1 1", "1", "2", "1", "2", "1", "2"])
        self.assertEqual(sorted(printed[9:]), ["on 0", "on 1"])
        self.assert_written(console, [300, 300])


class LinuxOnGicv2(Linux):
    """The same with the other interrupt controller."""

    platform = "qemu-virt-gicv2"
    # QEMU (7.2 to 10.0, hw/intc/arm_gic.c, gic_complete_irq) does not look at the physical interrupts again when a
    # guest has ended one through a list register: one that is raised by then waits for the next event of any
    # core. Without a reservation the writer's cores have none, and the guest's timer would wait for ever.
    endless = {"BUDGET": 900}


def load_tests(loader, _tests, _pattern):
    # amd64 has no hypervisor of ours.
    suites = (matrix.on_kernels(loader, of, by_default=("arm64",)) for of in (Linux, LinuxOnGicv2))
    return unittest.TestSuite(suites)


if __name__ == "__main__":
    unittest.main()
