# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A VM that may changes another's reservation while it runs: both periods to the line."""

import re
import unittest

from machine import Machine

MANAGER = 0x48000000
SLOT_NS = 10_000
SLOTS = 500
# As hyp/config/manager.c and hyp/guests/manager have them.
BUDGET, PERIOD_NS = 200, 100_000
# A budget that the writer does not use up.
PLENTY = 9000
NOTHING, TO_AND_FRO, REFUSED, SLOWLY = 0, 1, 2, 3
DONE, NO_VM, DENIED, OUT_OF_BOUNDS, ABOVE_TOTAL, PENDING = 0, -3, -4, -5, -6, -7
ASKED = r"^\[manager\] at (\d+): VM (\d+) to (\d+) in (\d+) ns: (-?\d+) from (\d+)$"


def shares(budget, vcpus):
    """Cut off one after the other, as reservation.h has it."""
    ends = [budget * part // vcpus for part in range(vcpus + 1)]
    return [end - begin for begin, end in zip(ends, ends[1:], strict=False)]


class Changes(unittest.TestCase):
    def run_managed(self, deed, vcpus, **settings):
        machine = Machine("manager", {"DEED": deed, "VCPUS": vcpus, "SLOTS": SLOTS} | settings)
        self.addCleanup(machine.close)
        console = machine.with_guest("writer").with_guest("manager", MANAGER).run()
        self.assertIn("[manager] done\n", console)
        changes = [tuple(map(int, found)) for found in re.findall(ASKED, console, re.MULTILINE)]
        return console, changes

    def slots(self, console, vcpus):
        """Lines of each vCPU in each slot."""
        rows = re.findall(r"^\[writer\] vCPU (\d): (.*)$", console, re.MULTILINE)
        return [[int(count) for of, row in rows if int(of) == vcpu for count in row.split()] for vcpu in range(vcpus)]

    def begins(self, console):
        """When the first slot began: the console says in which slot."""
        return int(re.search(r"^\[writer\] from (\d+) ns$", console, re.MULTILINE)[1])

    def assert_kept(self, console, changes, vcpus, budget=BUDGET, period_ns=PERIOD_NS, slot_ns=SLOT_NS, idle=()):
        """Each vCPU has written its share in each period: of one grid, that each change goes on from its end."""
        first_ns = self.begins(console)
        end_ns = first_ns + SLOTS * slot_ns
        grid, begin_ns = [], 0
        waiting = {from_ns: (to, length_ns) for *_, to, length_ns, result, from_ns in changes if result == DONE}
        while begin_ns < end_ns:
            budget, period_ns = waiting.pop(begin_ns, (budget, period_ns))
            grid.append((begin_ns, begin_ns + period_ns, budget))
            begin_ns += period_ns
        self.assertEqual(waiting, {}, "a change that is not in force at the end of a period")
        counted = self.slots(console, vcpus)
        had_plenty = False
        whole = [period for period in grid if period[0] >= first_ns and period[1] <= end_ns]
        for begin_ns, until_ns, budget in whole:
            slots = slice((begin_ns - first_ns) // slot_ns, (until_ns - first_ns) // slot_ns)
            lines = [sum(of[slots]) for of in counted]
            expected = [0 if vcpu in idle else share for vcpu, share in enumerate(shares(budget, vcpus))]
            if budget == PLENTY:
                self.assertTrue(all(line < share for line, share in zip(lines, expected, strict=True)), console)
                had_plenty = True
                continue
            if had_plenty:
                # A line at the very end of a period is counted in the next one, where the writer had it begun in this.
                lines = [line + (line == share - 1) for line, share in zip(lines, expected, strict=True)]
                had_plenty = False
            self.assertEqual(lines, expected, f"from {begin_ns} to {until_ns} ns: {console}")
        return whole

    def test_budgets_and_periods_to_and_fro_to_the_line(self):
        for vcpus in (1, 3):
            with self.subTest(vcpus=vcpus):
                console, changes = self.run_managed(TO_AND_FRO, vcpus)
                self.assertEqual([change[4] for change in changes], [DONE] * 8, console)
                whole = self.assert_kept(console, changes, vcpus)
                self.assertEqual(len({until - begin for begin, until, _ in whole}), 5)
                for asked_ns, *_, from_ns in changes:
                    ends = [until for begin, until, _ in whole if begin <= asked_ns < until]
                    self.assertEqual([from_ns], ends, console)

    def test_vcpus_that_had_some_left_change_as_well(self):
        # Without statistics, so that they go the short way from one period into the next.
        settings = {"BUDGET": PLENTY, "EVENTS_PER_S": 100_000_000, "OF": 0}
        for vcpus in (1, 3):
            with self.subTest(vcpus=vcpus):
                console, changes = self.run_managed(TO_AND_FRO, vcpus, **settings)
                self.assertEqual([change[4] for change in changes], [DONE] * 8, console)
                self.assert_kept(console, changes, vcpus, PLENTY)

    def test_vcpus_that_come_and_go_while_a_change_waits(self):
        settings = {"ATTACK": 2, "BUDGET": 600, "PERIOD_NS": 2_000_000, "SLOT_NS": 50_000}
        settings["BOUNDS"] = "10,10000,20000,4000000"
        console, changes = self.run_managed(SLOWLY, 3, **settings)
        self.assertEqual([change[4] for change in changes], [DONE] * 3, console)
        self.assert_kept(console, changes, 3, 600, 2_000_000, 50_000, idle=(0,))

    def test_the_same_bytes_twice(self):
        self.assertEqual(self.run_managed(TO_AND_FRO, 3), self.run_managed(TO_AND_FRO, 3))

    def test_what_may_not_be_is_refused_and_changes_nothing(self):
        console, changes = self.run_managed(REFUSED, 3)
        expected = [NO_VM] * 2 + [DENIED] + [OUT_OF_BOUNDS] * 6 + [ABOVE_TOTAL, DONE, PENDING]
        self.assertEqual([change[4] for change in changes], expected, console)
        self.assert_kept(console, changes, 3)

    def test_nobody_may_by_default(self):
        console, changes = self.run_managed(TO_AND_FRO, 3, MAY_CHANGE=0)
        self.assertEqual([change[4] for change in changes], [DENIED] * 8, console)
        self.assert_kept(console, changes, 3)

    def test_a_configuration_that_cannot_be_is_refused(self):
        for settings, why in (
            ({"BOUNDS": "300,400,20000,1000000"}, "a reservation is not within the bounds of its changes"),
            ({"BOUNDS": "10,400,200000,1000000"}, "a reservation is not within the bounds of its changes"),
            ({"BOUNDS": "10,400,999,1000000"}, "the bounds of a reservation's period are not 1 us to 1 s"),
            ({"BOUNDS": "10,400,1000,1000000001"}, "the bounds of a reservation's period are not 1 us to 1 s"),
            ({"BOUNDS": "10,0xffffffffffffffff,1000,100000"},
             "the bounds of a reservation's budget end at 2^64 - 1, expected less"),
            ({"EVENTS_PER_S": 0}, "a reservation can be changed, and the platform has no total"),
            ({"EVENTS_PER_S": 1999999}, "the reservations are together above the platform's total"),
            ({"MAY_CHANGE": 2}, "a VM may change a reservation that has no bounds"),
            ({"MAY_CHANGE": 4}, "a VM may change a reservation that has no bounds"),
            ({"OF": 4}, "a VM may read the statistics of one that there is not"),
            ({"STATISTICS": "0x70000800"},
             "pages of statistics are not aligned to 4 KiB, or where guests have no addresses"),
            ({"STATISTICS": "0x7ffffff000"},
             "pages of statistics are not aligned to 4 KiB, or where guests have no addresses"),
            ({"STATISTICS": "0x401ff000"}, "pages of statistics have the addresses of a memory region"),
        ):
            with self.subTest(why, **settings):
                machine = Machine("manager", settings)
                self.addCleanup(machine.close)
                self.assertIn(f": {why}\n", machine.with_guest("writer").run())


if __name__ == "__main__":
    unittest.main()
