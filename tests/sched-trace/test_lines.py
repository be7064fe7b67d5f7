# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The text of traces: what is read, what is missing, and what must not crash."""

import io
import random
import unittest

import harness
from generator import US, Machine
from sched_trace import lines
from sched_trace.lines import (
    ASLEEP, DEAD, FORK, LOST, NO_CPU, NO_PID, RUNNABLE, RUNS, STARTED, SWITCH, WAKE, Reader,
)
from story import Story, gangs
from test_members import HEAD, judge, start, switch, two_cpus, wake
from writers import FORMATS, text_of, unit_ns


def read(text):
    """(reader, its events)."""
    reader = Reader(io.StringIO(text, newline="\n"))
    return reader, list(reader)


class Lines(unittest.TestCase):
    """One line of each kind, as the tools print it."""

    def one(self, text, *expected):
        reader, events = read(text + "\n")
        self.assertEqual([event for event in events if event[2] != STARTED], [expected])
        self.assertEqual(reader.unreadable, [])

    def test_tracefs(self):
        self.one(
            "          <idle>-0       [003] d..2.    12.345678: sched_switch: prev_comm=swapper/3 prev_pid=0 "
            "prev_prio=120 prev_state=R ==> next_comm=a b next_pid=77 next_prio=-1",
            12345678000, 1, SWITCH, 3, 0, "swapper/3", RUNNABLE, 77, "a b",
        )

    def test_tracefs_of_old_kernels(self):
        # Four flags; success; a pre-emption mark; none at all with the option irq-info off.
        for flags in ("dN.3 ", "", "....1.. "):
            self.one(
                f"     kworker/u8:0-7       [000] {flags}   12.345678: sched_wakeup: comm=x pid=9 prio=120 "
                "success=1 target_cpu=001",
                12345678000, 1, WAKE, 0, 7, "kworker/u8:0", None, 9, "x",
            )

    def test_a_wake_up_without_success_is_none(self):
        reader, events = read(
            "               a-7       [000] ....    12.345678: sched_wakeup: comm=x pid=9 prio=120 success=0 "
            "target_cpu=001\n"
        )
        self.assertEqual((events, reader.unreadable), ([], []))

    def test_tracefs_with_thread_groups(self):
        for group in ("(    812)", "(-------)"):
            self.one(
                f"               a-813     {group} [001] d..2.    12.345678: sched_wakeup_new: comm=x pid=9 "
                "prio=120 target_cpu=001",
                12345678000, 1, WAKE, 1, 813, "a", None, 9, "x",
            )

    def test_an_unknown_name_in_the_header_is_not_one(self):
        self.one(
            "           <...>-7       [000] d..2.    12.345678: sched_wakeup: comm=x pid=9 prio=120 target_cpu=000",
            12345678000, 1, WAKE, 0, 7, "", None, 9, "x",
        )

    def test_fork(self):
        self.one(
            "              sh-7       [000] .....    12.345678: sched_process_fork: comm=a b pid=7 "
            "child_comm=a b child_pid=8",
            12345678000, 1, FORK, 0, 7, "a b", 7, 8, "a b",
        )

    def test_trace_cmd(self):
        self.one(
            "              a-1-159   [002]    10.667796635: sched_switch:         a-1:159 [79] S ==> x [1]:15 [120]",
            10667796635, 1, SWITCH, 2, 159, "a-1", ASLEEP, 15, "x [1]",
        )

    def test_trace_cmd_with_latency_fields(self):
        self.one(
            "a:1 [2] -162     3d.h2.    10.668153: sched_wakeup:         a:1 [2] R ==> b:162 [89] CPU:003",
            10668153000, 1, WAKE, 3, 162, "a:1 [2]", None, 162, "a:1 [2] R ==> b",
        )

    def test_trace_cmd_raw(self):
        for number, state in (
            ("0", RUNNABLE), ("256", RUNNABLE), ("1", ASLEEP), ("0x80", ASLEEP), ("32", DEAD), ("16", DEAD),
        ):
            self.one(
                "        a-159   [002]    10.667796: sched_switch:          prev_comm=a prev_pid=159 prev_prio=79 "
                f"prev_state={number} next_comm=b next_pid=15 next_prio=120",
                10667796000, 1, SWITCH, 2, 159, "a", state, 15, "b",
            )

    def test_perf(self):
        for pid in ("159", "812/159"):
            self.one(
                f" plan [0] => x {pid:>5} [002] 10.667796635:       sched:sched_switch: prev_comm=plan [0] => x "
                "prev_pid=159 prev_prio=79 prev_state=R+ ==> next_comm=b next_pid=15 next_prio=120",
                10667796635, 1, SWITCH, 2, 159, "plan [0] => x", RUNNABLE, 15, "b",
            )

    def test_perf_does_not_know_a_thread_that_exits(self):
        self.one(
            "             :-1    -1 [002] 10.667796635:       sched:sched_switch: prev_comm=a prev_pid=159 "
            "prev_prio=79 prev_state=Z ==> next_comm=b next_pid=15 next_prio=120",
            10667796635, 1, SWITCH, 2, 159, "a", DEAD, 15, "b",
        )

    def test_states(self):
        for text, state in [
            ("R", RUNNABLE), ("R+", RUNNABLE), ("S", ASLEEP), ("D|K", ASLEEP), ("D", ASLEEP), ("T", ASLEEP),
            ("t", ASLEEP), ("I", ASLEEP), ("P", ASLEEP), ("W", ASLEEP), ("?", ASLEEP), ("X", DEAD), ("Z", DEAD),
        ]:
            self.assertEqual(lines.state_of(text), state, text)

    def test_other_events_say_who_runs_on_a_cpu_once(self):
        text = "               a-7       [001] .....    12.345678: sys_enter: NR 1\n" * 2
        reader, events = read(text)
        self.assertEqual(events, [(12345678000, 1, RUNS, 1, 7, "a", None, NO_PID, "")])
        self.assertEqual(reader.ignored_events, 2)

    def test_a_stack_is_no_event(self):
        text = start(0) + "          <idle>-0       [000] d..2.    10.000001: <stack trace>\n => __schedule\n => schedule\n"
        reader, events = read(text)
        self.assertEqual((len(events), reader.unreadable), (1, []))

    def test_names_of_bodies_cannot_be_taken_for_a_line(self):
        names = ["a:1 [2] R ==> b", "=> prev_pid=3", "x-7 [001] d.", "1.0: a: b", "[001] 1.0: s:", "-1 [0] 1.000: a"]
        made = Machine(1)
        for index, thread in enumerate(made.threads):
            thread.comm = names[index % len(names)]
        made.run(3000 * US)
        for form in FORMATS:
            with self.subTest(form=form):
                _, events = read(text_of(made.events, form))
                found = [
                    (event[7], event[8]) for event in events
                    if event[2] in (SWITCH, WAKE) and event[7] != 0
                ]
                told = [(event.to.pid, event.to.comm) for event in made.events if event.to.pid]
                self.assertEqual(found, told)


class Missing(unittest.TestCase):
    TABLE = two_cpus(("low", 1, [{"pids": [11]}]), ("high", 2, [{"pids": [12]}]))

    def lost(self, mark):
        text = start(0, 1) + wake(1, 0, "<idle>-0", "low-11") + mark + wake(5, 1, "<idle>-0", "x-20")
        _, rules, told = judge(text, self.TABLE)
        self.assertEqual((told["verdict"], rules), ("not proved", []))
        return [(one["kind"], one["cpu"], one["from_s"], one["to_s"]) for one in told["missing"]["stretches"]]

    def test_marks_of_losses(self):
        # From the last event of that CPU to its next.
        stretch = [("lost", 1, "10.000000000", "10.000005000")]
        self.assertEqual(self.lost("CPU:1 [LOST 3 EVENTS]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [LOST EVENTS]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [3 EVENTS DROPPED]\n"), stretch)
        self.assertEqual(self.lost("CPU:1 [EVENTS DROPPED]\n"), stretch)

    def test_a_loss_up_to_the_end(self):
        self.assertEqual(self.lost("CPU:0 [LOST 3 EVENTS]\n"), [("lost", 0, "10.000001000", "10.000005000")])

    def test_a_loss_of_no_known_cpu_is_one_of_all(self):
        stretches = self.lost("PERF_RECORD_LOST lost 4\n")
        self.assertEqual({cpu for _, cpu, _, _ in stretches}, {0, 1})
        _, events = read(start(0) + "PERF_RECORD_LOST lost 4\n" + wake(5, 0, "<idle>-0", "x-20"))
        self.assertEqual([event[2:4] for event in events[1:]], [(LOST, NO_CPU), (WAKE, 0)])

    def test_an_overwritten_start_is_not_judged_and_no_loss(self):
        text = HEAD + "".join([
            # A thread of each gang at once, before CPU 1 is known.
            switch(1, 0, "x-20", "S", "low-11"), switch(9, 0, "low-11", "S", "swapper/0-0"),
            "##### CPU 1 buffer started ####\n", switch(10, 1, "high-12", "S", "swapper/1-0"),
            wake(20, 0, "<idle>-0", "low-11"), switch(21, 0, "swapper/0-0", "R", "low-11"),
            switch(29, 0, "low-11", "S", "swapper/0-0"),
        ])
        status, rules, told = judge(text, self.TABLE)
        self.assertEqual((status, rules), (0, []))
        self.assertEqual(told["missing"]["late_starts"], [{"cpu": 1, "at_s": "10.000010000"}])
        self.assertEqual(told["partitions"][0]["judged_ns"], 19_000)

    def test_without_the_mark_the_thread_was_there_from_the_start(self):
        text = HEAD + "".join([
            switch(1, 0, "x-20", "S", "low-11"), switch(9, 0, "low-11", "S", "swapper/0-0"),
            switch(10, 1, "high-12", "S", "swapper/1-0"),
        ])
        self.assertEqual(judge(text, self.TABLE)[:2], (2, ["one-gang"]))

    def test_a_cpu_without_events_proves_nothing(self):
        text = start(0) + wake(5, 0, "<idle>-0", "x-20")
        status, _, told = judge(text, self.TABLE)
        self.assertEqual((status, told["verdict"]), (1, "not proved"))
        self.assertIn("partition main could be judged at no time", told["reasons"])
        self.assertEqual(judge(text, self.TABLE, "--idle-at-start", "1")[0], 0)

    def test_a_switch_that_is_missing_shows(self):
        text = start(0, 1) + "".join([
            wake(1, 0, "<idle>-0", "low-11"), switch(9, 0, "low-11", "S", "swapper/0-0"),
        ])
        status, _, told = judge(text, self.TABLE)
        self.assertEqual(status, 1)
        self.assertIn("swapper/0:0 ran there, but low:11 stopped", told["missing"]["stretches"][0]["why"])
        self.assertEqual(judge(text, self.TABLE, "--allow", "lost")[0], 0)

    def test_a_thread_on_two_cpus_shows(self):
        text = start(0, 1) + "".join([
            wake(1, 0, "<idle>-0", "x-20"), switch(2, 0, "swapper/0-0", "R", "x-20"),
            switch(3, 1, "swapper/1-0", "R", "x-20"), switch(9, 1, "x-20", "S", "swapper/1-0"),
        ])
        _, _, told = judge(text, self.TABLE)
        self.assertEqual(told["missing"]["counts"]["lost"], 1)

    def test_an_event_between_a_switch_and_its_trace_is_no_loss(self):
        # The old thread has the CPU until the switch that was traced is done.
        text = start(0, 1) + "".join([
            wake(1, 0, "<idle>-0", "x-20"), switch(2, 0, "swapper/0-0", "R", "x-20"),
            wake(3, 0, "<idle>-0", "y-21"), switch(9, 0, "x-20", "S", "swapper/0-0"),
        ])
        self.assertEqual(judge(text, self.TABLE)[0], 0)

    def test_a_thread_that_nothing_woke_shows(self):
        text = start(0, 1) + "".join([
            wake(1, 0, "<idle>-0", "low-11"), switch(2, 0, "swapper/0-0", "R", "low-11"),
            switch(3, 0, "low-11", "S", "swapper/0-0"), switch(4, 0, "swapper/0-0", "R", "low-11"),
            switch(5, 0, "low-11", "S", "swapper/0-0"),
        ])
        status, _, told = judge(text, self.TABLE)
        self.assertEqual((status, told["missing"]["counts"]["unwoken"]), (1, 1))
        self.assertEqual(judge(text, self.TABLE, "--allow", "unwoken")[0], 0)

    def test_a_trace_without_wake_ups_can_only_say_who_ran(self):
        text = HEAD + "".join([
            switch(1, 0, "x-20", "S", "low-11"), switch(2, 0, "low-11", "S", "swapper/0-0"),
            switch(3, 1, "y-21", "S", "swapper/1-0"),
        ])
        status, _, told = judge(text, self.TABLE)
        self.assertEqual(status, 1)
        self.assertIn("the trace has no sched_wakeup, so who was runnable is not known", told["reasons"])
        skip = [word for rule in ("start", "run-on", "blocked", "left-out", "idle") for word in ("--skip", rule)]
        self.assertEqual(judge(text, self.TABLE, *skip)[0], 0)

    def test_a_line_that_is_cut_off(self):
        text = start(0, 1) + wake(8, 0, "<idle>-0", "x-20") + switch(9, 0, "swapper/0-0", "R", "x-20")
        status, _, told = judge(text[:-25], self.TABLE)
        self.assertEqual((status, told["trace"]["cut_off_line"]), (0, 6))
        status, _, told = judge(text[:-25] + "\n", self.TABLE)
        self.assertEqual((status, told["missing"]["counts"]["unreadable"]), (1, 1))
        self.assertEqual(judge(text[:-25] + "\n", self.TABLE, "--allow", "unreadable")[0], 0)

    def test_times_may_be_out_of_order_within_a_window(self):
        made = Machine(3, unit_ns=US)
        made.run(20_000 * US)
        times = [made.events[at:at + 20] for at in range(0, len(made.events), 20)]
        # Of equal times the order of lines counts, so those stay as they are.
        mixed = [
            event for block in times
            for event in sorted(block, key=lambda event: random.Random(event.time).random())
        ]
        in_order, mixed = (text_of(events, "tracefs") for events in (made.events, mixed))
        status, told = harness.judge(mixed, made.assignment(), "--reorder-events", "60")
        self.assertEqual(status, 0)
        self.assertEqual(told["hand_overs"], harness.judge(in_order, made.assignment())[1]["hand_overs"])
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
        self.assertEqual({"held": 0, "violated": 2, "not proved": 1, "unusable": 1}[told["verdict"]], status)

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
                    letters[at] = draw.choice(["", "\n", " ", "0", "9", "[", chr(draw.randrange(256)), letters[at] * 2])
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
                        all_lines[one] = all_lines[one][:draw.randrange(len(all_lines[one]) + 1)]
                self.judged("".join(all_lines))

    def test_lines_of_all_formats_in_one_file(self):
        draw = random.Random(4)
        pool = [line for text in self.texts.values() for line in text.splitlines(keepends=True)]
        for _ in range(20):
            self.judged("".join(draw.choices(pool, k=200)))


if __name__ == "__main__":
    unittest.main()
