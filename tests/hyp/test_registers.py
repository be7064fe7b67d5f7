# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""A guest finds its registers as they were, however often it was interrupted, and by which way."""

import re
import subprocess
import unittest

from machine import Machine

SETTINGS = {"PERIOD_NS": 2000, "ROUNDS": 20000, "REGISTERS": 1}
# What the Makefile says that no C uses; w and x are the low half and the whole of a register.
UNUSED = re.compile(r"\b[wx](9|1[0-58])\b")
# In assembly, and the guest's.
OF_GUESTS = {"save", "guest_enter"}


def spin(**settings):
    """What the guest found wrong, and how many periods it was interrupted by."""
    machine = Machine("spinner", {**SETTINGS, **settings}).with_guest("spinner")
    try:
        console = machine.run()
    finally:
        machine.close()
    return int(re.search(r"wrong in the registers: (\w+)", console)[1], 16), int(re.search(r"(\d+) refills", console)[1])


class Registers(unittest.TestCase):
    def test_they_are_kept_by_the_short_way_into_another_period(self):
        wrong, periods = spin()
        self.assertEqual(wrong, 0)
        self.assertGreater(periods, 15)

    def test_they_are_kept_by_the_long_way(self):
        wrong, periods = spin(STATISTICS=1)
        self.assertEqual(wrong, 0)
        self.assertGreater(periods, 15)

    def test_what_an_interrupt_does_not_save_is_not_used(self):
        machine = Machine("spinner")
        try:
            listing = subprocess.run(
                ["aarch64-linux-gnu-objdump", "-d", "--no-show-raw-insn", machine.folder / "ringfence.elf"],
                capture_output=True, text=True, check=True,
            ).stdout
        finally:
            machine.close()
        functions = re.findall(r"^[0-9a-f]+ <([\w.]+)>:\n((?:.+\n)*)", listing, re.MULTILINE)
        self.assertGreater(len(functions), 100)
        using = {name for name, instructions in functions if UNUSED.search(instructions)}
        self.assertEqual(using, OF_GUESTS)


if __name__ == "__main__":
    unittest.main()
