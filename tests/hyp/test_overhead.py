# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What a period costs is what the page says, but for what another compiler makes of the same source."""

import re
import unittest

import overhead

# Of what the page says.
TOLERANCE = 0.04


class Overhead(unittest.TestCase):
    def test_each_row_of_the_page(self):
        page = overhead.PAGE.read_text(encoding="utf-8")
        base_ns, _ = overhead.spin(0)
        for period_us in overhead.PERIODS_US:
            found = overhead.measure(period_us, base_ns)
            row = re.search(rf"^\| {period_us} us \| ([\d,]+) \| ([\d.]+)% \| (\d+) \| (\d+) \| (\d+) \|$", page, re.MULTILINE)
            self.assertIsNotNone(row, f"the page has no row for {period_us} us")
            periods, percent, instructions, traced, long = (float(figure.replace(",", "")) for figure in row.groups())
            for what, measured, written in (
                ("periods", found.periods, periods),
                ("% of the guest's time", found.share * 100, percent),
                ("instructions a period", found.instructions, instructions),
                ("instructions a period with the trace", found.traced_instructions, traced),
                ("instructions a period, the long way", found.long_instructions, long),
            ):
                with self.subTest(what, period_us=period_us):
                    # The page rounds to hundredths of a per cent.
                    self.assertAlmostEqual(
                        measured, written, delta=TOLERANCE * written + 0.01, msg="`make hyp-overhead` writes the page anew"
                    )


if __name__ == "__main__":
    unittest.main()
