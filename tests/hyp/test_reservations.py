# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A reservation gives a VM its budget in each period, to the line, as the VM itself counts."""

import re
import unittest

from machine import Machine

PERIODS = 10
PERIODS_NS = (50_000, 100_000, 200_000, 500_000, 1_000_000)
# Of all vCPUs together; less than they could write in the time, so that all budgets are used up.
LINES_PER_US = (0.2, 0.5, 1, 2, 4)


class Reservations(unittest.TestCase):
    def console(self, settings, config="writers"):
        machine = Machine(config, {"PERIODS": PERIODS} | settings)
        self.addCleanup(machine.close)
        return machine.with_guest("writer").run()

    def lines(self, console):
        """Lines of each vCPU in each period."""
        found = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        return [[int(count) for count in line.split()] for line in found]

    def assert_exact(self, shares, settings):
        console = self.console({"VCPUS": len(shares), "BUDGET": sum(shares)} | settings)
        self.assertEqual(self.lines(console), [[share] * PERIODS for share in shares], f"{settings}: {console}")

    def test_exact_on_one_core(self):
        for period_ns in PERIODS_NS:
            for lines_per_us in LINES_PER_US:
                budget = int(period_ns * lines_per_us / 1000)
                self.assert_exact([budget], {"PERIOD_NS": period_ns})

    def test_exact_on_three_cores_with_equal_shares(self):
        for period_ns in PERIODS_NS:
            for lines_per_us in LINES_PER_US:
                share = int(period_ns * lines_per_us / 1000 / 3)
                self.assert_exact([share] * 3, {"PERIOD_NS": period_ns})

    def test_exact_on_three_cores_with_unequal_shares(self):
        for period_ns in PERIODS_NS:
            for lines_per_us in LINES_PER_US:
                share = int(period_ns * lines_per_us / 1000 / 6)
                self.assert_exact([share, 2 * share, 3 * share], {"PERIOD_NS": period_ns, "WEIGHTS": "1,2,3"})

    def test_what_does_not_divide_is_not_lost(self):
        self.assert_exact([33, 33, 34], {"PERIOD_NS": 100_000})

    def test_the_same_bytes_twice(self):
        settings = {"BUDGET": 100, "WEIGHTS": "5,3,1"}
        self.assertEqual(self.console(settings), self.console(settings))

    def test_unregulated_pays_nothing(self):
        console = self.console({"REGULATED": 0, "VCPUS": 1})
        lines = self.lines(console)[0]
        # More than any budget of these tests, and no entry to EL2 for it.
        self.assertGreater(min(lines), 400, lines)
        self.assertIn("; 0 refills, 0 overflows", console)

    def test_a_guest_cannot_stop_its_counter(self):
        console = self.console({"VCPUS": 3, "BUDGET": 30, "ATTACK": 1})
        self.assertEqual(self.lines(console), [[10] * PERIODS] * 3)
        self.assertIn("[writer] PMU registers read 0", console)

    def test_a_vcpu_that_comes_and_goes_has_no_more(self):
        """Neither is its budget new each time it is turned on, nor does what it has used get lost."""
        settings = {"VCPUS": 3, "BUDGET": 120, "PERIOD_NS": 2_000_000, "ATTACK": 2}
        self.assertEqual(self.lines(self.console(settings)), [[0] * PERIODS, [40] * PERIODS, [40] * PERIODS])

    def test_a_configuration_that_cannot_be_is_refused(self):
        for settings, why in (
            ({"PERIOD_NS": 999}, "the period of a reservation is not 1 us to 1 s"),
            ({"WEIGHTS": "0,0,0"}, "the weights of its reservation add up to 0, or to more than 2^32 - 1"),
            ({"BUDGET": "0xffffffffffffffff"}, "the budget of its reservation is 2^64 - 1, expected less"),
            ({"VCPUS": 0}, "a VM has no vCPU, or more than 8"),
            ({"CORES": "1,2,2"}, "a core is two vCPUs"),
            ({"CORES": "1,2,4"}, "a VM has a core that the platform has not"),
            ({"ADDRESS": "0x40200000"}, "a memory region overlaps the hypervisor"),
            ({"ADDRESS": "0x44001000"}, "a memory region is not aligned to 2 MiB"),
            ({"ADDRESS": "0x7f800000"}, "a memory region is not in the platform's memory"),
            ({"ADDRESS": "0x90000000"}, "a memory region is not in the platform's memory"),
            ({"GUEST": "0x7fff800000"}, "a memory region is where guests have no addresses"),
            ({"SECOND": "0x40200000,0x60000000"}, "two memory regions of a VM have the same addresses"),
            ({"SECOND": "0x80000000,0x40200000"}, "a memory region overlaps the hypervisor"),
        ):
            with self.subTest(why):
                self.assertIn(f": {why}\n", self.console(settings))


if __name__ == "__main__":
    unittest.main()
