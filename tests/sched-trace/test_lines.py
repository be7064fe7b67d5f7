# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Lines of traces, one of each kind, as events."""

import io
import unittest

from generator import US, Machine
from sched_trace import lines
from sched_trace.lines import (
    ASLEEP,
    DEAD,
    EXEC,
    FORK,
    NO_PID,
    RUNNABLE,
    RUNS,
    STARTED,
    SWITCH,
    WAKE,
    Reader,
)
from tracefs import start
from writers import FORMATS, text_of


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
            12345678000,
            1,
            SWITCH,
            3,
            0,
            "swapper/3",
            RUNNABLE,
            77,
            "a b",
        )

    def test_tracefs_of_old_kernels(self):
        # Four flags; success; a pre-emption mark; none at all with the option irq-info off.
        for flags in ("dN.3 ", "", "....1.. "):
            self.one(
                f"     kworker/u8:0-7       [000] {flags}   12.345678: sched_wakeup: comm=x pid=9 prio=120 "
                "success=1 target_cpu=001",
                12345678000,
                1,
                WAKE,
                0,
                7,
                "kworker/u8:0",
                None,
                9,
                "x",
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
                12345678000,
                1,
                WAKE,
                1,
                813,
                "a",
                None,
                9,
                "x",
            )

    def test_an_unknown_name_in_the_header_is_not_one(self):
        self.one(
            "           <...>-7       [000] d..2.    12.345678: sched_wakeup: comm=x pid=9 prio=120 target_cpu=000",
            12345678000,
            1,
            WAKE,
            0,
            7,
            "",
            None,
            9,
            "x",
        )

    def test_fork(self):
        self.one(
            "              sh-7       [000] .....    12.345678: sched_process_fork: comm=a b pid=7 "
            "child_comm=a b child_pid=8",
            12345678000,
            1,
            FORK,
            0,
            7,
            "a b",
            7,
            8,
            "a b",
        )

    def test_exec(self):
        self.one(
            "             a b-7       [000] .....    12.345678: sched_process_exec: filename=/bin/a pid=1 "
            "pid=7 old_pid=9",
            *(12345678000, 1, EXEC, 0, 7, "a b", 9, 7, ""),
        )

    def test_trace_cmd(self):
        self.one(
            "              a-1-159   [002]    10.667796635: sched_switch:         a-1:159 [79] S ==> x [1]:15 [120]",
            10667796635,
            1,
            SWITCH,
            2,
            159,
            "a-1",
            ASLEEP,
            15,
            "x [1]",
        )

    def test_trace_cmd_with_latency_fields(self):
        self.one(
            "a:1 [2] -162     3d.h2.    10.668153: sched_wakeup:         a:1 [2] R ==> b:162 [89] CPU:003",
            10668153000,
            1,
            WAKE,
            3,
            162,
            "a:1 [2]",
            None,
            162,
            "a:1 [2] R ==> b",
        )

    def test_trace_cmd_raw(self):
        for number, state in (
            ("0", RUNNABLE),
            ("256", RUNNABLE),
            ("1", ASLEEP),
            ("0x80", ASLEEP),
            ("32", DEAD),
            ("16", DEAD),
        ):
            self.one(
                "        a-159   [002]    10.667796: sched_switch:          prev_comm=a prev_pid=159 prev_prio=79 "
                f"prev_state={number} next_comm=b next_pid=15 next_prio=120",
                10667796000,
                1,
                SWITCH,
                2,
                159,
                "a",
                state,
                15,
                "b",
            )

    def test_perf(self):
        for pid in ("159", "812/159"):
            self.one(
                f" plan [0] => x {pid:>5} [002] 10.667796635:       sched:sched_switch: prev_comm=plan [0] => x "
                "prev_pid=159 prev_prio=79 prev_state=R+ ==> next_comm=b next_pid=15 next_prio=120",
                10667796635,
                1,
                SWITCH,
                2,
                159,
                "plan [0] => x",
                RUNNABLE,
                15,
                "b",
            )

    def test_perf_does_not_know_a_thread_that_exits(self):
        self.one(
            "             :-1    -1 [002] 10.667796635:       sched:sched_switch: prev_comm=a prev_pid=159 "
            "prev_prio=79 prev_state=Z ==> next_comm=b next_pid=15 next_prio=120",
            10667796635,
            1,
            SWITCH,
            2,
            159,
            "a",
            DEAD,
            15,
            "b",
        )

    def test_states(self):
        for text, state in [
            ("R", RUNNABLE),
            ("R+", RUNNABLE),
            ("S", ASLEEP),
            ("D|K", ASLEEP),
            ("D", ASLEEP),
            ("T", ASLEEP),
            ("t", ASLEEP),
            ("I", ASLEEP),
            ("P", ASLEEP),
            ("W", ASLEEP),
            ("?", ASLEEP),
            ("X", DEAD),
            ("Z", DEAD),
        ]:
            self.assertEqual(lines.state_of(text), state, text)

    def test_other_events_say_who_runs_on_a_cpu_once(self):
        text = "               a-7       [001] .....    12.345678: sys_enter: NR 1\n" * 2
        reader, events = read(text)
        self.assertEqual(events, [(12345678000, 1, RUNS, 1, 7, "a", None, NO_PID, "")])
        self.assertEqual(reader.ignored_events, 2)

    def test_a_stack_is_no_event(self):
        text = (
            start(0)
            + "          <idle>-0       [000] d..2.    10.000001: <stack trace>\n => __schedule\n => schedule\n"
        )
        reader, events = read(text)
        self.assertEqual((len(events), reader.unreadable), (1, []))

    def test_names_of_bodies_cannot_be_taken_for_a_line(self):
        names = [
            "a:1 [2] R ==> b",
            "=> prev_pid=3",
            "x-7 [001] d.",
            "1.0: a: b",
            "[001] 1.0: s:",
            "-1 [0] 1.000: a",
        ]
        made = Machine(1)
        for index, thread in enumerate(made.threads):
            thread.comm = names[index % len(names)]
        made.run(3000 * US)
        for form in FORMATS:
            with self.subTest(form=form):
                _, events = read(text_of(made.events, form))
                found = [
                    (event[7], event[8])
                    for event in events
                    if event[2] in (SWITCH, WAKE) and event[7] != 0
                ]
                told = [(event.to.pid, event.to.comm) for event in made.events if event.to.pid]
                self.assertEqual(found, told)


if __name__ == "__main__":
    unittest.main()
