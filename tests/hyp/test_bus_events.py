# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Budgets of bus traffic, which guests cause and do not report: kept but for an overshoot that the page states."""

import unittest

import bus

CACHE_LINES = 512
# Lines of the guest besides its buffer: code's constants, stacks, variables.
OTHER_LINES = 16


def setUpModule():
    if int(bus.qemu_version().split(".")[0]) > bus.LAST_QEMU:
        why = f"QEMU {bus.qemu_version()} refuses plugins for version 1 of its interface, which those before 9 take"
        raise unittest.SkipTest(why)


class BusEvents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.page = bus.PAGE.read_text(encoding="utf-8")

    def test_each_cell_of_the_page(self):
        """On one core and on three; `overshoot` fails where a core has not all of its shares, or counts differ."""
        for name, (vcpus, weights) in bus.WAYS.items():
            with self.subTest(name):
                cells = bus.grid(vcpus, weights)
                self.assertIn(bus.table(cells), self.page, "`make hyp-bus-events` writes the page anew")
                self.assertLessEqual(max(cells.values()), bus.ROW_EVENTS - 1)

    def test_each_row_of_what_is_counted(self):
        for name in bus.SETS:
            with self.subTest(name):
                self.assertIn(bus.set_row(name), self.page, "`make hyp-bus-events` writes the page anew")

    def test_every_line_that_is_written_moves_twice(self):
        """As the guest's own steps have it: in, and out again but for those that the cache still has."""
        found = bus.measure(3000, 200, 3)
        for steps, core in zip(found.steps(), found.cores, strict=True):
            self.assertIn(core.fills - steps, range(OTHER_LINES))
            self.assertIn(core.fills - core.write_backs - CACHE_LINES, range(OTHER_LINES))

    def test_every_line_that_is_read_moves_once(self):
        found = bus.measure(3000, 200, 3, writes=0)
        for steps, core in zip(found.steps(), found.cores, strict=True):
            self.assertIn(core.fills - steps, range(OTHER_LINES))
            self.assertLess(core.write_backs, OTHER_LINES)

    def test_what_fits_into_the_cache_is_never_throttled(self):
        for writes in (0, 1):
            found = bus.measure(3 * 300, 100, 3, bytes_each=bus.SMALL, writes=writes)
            self.assertIn(", 0 overflows", found.console)
            for steps, core in zip(found.steps(), found.cores, strict=True):
                lines = bus.SMALL // 64
                self.assertGreater(steps, 50 * lines, "it walks over all of them again and again")
                self.assertIn(core.fills - lines, range(OTHER_LINES))
                self.assertEqual((core.write_backs, core.throttled()), (0, 0))

    def test_one_line_more_than_the_ways_of_a_set_is_filled_each_time(self):
        """Four ways: 32 KiB and a row never stay, as the least recently used line goes first."""
        row_bytes = 4 * 64
        found = bus.measure(100_000, 100, 1, bytes_each=(32 << 10) + row_bytes, writes=0)
        core = found.cores[0]
        # Sets 0 to 3 have five lines to keep, and the others four.
        self.assertGreater(core.fills, 5 * 4 * found.steps()[0] // (CACHE_LINES + 4) * 0.9)
        self.assertLess(core.fills, found.steps()[0] / 10)

    def test_the_same_bytes_twice(self):
        bus.measure(100, 50, 3, (5, 3, 1), runs=2)


if __name__ == "__main__":
    unittest.main()
