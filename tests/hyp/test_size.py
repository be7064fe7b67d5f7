# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""How much has to be trusted is what the documentation says, but for what is rounded, and for other compilers."""

import re
import subprocess
import unittest

from machine import HYP, ROOT, built

PAGE = ROOT / "docs/src/hypervisor.md"
# Of what the page says.
TOLERANCE = 0.05


def measure(*options):
    """Lines, and bytes of code and constants."""
    command = ["make", "-s", "-C", HYP, "CONFIG=writers", f"BUILD={built.name}", *options, "size"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    return int(printed[0]), int(printed[2].split()[0])


class Size(unittest.TestCase):
    def test_what_the_page_says(self):
        page = PAGE.read_text(encoding="utf-8")
        said = re.search(r"about ([\d,]+) lines .*?about ([\d,]+) bytes, and ([\d,]+) more with the", page, re.DOTALL)
        self.assertIsNotNone(said, f"{PAGE} does not say how large it is")
        lines, code, trace = (int(figure.replace(",", "")) for figure in said.groups())
        found_lines, found_code = measure()
        _, found_traced = measure("TRACE=1")
        for what, found, written in (
            ("lines", found_lines, lines),
            ("bytes", found_code, code),
            ("bytes with the trace", found_traced, code + trace),
        ):
            with self.subTest(what):
                self.assertAlmostEqual(found, written, delta=TOLERANCE * written, msg=f"{PAGE}: other {what}")


if __name__ == "__main__":
    unittest.main()
