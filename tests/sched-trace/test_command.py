# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The command: options, exit status, output."""

import subprocess
import sys
import unittest
from pathlib import Path

import harness
from sched_trace.report import distribution
from story import Story, as_json


def story():
    """Two jobs of a low gang, the second one pre-empted by a high gang."""
    made = Story(form="perf --ns")
    (low,), (high,) = made.gang("low", 10), made.gang("high", 20)
    for us in (100, 200):
        made.wake(us, 0, low)
        made.switch(us + 1, 0, "R", low)
        if us == 200:
            made.wake(us + 10, 0, high)
            made.switch(us + 12, 0, "R", high)
            made.switch(us + 20, 0, "S", low)
        made.switch(us + 30, 0, "S")
    return made


class Command(unittest.TestCase):
    def run_on(self, made, *options):
        """(exit status, text) of the text output."""
        with harness.file_of(made.text()) as trace, harness.file_of(as_json(made.table)) as table:
            return harness.plain(trace, "--gangs", table, *options)

    def test_the_first_line_is_the_verdict(self):
        status, text = self.run_on(story())
        self.assertEqual(
            (status, text.splitlines()[0]), (0, "held: over 2 gang hand-overs in 0.00023 s")
        )
        status, text = self.run_on(story(), "--hand-over-us", "1")
        self.assertEqual((status, text.splitlines()[0][:27]), (2, "violated: 1 of run-on (over"))

    def test_too_few_hand_overs_prove_nothing(self):
        status, text = self.run_on(story(), "--hand-overs-at-least", "3")
        self.assertEqual(status, 1)
        self.assertTrue(text.startswith("not proved: 2 hand-overs, expected at least 3"))
        self.assertEqual(self.run_on(story(), "--hand-overs-at-least", "2")[0], 0)

    def test_a_violation_goes_before_what_is_not_proved(self):
        self.assertEqual(
            self.run_on(story(), "--hand-overs-at-least", "3", "--hand-over-us", "1")[0], 2
        )

    def test_what_gangs_did(self):
        _, told = story().judge()
        (partition,) = told["partitions"]
        self.assertEqual(
            [
                (
                    gang["name"],
                    gang["activations"],
                    gang["preempted"],
                    gang["run_ns"],
                    gang["cpu_ns"],
                )
                for gang in partition["gangs"]
            ],
            [("high", 1, 0, 8000, 8000), ("low", 3, 1, 50000, 50000)],
        )
        self.assertEqual((partition["hand_overs"], partition["activations"]), (2, 4))
        self.assertEqual(partition["judged_ns"], 230_000)

    def test_activations_in_order(self):
        with harness.file_of("") as path:
            self.assertEqual(self.run_on(story(), "--activations", path)[0], 0)
            self.assertEqual(
                Path(path).read_text(encoding="utf-8"), "main low\nmain low\nmain high\nmain low\n"
            )

    def test_members_that_take_turns_are_one_activation(self):
        made = Story()
        one, two = made.gang("pair", 10, threads=2)
        made.wake(1, 0, one)
        made.switch(2, 0, "R", one)
        made.wake(3, 0, two)
        made.switch(4, 0, "S")
        made.switch(6, 1, "R", two)
        made.switch(8, 1, "S")
        _, told = made.judge()
        self.assertEqual(told["partitions"][0]["activations"], 1)

    def test_losses_stand_in_the_order_of_activations(self):
        made = story()
        made.events.insert(6, made.events[5]._replace(kind="lost", time=made.events[6].time))
        with harness.file_of("") as path:
            self.assertEqual(self.run_on(made, "--activations", path)[0], 1)
            self.assertIn("main ?\n", Path(path).read_text(encoding="utf-8"))

    def test_bad_options_are_no_violation(self):
        with harness.file_of("") as trace, harness.file_of(as_json(story().table)) as table:
            for options, reason in [
                ([], "--gangs"),
                (["--gangs", table, "--no-such-option"], "--no-such-option"),
                (["--gangs", "/no/such/file"], "/no/such/file: cannot be read"),
                (
                    ["--gangs", table, "--blocked-us", "soon"],
                    "--blocked-us: found 'soon', expected a time",
                ),
                (["--gangs", table, "--blocked-us", "-1"], "--blocked-us: found '-1'"),
                (["--gangs", table, "--blocked-us", "0.0001"], "whole nanoseconds"),
                (["--gangs", table, "--share", "1"], "expected LIMIT_US/WINDOW_US"),
                (["--gangs", table, "--share", "5/5"], "expected a limit below its window"),
                (["--gangs", table, "--share", "0/5"], "expected a limit below its window"),
                (["--gangs", table, "--skip", "luck"], "invalid choice: 'luck'"),
                (["--gangs", table, "--allow", "luck"], "invalid choice: 'luck'"),
                (["--gangs", table, "--idle-at-start", "a"], "--idle-at-start: found 'a'"),
                (
                    ["--gangs", table, "--reorder-events", "0"],
                    "--reorder-events: expected at least 1",
                ),
                (["--gangs", table, "--throttled", table], "expected CPU FROM_S TO_S"),
                (["--gangs", table, "--activations", "/no/such/file"], "cannot be written"),
            ]:
                status, text = harness.plain(trace, *options)
                with self.subTest(options=options):
                    self.assertEqual(status, 1)
                    self.assertTrue(text.startswith("unusable: "))
                    self.assertIn(reason, text)
            status, told = harness.command("/no/such/trace", "--gangs", table)
            self.assertEqual((status, told["verdict"]), (1, "unusable"))

    def test_throttled_files_say_which_line_is_wrong(self):
        for line in ("1 2", "a 1 2", "1-2 1 2", "1 2 1", "1 x 2"):
            with harness.file_of(f"# fine\n0 1 2\n{line}\n") as path:
                status, told = story().judge("--throttled", path)
                self.assertEqual((status, told["verdict"]), (1, "unusable"))
                self.assertIn("line 3", told["reasons"][0])

    def test_findings_are_shown_up_to_a_number(self):
        status, text = self.run_on(story(), "--blocked-us", "0", "--show", "1")
        self.assertEqual(status, 2)
        self.assertEqual(sum(line.startswith("blocked: lines") for line in text.splitlines()), 1)
        self.assertIn("  and 2 more (--show)", text)

    def test_standard_input_and_a_reader_that_stops(self):
        made = story()
        command = [sys.executable, str(harness.HERE / "check"), "-"]
        with harness.file_of(as_json(made.table)) as table:
            done = subprocess.run(
                [*command, "--gangs", table],
                input=made.text(),
                capture_output=True,
                text=True,
                check=False,
            )
            self.assertEqual((done.returncode, done.stdout[:5], done.stderr), (0, "held:", ""))
            with subprocess.Popen(
                [*command, "--gangs", table],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            ) as process:
                process.stdout.close()
                process.stdin.write(made.text().encode("latin-1"))
                process.stdin.close()
                self.assertEqual(process.stderr.read(), b"")
                self.assertNotEqual(process.wait(), 0)

    def test_hostile_names_do_not_reach_the_terminal(self):
        made = story()
        for event in made.events:
            for thread in (event.thread, event.to):
                if thread and thread.comm == "high":
                    thread.comm = "\x1b[31mred\x07"
        status, text = self.run_on(made, "--hand-over-us", "1")
        self.assertEqual(status, 2)
        self.assertIn("?[31mred?:104", text)
        self.assertNotIn("\x1b", text)


class Distribution(unittest.TestCase):
    def test_ranks(self):
        self.assertEqual(distribution([]), {"count": 0})
        self.assertEqual(
            distribution([5]), {"count": 1, "median_ns": 5, "p99_ns": 5, "longest_ns": 5}
        )
        told = distribution(range(1, 1001))
        self.assertEqual((told["median_ns"], told["p99_ns"], told["longest_ns"]), (500, 990, 1000))


if __name__ == "__main__":
    unittest.main()
