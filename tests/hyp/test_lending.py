# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Unused budget is lent and taken back, to the line, and a critical VM has its own in each period."""

import re
import unittest

from machine import Machine
from test_statistics import statistics

AT = {"borrower": 0x48000000, "critical": 0x4C000000}
# As hyp/config/lending.c and hyp/guests/writer have them.
PERIOD_NS = 100_000
BUDGET, SHARE, CRITICAL = 100, 50, 75
LENDER_PERIODS, PERIODS = 40, 60
NAP_PERIODS, FEW_LINES = 4, 10
EVERYTHING = 1000


def demand(counted):
    """Lines that the lender's vCPUs want in a period, by its place among those that count; None: all that it can."""
    if counted == LENDER_PERIODS:
        return 1  # by which it sees that it is over
    if not 0 <= counted < LENDER_PERIODS:
        return 0
    return (0, None, 0, FEW_LINES)[counted // NAP_PERIODS % 4]


def lending(share, first, periods, *, is_on=True):
    """What a vCPU of the lender writes and gives in each period, by lending.h; `first` is its first that counts."""
    used, written, given = 0, {}, {}
    for period in periods:
        keeps = share if used is None else min(share, 2 * used + 1)
        wants = demand(period - first) if is_on else 0
        written[period] = keeps if wants is None else min(keeps, wants)
        given[period] = share - keeps
        used = None if written[period] == keeps else written[period]
    return written, given


class Lending(unittest.TestCase):
    def run_machine(self, *, exact=True, **settings):
        settings = {"LENDER_PERIODS": LENDER_PERIODS, "PERIODS": PERIODS} | settings
        machine = Machine("lending", settings, exact=exact)
        self.addCleanup(machine.close)
        machine.with_guest("writer")
        for address in AT.values():
            machine.with_guest("writer", address)
        return machine.run()

    def lines(self, console, name):
        """The first period that counts, and the lines of each vCPU from it on."""
        first_ns = int(re.search(rf"^\[{name}\] from (\d+) ns$", console, re.MULTILINE)[1])
        rows = re.findall(rf"^\[{name}\] vCPU \d: (.*)$", console, re.MULTILINE)
        return first_ns // PERIOD_NS, [[int(count) for count in row.split()] for row in rows]

    def assert_critical(self, console):
        _, lines = self.lines(console, "critical")
        self.assertEqual(lines, [[CRITICAL] * PERIODS], console)

    def assert_lent(self, console, shares, on, borrows=True):
        """Each line of lender and borrower is where the rules have it."""
        first, of_lender = self.lines(console, "lender")
        of_borrower_first, (of_borrower,) = self.lines(console, "borrower")
        begin = min(first, of_borrower_first) - 1
        periods = range(begin, of_borrower_first + PERIODS)
        pool = dict.fromkeys(periods, 0)
        for vcpu, share in enumerate(shares):
            written, given = lending(share, first, periods, is_on=vcpu < on)
            if vcpu < on:
                self.assertEqual(of_lender[vcpu], [written[first + n] for n in range(LENDER_PERIODS)], console)
            for period in periods:
                pool[period] += given[period]
        expected = [SHARE + (pool[of_borrower_first + n] if borrows else 0) for n in range(PERIODS)]
        self.assertEqual(of_borrower, expected, console)
        self.assert_critical(console)
        return pool

    def test_lent_when_idle_and_taken_back_within_a_period(self):
        console = self.run_machine()
        pool = self.assert_lent(console, [BUDGET], 1)
        # Idle, awake with all that it has, and little used: all were there.
        self.assertEqual(set(pool.values()), {BUDGET - 1, 0, BUDGET - 1 - 2 * FEW_LINES, BUDGET - 3})

    def test_borrowed_in_small_parts(self):
        """Parts that do not divide what there is: the same lines."""
        self.assertEqual(
            self.lines(self.run_machine(BORROWS=16), "borrower"),
            self.lines(self.run_machine(BORROWS=EVERYTHING), "borrower"),
        )

    def test_vcpus_that_are_on_or_off_lend(self):
        for on in (1, 2):
            with self.subTest(on=on):
                console = self.run_machine(VCPUS=2, VCPUS_ON=on)
                self.assert_lent(console, [BUDGET // 2] * 2, on)

    def test_statistics_say_what_was_lent_and_borrowed(self):
        console = self.run_machine()
        _, (of_borrower,) = self.lines(console, "borrower")
        lender, borrower, critical = statistics(console)
        self.assertEqual((critical["lent"], critical["borrowed"], lender["borrowed"]), (0, 0, 0))
        # And in the period behind those that count, in which it writes one.
        self.assertEqual(borrower["borrowed"], sum(of_borrower) - SHARE * PERIODS)
        self.assertEqual(borrower["used"], sum(of_borrower) + 1)
        self.assertGreaterEqual(lender["lent"], borrower["borrowed"])
        self.assertEqual((lender["overruns"], borrower["overruns"]), (0, 0))

    def test_no_event_is_made_when_each_core_is_a_thread(self):
        """Races that one thread hides, can show; what is lent, and to whom, is then by chance."""
        console = self.run_machine(exact=False, VCPUS=2)
        lines = statistics(console)
        lent, borrowed = (sum(line[name] for line in lines) for name in ("lent", "borrowed"))
        self.assertLessEqual(borrowed, lent, console)
        self.assertEqual(console.count("it turned itself off"), 3, console)

    def test_nobody_lends_or_borrows_unless_it_is_configured(self):
        for settings in ({"LENDS": 0}, {"BORROWS": 0}, {"LENDS": 0, "BORROWS": 0}):
            with self.subTest(**settings):
                console = self.run_machine(**settings)
                _, (of_borrower,) = self.lines(console, "borrower")
                self.assertEqual(of_borrower, [SHARE] * PERIODS, console)
                self.assert_critical(console)

    def test_the_same_bytes_twice(self):
        self.assertEqual(self.run_machine(), self.run_machine())

    def test_a_configuration_that_cannot_be_is_refused(self):
        for settings, why in (
            ({"PERIOD_NS": 0, "OTHER_PERIOD_NS": 100000}, "a VM lends or borrows, and has no reservation"),
            ({"OTHER_PERIOD_NS": 50000}, "VMs that lend or borrow have periods of two lengths"),
            ({"BOUNDS": "10,100,100000,200000"}, "the period of a VM that lends or borrows can be changed"),
        ):
            with self.subTest(why):
                self.assertIn(f": {why}\n", self.run_machine(**settings))


if __name__ == "__main__":
    unittest.main()
