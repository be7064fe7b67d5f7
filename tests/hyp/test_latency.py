# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A guest's timer interrupts: what others reserve does not make them late, and throttling by less than a period."""

import unittest

from latency import NEIGHBOUR_BUDGETS, NEVER_USED_UP, PERIOD_NS, USED_UP, wait

# What QEMU's turns let three writers do before it is the guest's: a line each, or a refill each.
TURNS_NS = 2000
# What of 300 may come at the end of such a turn.
DELAYED = 3
# An interrupt that comes with the refill waits for that.
REFILL_NS = 500


class Latency(unittest.TestCase):
    def test_a_neighbour_s_budget_is_nothing_to_a_guest_without_a_reservation(self):
        """Its interrupts come as they do alone, one by one."""
        alone = wait(neighbours=0)
        for budget in NEIGHBOUR_BUDGETS:
            beside = wait(neighbours=1, neighbour_budget=budget)
            others = [(n, late) for n, late in enumerate(beside.ticks) if late != alone.ticks[n]]
            self.assertLessEqual(len(others), DELAYED, others)
        for budget in (0, *NEIGHBOUR_BUDGETS):
            beside = wait(neighbour_budget=budget)
            self.assertEqual(beside.ns(50), alone.ns(50))
            self.assertLess(beside.max_ns(), alone.max_ns() + TURNS_NS)

    def test_a_reservation_that_is_not_used_up_costs_a_refill_at_most(self):
        free = wait(neighbours=0)
        regulated = wait(budget=NEVER_USED_UP, neighbours=0)
        self.assertEqual(regulated.ns(50), free.ns(50))
        self.assertLess(regulated.max_ns(), free.max_ns() + REFILL_NS)
        for budget in NEIGHBOUR_BUDGETS:
            beside = wait(budget=NEVER_USED_UP, neighbour_budget=budget)
            self.assertLess(beside.max_ns(), regulated.max_ns() + TURNS_NS)

    def test_throttling_makes_late_by_less_than_a_period(self):
        for neighbours, budget in ((0, 0), *((3, budget) for budget in NEIGHBOUR_BUDGETS)):
            beside = {"neighbours": neighbours, "neighbour_budget": budget}
            running = wait(budget=NEVER_USED_UP, **beside)
            throttled = wait(budget=USED_UP, writes=True, **beside)
            self.assertLess(throttled.max_ns(), PERIOD_NS + running.max_ns())
            self.assertGreater(throttled.max_ns(), PERIOD_NS * 0.9, "it was throttled for almost all of the period")


if __name__ == "__main__":
    unittest.main()
