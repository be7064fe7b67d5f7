# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A reservation gives a VM its budget in each period, to the line, as the VM itself counts."""

import unittest

import throughput
from machine import Machine

PERIODS = 10


class Reservations(unittest.TestCase):
    def console(self, settings, platform="qemu-virt"):
        machine = Machine("writers", {"PERIODS": PERIODS} | settings, platform=platform)
        self.addCleanup(machine.close)
        return machine.with_guest("writer").run()

    def assert_exact(self, shares, settings, platform="qemu-virt"):
        console = self.console({"VCPUS": len(shares), "BUDGET": sum(shares)} | settings, platform)
        lines = throughput.lines_of(console, len(shares))
        self.assertEqual(lines, [[share] * PERIODS for share in shares], f"{settings}: {console}")

    def test_exact_in_each_cell_of_the_page(self):
        page = throughput.PAGE.read_text(encoding="utf-8")
        for name, (vcpus, weights) in throughput.WAYS.items():
            with self.subTest(name):
                cells = throughput.grid(vcpus, weights)
                self.assertEqual({key: found for key, found in cells.items() if "**" in found}, {})
                self.assertIn(throughput.table(cells), page, "`make hyp-throughput` writes the page anew")

    def test_exact_with_large_budgets(self):
        for shares, weights in (([4000], {}), ([1333] * 3, {}), ([666, 1332, 1998], {"WEIGHTS": "1,2,3"})):
            self.assert_exact(shares, {"PERIOD_NS": 1_000_000} | weights)

    def test_exact_with_the_other_interrupt_controller(self):
        for shares, weights in (([40], {}), ([100] * 3, {}), ([50, 100, 150], {"WEIGHTS": "1,2,3"})):
            for period_ns in (100_000, 1_000_000):
                self.assert_exact(shares, {"PERIOD_NS": period_ns} | weights, "qemu-virt-gicv2")

    def test_what_does_not_divide_is_not_lost(self):
        self.assert_exact([33, 33, 34], {"PERIOD_NS": 100_000})

    def test_periods_do_not_drift(self):
        """Not by the least that there is, a tick of the clock, 16 ns: after 640 periods that were two whole ones."""
        periods = 640
        for vcpus in (1, 3):
            for period_ns in (5_000, 5_001):  # whole ticks, and 9/16 more
                with self.subTest(vcpus=vcpus, period_ns=period_ns):
                    settings = {"VCPUS": vcpus, "BUDGET": vcpus, "PERIOD_NS": period_ns, "PERIODS": periods}
                    of_vcpus = throughput.lines_of(self.console(settings), vcpus)
                    self.assertEqual([len(lines) for lines in of_vcpus], [periods] * vcpus)
                    wrong = [lines.index(n) for lines in of_vcpus for n in set(lines) - {1}]
                    self.assertEqual(wrong, [], "first periods of other than one line")

    def test_the_same_bytes_twice(self):
        settings = {"BUDGET": 100, "WEIGHTS": "5,3,1"}
        self.assertEqual(self.console(settings), self.console(settings))

    def test_unregulated_pays_nothing(self):
        console = self.console({"REGULATED": 0, "VCPUS": 1})
        lines = throughput.lines_of(console, 1)[0]
        # More than any budget of these tests, and no entry to EL2 for it.
        self.assertGreater(min(lines), 400, lines)
        self.assertIn("; 0 refills, 0 overflows", console)

    def test_a_guest_cannot_stop_its_counter(self):
        console = self.console({"VCPUS": 3, "BUDGET": 30, "ATTACK": 1})
        self.assertEqual(throughput.lines_of(console, 3), [[10] * PERIODS] * 3)
        self.assertIn("[writer] PMU registers read 0", console)

    def test_a_vcpu_that_comes_and_goes_has_no_more(self):
        """Neither is its budget new each time it is turned on, nor does what it has used get lost."""
        settings = {"VCPUS": 3, "BUDGET": 120, "PERIOD_NS": 2_000_000, "ATTACK": 2}
        lines = throughput.lines_of(self.console(settings), 3)
        self.assertEqual(lines, [[0] * PERIODS, [40] * PERIODS, [40] * PERIODS])

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
            ({"GUEST": "0x08000000"}, "a memory region has the addresses of a guest's devices"),
            ({"SECOND": "0x40200000,0x60000000"}, "two memory regions of a VM have the same addresses"),
            ({"SECOND": "0x80000000,0x40200000"}, "a memory region overlaps the hypervisor"),
        ):
            with self.subTest(why):
                self.assertIn(f": {why}\n", self.console(settings))


if __name__ == "__main__":
    unittest.main()
