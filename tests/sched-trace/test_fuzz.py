# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Text that is no trace, or a broken one, must not crash the checker."""

import random
import unittest

import harness
from generator import US, Machine
from story import Story
from writers import FORMATS, text_of, unit_ns


class Fuzz(unittest.TestCase):
    """Whatever the bytes: a verdict, and `held` only if nothing that was read is missing."""

    def setUp(self):
        made = Machine(5, unit_ns=US)
        made.run(3000 * US)
        self.table = made.assignment()
        self.texts = {form: text_of(made.events, form) for form in FORMATS if unit_ns(form) == US}
        self.texts["story"] = Story().text()

    def judged(self, text):
        status, told = harness.judge(text, self.table, "--hand-overs-at-least", "0")
        self.assertEqual(
            {"held": 0, "violated": 2, "not proved": 1, "unusable": 1}[told["verdict"]], status
        )

    def test_random_bytes(self):
        draw = random.Random(1)
        for _ in range(200):
            self.judged("".join(chr(draw.randrange(256)) for _ in range(draw.randrange(600))))

    def test_mutated_lines(self):
        draw = random.Random(2)
        for text in self.texts.values():
            for _ in range(40):
                letters = list(text)
                for _ in range(draw.randint(1, 60)):
                    at = draw.randrange(len(letters))
                    letters[at] = draw.choice(
                        ["", "\n", " ", "0", "9", "[", chr(draw.randrange(256)), letters[at] * 2]
                    )
                self.judged("".join(letters))

    def test_cut_shuffled_and_doubled_lines(self):
        draw = random.Random(3)
        for text in self.texts.values():
            for _ in range(20):
                all_lines = text.splitlines(keepends=True)
                for _ in range(draw.randint(1, 30)):
                    one, two = draw.randrange(len(all_lines)), draw.randrange(len(all_lines))
                    change = draw.randrange(3)
                    if change == 0:
                        all_lines[one], all_lines[two] = all_lines[two], all_lines[one]
                    elif change == 1:
                        all_lines.insert(one, all_lines[two])
                    else:
                        all_lines[one] = all_lines[one][: draw.randrange(len(all_lines[one]) + 1)]
                self.judged("".join(all_lines))

    def test_lines_of_all_formats_in_one_file(self):
        draw = random.Random(4)
        pool = [line for text in self.texts.values() for line in text.splitlines(keepends=True)]
        for _ in range(20):
            self.judged("".join(draw.choices(pool, k=200)))


if __name__ == "__main__":
    unittest.main()
