# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What a trace does not say: losses, late starts, lines that cannot be read, strange clocks."""

import random
import unittest

import harness
from generator import US, Machine
from sched_trace.lines import LOST, NO_CPU, WAKE
from story import Story
from test_lines import read
from tracefs import HEAD, judge, start, switch, two_cpus, wake
from writers import text_of


class Missing(unittest.TestCase):
    TABLE = two_cpus(("low", 1, [{"pids": [11]}]), ("high", 2, [{"pids": [12]}]))

    def lost(self, mark):
        text = (
            start(0, 1) + wake(1, 0, "<idle>-0", "low-11") + mark + wake(5, 1, "<idle>-0", "x-20")
        )
        _, rules, told = judge(text, self.TABLE)
        self.assertEqual((told["verdict"], rules), ("not proved", []))
        return [
            (one["kind"], one["cpu"], one["from_s"], one["to_s"])
            for one in told["missing"]["stretches"]
        ]

    def test_marks_of_losses(self):
        # From the last event of that CPU to its next.
        stretch = [("lost", 1, "10.000000000", "10.000005000")]
        self.assertEqual(self.lost("CPU:1 [LOST 3 EVENTS]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [LOST EVENTS]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [3 EVENTS DROPPED]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [EVENTS DROPPED]\n"), stretch)

    def test_a_loss_up_to_the_end(self):
        self.assertEqual(
            self.lost("CPU:0 [LOST 3 EVENTS]\n"), [("lost", 0, "10.000001000", "10.000005000")]
        )

    def test_a_loss_of_no_known_cpu_is_one_of_all(self):
        stretches = self.lost("PERF_RECORD_LOST lost 4\n")
        self.assertEqual({cpu for _, cpu, _, _ in stretches}, {0, 1})
        _, events = read(start(0) + "PERF_RECORD_LOST lost 4\n" + wake(5, 0, "<idle>-0", "x-20"))
        self.assertEqual([event[2:4] for event in events[1:]], [(LOST, NO_CPU), (WAKE, 0)])

    def test_an_overwritten_start_is_not_judged_and_no_loss(self):
        text = HEAD + "".join(
            [
                # A thread of each gang at once, before CPU 1 is known.
                switch(1, 0, "x-20", "S", "low-11"),
                switch(5, 0, "low-11", "S", "swapper/0-0"),
                # Nor is what is missing there.
                switch(9, 0, "y-21", "S", "swapper/0-0"),
                "##### CPU 1 buffer started ####\n",
                switch(10, 1, "high-12", "S", "swapper/1-0"),
                wake(20, 0, "<idle>-0", "low-11"),
                switch(21, 0, "swapper/0-0", "R", "low-11"),
                switch(29, 0, "low-11", "S", "swapper/0-0"),
            ]
        )
        status, rules, told = judge(text, self.TABLE)
        self.assertEqual((status, rules), (0, []))
        self.assertEqual(told["missing"]["late_starts"], [{"cpu": 1, "at_s": "10.000010000"}])
        self.assertEqual(told["partitions"][0]["judged_ns"], 19_000)

    def test_without_the_mark_the_thread_was_there_from_the_start(self):
        text = HEAD + "".join(
            [
                switch(1, 0, "x-20", "S", "low-11"),
                switch(9, 0, "low-11", "S", "swapper/0-0"),
                switch(10, 1, "high-12", "S", "swapper/1-0"),
            ]
        )
        self.assertEqual(judge(text, self.TABLE)[:2], (2, ["one-gang"]))

    def test_a_cpu_without_events_proves_nothing(self):
        text = start(0) + wake(5, 0, "<idle>-0", "x-20")
        status, _, told = judge(text, self.TABLE)
        self.assertEqual((status, told["verdict"]), (1, "not proved"))
        self.assertIn("partition main could be judged at no time", told["reasons"])
        self.assertEqual(judge(text, self.TABLE, "--idle-at-start", "1")[0], 0)

    def test_a_switch_that_is_missing_shows(self):
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "low-11"),
                switch(9, 0, "low-11", "S", "swapper/0-0"),
            ]
        )
        status, _, told = judge(text, self.TABLE)
        self.assertEqual(status, 1)
        self.assertIn(
            "swapper/0:0 ran there, but low:11 stopped", told["missing"]["stretches"][0]["why"]
        )
        self.assertEqual(judge(text, self.TABLE, "--allow", "lost")[0], 0)

    def test_what_is_missing_before_the_time_that_is_judged_does_not_count(self):
        text = start(0, 1) + "".join(
            [
                switch(9, 0, "low-11", "S", "swapper/0-0"),
                wake(20, 0, "<idle>-0", "x-20"),
            ]
        )
        self.assertEqual(judge(text, self.TABLE)[0], 1)
        self.assertEqual(judge(text, self.TABLE, "--from-s", "10.000010")[0], 0)

    def test_a_thread_on_two_cpus_shows(self):
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "x-20"),
                switch(2, 0, "swapper/0-0", "R", "x-20"),
                switch(3, 1, "swapper/1-0", "R", "x-20"),
                switch(4, 1, "x-20", "S", "swapper/1-0"),
                wake(7, 0, "<idle>-0", "y-21"),
                switch(9, 0, "swapper/0-0", "R", "y-21"),
            ]
        )
        _, _, told = judge(text, self.TABLE)
        (lost,) = told["missing"]["stretches"]
        self.assertEqual((lost["from_s"], lost["to_s"]), ("10.000002000", "10.000007000"))
        # Before and after.
        self.assertEqual(told["partitions"][0]["judged_ns"], 2000 + 2000)

    def test_an_event_between_a_switch_and_its_trace_is_no_loss(self):
        # The old thread has the CPU until the switch that was traced is done.
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "x-20"),
                switch(2, 0, "swapper/0-0", "R", "x-20"),
                wake(3, 0, "<idle>-0", "y-21"),
                switch(9, 0, "x-20", "S", "swapper/0-0"),
            ]
        )
        self.assertEqual(judge(text, self.TABLE)[0], 0)

    def test_a_thread_that_nothing_woke_shows(self):
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "low-11"),
                switch(2, 0, "swapper/0-0", "R", "low-11"),
                switch(3, 0, "low-11", "S", "swapper/0-0"),
                switch(4, 0, "swapper/0-0", "R", "low-11"),
                switch(5, 0, "low-11", "S", "swapper/0-0"),
            ]
        )
        status, _, told = judge(text, self.TABLE)
        self.assertEqual((status, told["missing"]["counts"]["unwoken"]), (1, 1))
        self.assertEqual(judge(text, self.TABLE, "--allow", "unwoken")[0], 0)

    def test_a_trace_without_wake_ups_can_only_say_who_ran(self):
        text = HEAD + "".join(
            [
                switch(1, 0, "x-20", "S", "low-11"),
                switch(2, 0, "low-11", "S", "swapper/0-0"),
                switch(3, 1, "y-21", "S", "swapper/1-0"),
            ]
        )
        status, _, told = judge(text, self.TABLE)
        self.assertEqual(status, 1)
        self.assertIn(
            "the trace has no sched_wakeup, so who was runnable is not known", told["reasons"]
        )
        skip = [
            word
            for rule in ("start", "run-on", "blocked", "left-out", "idle")
            for word in ("--skip", rule)
        ]
        self.assertEqual(judge(text, self.TABLE, *skip)[0], 0)

    def test_a_line_that_is_cut_off(self):
        text = (
            start(0, 1) + wake(8, 0, "<idle>-0", "x-20") + switch(9, 0, "swapper/0-0", "R", "x-20")
        )
        status, _, told = judge(text[:-25], self.TABLE)
        self.assertEqual((status, told["trace"]["cut_off_line"]), (0, 6))
        status, _, told = judge(text[:-25] + "\n", self.TABLE)
        self.assertEqual((status, told["missing"]["counts"]["unreadable"]), (1, 1))
        self.assertEqual(judge(text[:-25] + "\n", self.TABLE, "--allow", "unreadable")[0], 0)

    def test_a_line_with_a_broken_header_or_two_threads_is_missing(self):
        good = switch(9, 0, "swapper/0-0", "R", "x-20")
        for bad in (good.replace("[000]", "[0"), good.replace("<idle>-0", "xxxx-y-7")):
            _, _, told = judge(start(0, 1) + bad, self.TABLE)
            self.assertEqual(
                told["missing"]["unreadable_lines"], [{"line": 5, "text": bad.rstrip("\n")}]
            )

    def test_perf_starts_and_stops_cpu_by_cpu(self):
        # One gang at a time would be broken by what runs before CPU 1 is recorded, and the
        # thread that stops on CPU 0, after the recording of it, appears on CPU 1.
        for form, status, late in (("perf", 0, [1]), ("tracefs", 2, [])):
            made = Story(form=form)
            made.events.clear()
            (low,), (high,), hog = made.gang("low", 1), made.gang("high", 2), made.thread("hog")
            made.current = [hog, high]
            made.switch(1, 0, "S", low)
            made.switch(8, 0, "S")
            made.switch(10, 1, "S")
            made.wake(20, 0, hog)
            made.switch(21, 0, "R", hog)
            made.wake(30, 1, high)
            made.switch(31, 1, "R", hog)
            made.switch(35, 1, "S")
            told_status, told = made.judge()
            self.assertEqual(
                (told_status, [one["cpu"] for one in told["missing"]["late_starts"]]),
                (status, late),
            )

    def test_times_may_be_out_of_order_within_a_window(self):
        made = Machine(3, unit_ns=US)
        made.run(20_000 * US)
        times = [made.events[at : at + 20] for at in range(0, len(made.events), 20)]
        # Of equal times the order of lines counts, so those stay as they are.
        mixed = [
            event
            for block in times
            for event in sorted(block, key=lambda event: random.Random(event.time).random())
        ]
        in_order, mixed = (text_of(events, "tracefs") for events in (made.events, mixed))
        status, told = harness.judge(mixed, made.assignment(), "--reorder-events", "60")
        self.assertEqual(status, 0)
        self.assertEqual(
            told["hand_overs"], harness.judge(in_order, made.assignment())[1]["hand_overs"]
        )
        status, told = harness.judge(mixed, made.assignment(), "--reorder-events", "3")
        self.assertEqual((status, told["verdict"]), (1, "unusable"))
        self.assertIn("raise --reorder-events", told["reasons"][0])

    def test_clocks_that_do_not_count_seconds_are_refused(self):
        for time in ("123456789", "   12us"):
            text = f"          <idle>-0       [000] d..2. {time}: sched_switch: prev_comm=a\n"
            status, told = harness.judge(text, self.TABLE)
            self.assertEqual((status, told["verdict"]), (1, "unusable"))
            self.assertIn("the time is not in seconds", told["reasons"][0])

    def test_nothing_and_text_of_no_known_format_prove_nothing(self):
        for text in ("", "\n\n", "Dear reader,\nthis is no trace.\n", "\x00\xff\n" * 20):
            status, told = harness.judge(text, self.TABLE)
            self.assertEqual((status, told["verdict"]), (1, "not proved"))


if __name__ == "__main__":
    unittest.main()
