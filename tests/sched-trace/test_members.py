# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Who belongs to which gang: names, times, children, ids that change; bad assignments."""

import unittest

import harness
from story import Story, gangs
from tracefs import execute, fork, judge, start, switch, two_cpus, wake


class Names(unittest.TestCase):
    def both_run(self, low, high):
        """Two threads at once."""
        return start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", low),
                switch(2, 0, "swapper/0-0", "R", low),
                wake(3, 1, "<idle>-0", high),
                switch(3, 1, "swapper/1-0", "R", high),
                switch(9, 0, low, "S", "swapper/0-0"),
                switch(9, 1, high, "S", "swapper/1-0"),
            ]
        )

    def test_patterns_choose_members_with_any_letters(self):
        for name, pattern in [
            ("steer a", "steer *"),
            ("a:1 [2] R ==> b", "a:1 [[]2*"),
            ("x-7 [001] d.", "x-?*"),
            ("steuer-ü", "*ü"),
            ("=> prev_pid=3", "=>*"),
            ("sched_switch: x", "sched_switch*"),
            ("Steer", "Steer"),
        ]:
            table = two_cpus(("low", 1, [{"comm": pattern}]), ("high", 2, [{"pids": [12]}]))
            text = self.both_run(f"{name}-11", "other-12").encode().decode("latin-1")
            with self.subTest(name=name):
                self.assertEqual(judge(text, table)[:2], (2, ["one-gang"]))
        table = two_cpus(("low", 1, [{"comm": "steer"}]), ("high", 2, [{"pids": [12]}]))
        self.assertEqual(judge(self.both_run("Steer-11", "other-12"), table)[:2], (0, []))

    def test_kernel_threads_are_told_by_name_pid_and_file(self):
        def idle(comm, *options, **more):
            text = start(0, 1) + "".join(
                [
                    wake(1, 0, "<idle>-0", f"{comm}-11"),
                    switch(90, 0, "swapper/0-0", "R", f"{comm}-11"),
                    switch(95, 0, f"{comm}-11", "S", "swapper/0-0"),
                ]
            )
            return judge(
                text, two_cpus(("low", 1, [{"pids": [1]}]), **more), "--idle-us", "5", *options
            )[1]

        self.assertEqual(idle("hog"), ["idle", "idle"])
        self.assertEqual(idle("kworker/0:2"), [])
        self.assertEqual(idle("rcu_preempt"), [])
        self.assertEqual(idle("hog", kernel_threads=[{"pids": [11]}]), [])
        self.assertEqual(idle("hog", kernel_threads=[{"comm": "h?g"}]), [])
        with harness.file_of("# from ps\n11\n") as path:
            self.assertEqual(idle("hog", "--kernel-threads", path), [])
        with harness.file_of("ho*\n") as path:
            self.assertEqual(idle("hog", "--kernel-threads", path), [])

    def test_a_new_name_can_make_a_member(self):
        # Exec: the thread that runs as "launcher" is called "steer" when it next appears.
        table = two_cpus(("low", 1, [{"comm": "steer"}]), ("high", 2, [{"pids": [12]}]))
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "launcher-11"),
                wake(1, 0, "<idle>-0", "other-12"),
                switch(2, 0, "swapper/0-0", "R", "launcher-11"),
                switch(3, 1, "swapper/1-0", "R", "other-12"),
                switch(9, 0, "steer-11", "R", "swapper/0-0"),
                switch(12, 0, "swapper/0-0", "R", "steer-11"),
                switch(15, 0, "steer-11", "S", "swapper/0-0"),
                switch(19, 1, "other-12", "S", "swapper/1-0"),
            ]
        )
        status, rules, told = judge(text, table)
        self.assertEqual((status, rules), (2, ["one-gang", "start"]))
        self.assertEqual(told["findings"][0]["from_s"], "10.000012000")

    def test_a_thread_in_two_gangs_is_refused(self):
        table = two_cpus(("low", 1, [{"comm": "st*"}]), ("high", 2, [{"comm": "*er"}]))
        status, told = harness.judge(self.both_run("steer-11", "other-12"), table)
        self.assertEqual((status, told["verdict"]), (1, "unusable"))
        self.assertIn("steer:11 is in gang low (comm 'st*') and in gang high", told["reasons"][0])

    def test_a_listed_id_goes_before_names(self):
        table = two_cpus(("low", 1, [{"comm": "*"}]), ("high", 2, [{"pids": [12]}]))
        self.assertEqual(judge(self.both_run("steer-11", "other-12"), table)[1], ["one-gang"])


class Times(unittest.TestCase):
    def story(self):
        """Two threads run at once from 3 to 9, and again from 103 to 109."""
        story = Story()
        one, two = story.thread("one"), story.thread("two")
        for us in (0, 100):
            story.wake(us + 1, 0, one)
            story.switch(us + 2, 0, "R", one)
            story.wake(us + 3, 1, two)
            story.switch(us + 3, 1, "R", two)
            story.switch(us + 9, 0, "S")
            story.switch(us + 9, 1, "S")
        story.table["gangs"] = gangs(
            ("low", 1, [{"comm": "one"}]), ("high", 2, [{"comm": "two", "from_s": 41.00005}])
        )["gangs"]
        return story

    def test_membership_begins_and_ends(self):
        story = self.story()
        self.assertEqual(story.found(), [("one-gang", 6)])
        story.table["gangs"][1]["members"] = [{"comm": "two", "to_s": 41.00005}]
        self.assertEqual(story.found(), [("one-gang", 6)])
        story.table["gangs"][1]["members"] = [{"comm": "two"}]
        self.assertEqual(len(story.found()), 2)
        story.table["gangs"][1]["members"] = [
            {"comm": "two", "from_s": 41.000105, "to_s": 41.000107}
        ]
        self.assertEqual(story.found(), [("one-gang", 2)])

    def test_a_priority_can_change(self):
        # Both run at once all the time, and share a priority until 41.000105.
        story = self.story()
        story.table["gangs"] = gangs(
            ("a", 5, [{"comm": "one"}]),
            ("b", 5, [{"comm": "two", "to_s": 41.000105}]),
            ("b", 7, [{"comm": "two", "from_s": 41.000105}]),
        )["gangs"]
        self.assertEqual(story.found(), [("one-gang", 4)])

    def test_the_time_that_is_judged_can_be_chosen(self):
        story = self.story()
        story.table["gangs"][1]["members"] = [{"comm": "two"}]
        self.assertEqual(story.found("--from-s", "41.000009"), [("one-gang", 6)])
        self.assertEqual(story.found("--from-s", "41.000005"), [("one-gang", 4), ("one-gang", 6)])
        self.assertEqual(story.found("--to-s", "41.000050"), [("one-gang", 6)])
        self.assertEqual(
            story.found("--from-s", "41.000105", "--to-s", "41.000109"), [("one-gang", 4)]
        )


class Ids(unittest.TestCase):
    TABLE = two_cpus(("low", 1, [{"pids": [11]}]), ("high", 2, [{"pids": [12]}]))

    def children(self, *lines):
        """Thread 12 of the high gang runs on CPU 1 while those lines happen on CPU 0."""
        return start(0, 1) + "".join(
            [
                wake(1, 1, "<idle>-0", "high-12"),
                switch(2, 1, "swapper/1-0", "R", "high-12"),
                *lines,
                switch(99, 1, "high-12", "S", "swapper/1-0"),
            ]
        )

    def test_children_inherit(self):
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "low-11"),
                switch(2, 0, "swapper/0-0", "R", "low-11"),
                fork(3, 0, "low-11", "low-21"),
                wake(4, 0, "low-11", "low-21", "sched_wakeup_new"),
                switch(6, 0, "low-11", "S", "sh-21"),
                fork(7, 0, "sh-21", "sh-22"),
                wake(7, 0, "sh-21", "sh-22", "sched_wakeup_new"),
                switch(8, 0, "sh-21", "Z", "swapper/0-0"),
                wake(20, 1, "<idle>-0", "high-12"),
                switch(21, 1, "swapper/1-0", "R", "high-12"),
                switch(30, 0, "swapper/0-0", "R", "sh-22"),
                switch(40, 0, "sh-22", "X", "swapper/0-0"),
                switch(99, 1, "high-12", "S", "swapper/1-0"),
            ]
        )
        status, rules, told = judge(text, self.TABLE)
        self.assertEqual((status, rules), (2, ["one-gang", "start"]))
        self.assertEqual(told["findings"][0]["threads"][1]["pid"], 22)

    def test_an_id_that_is_used_again_is_a_new_thread(self):
        text = self.children(
            wake(3, 0, "<idle>-0", "x-50"),
            switch(4, 0, "swapper/0-0", "R", "x-50"),
            switch(5, 0, "x-50", "X", "swapper/0-0"),
            wake(8, 0, "<idle>-0", "y-50", "sched_wakeup_new"),
            switch(9, 0, "swapper/0-0", "R", "y-50"),
            switch(20, 0, "y-50", "S", "swapper/0-0"),
        )
        self.assertEqual(judge(text, self.TABLE)[:2], (0, []))

    def test_an_id_that_is_used_again_does_not_inherit(self):
        text = start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "low-11"),
                switch(2, 0, "swapper/0-0", "R", "low-11"),
                fork(3, 0, "low-11", "low-21"),
                wake(4, 0, "low-11", "sh-30"),
                switch(5, 0, "low-11", "S", "sh-30"),
                fork(6, 0, "sh-30", "sh-21"),
                wake(6, 0, "sh-30", "sh-21", "sched_wakeup_new"),
                switch(8, 0, "sh-30", "S", "sh-21"),
                wake(9, 1, "<idle>-0", "high-12"),
                switch(10, 1, "swapper/1-0", "R", "high-12"),
                switch(20, 1, "high-12", "S", "swapper/1-0"),
                switch(30, 0, "sh-21", "S", "swapper/0-0"),
            ]
        )
        self.assertEqual(judge(text, self.TABLE)[:2], (0, []))

    def second_thread(self, *lines):
        """Process 21 on CPU 0 with a second thread 22, which then runs on CPU 1."""
        return start(0, 1) + "".join(
            [
                wake(1, 0, "<idle>-0", "x-21"),
                switch(2, 0, "swapper/0-0", "R", "x-21"),
                fork(3, 0, "x-21", "x-22"),
                wake(3, 0, "x-21", "x-22", "sched_wakeup_new"),
                switch(4, 1, "swapper/1-0", "R", "x-22"),
                *lines,
            ]
        )

    def test_exec_by_a_second_thread_exchanges_its_id_with_the_first(self):
        # All as seen in QEMU: after the first thread is gone, as in samples/tracefs-6.18.txt,
        # while it stops, and before it starts once more to stop for good.
        gone = [switch(5, 0, "x-21", "Z", "swapper/0-0")]
        stops = [switch(5, 0, "x-22", "X", "swapper/0-0")]
        starts = [
            switch(5, 0, "x-21", "R+", "kworker/0:7-90"),
            switch(6, 0, "kworker/0:7-90", "S", "x-22"),
            switch(7, 0, "x-22", "X", "swapper/0-0"),
        ]
        shown_by_wake = [wake(8, 1, "busybox-21", "kworker/0:7-90")]
        shown_by_switch = [switch(8, 1, "x-21", "R", "swapper/1-0")]
        back = [switch(9, 1, "swapper/1-0", "R", "x-21")]
        for lines in (
            [*gone, *shown_by_wake],
            [*gone, *shown_by_switch, *back],
            [*stops, *shown_by_switch, *back],
            [*starts, *shown_by_wake],
            gone,
            [*shown_by_wake, *stops],
        ):
            lines = [*lines, execute(10, 1, "y-21", 22), switch(20, 1, "y-21", "Z", "swapper/1-0")]
            _, _, told = judge(self.second_thread(*lines), self.TABLE)
            with self.subTest(lines=lines):
                self.assertEqual(sum(told["missing"]["counts"].values()), 0)

    def test_without_its_event_that_is_a_loss(self):
        for lines in ([], [execute(10, 1, "y-31", 32)]):
            text = self.second_thread(
                switch(5, 0, "x-22", "X", "swapper/0-0"),
                *lines,
                switch(20, 1, "y-21", "Z", "swapper/1-0"),
            )
            self.assertGreater(judge(text, self.TABLE)[2]["missing"]["counts"]["lost"], 0)

    def test_exec_is_once(self):
        # The same ids again, of other threads.
        text = self.second_thread(
            switch(5, 0, "x-21", "Z", "swapper/0-0"),
            execute(10, 1, "y-21", 22),
            wake(11, 0, "<idle>-0", "z-22", "sched_wakeup_new"),
            switch(12, 0, "swapper/0-0", "R", "z-22"),
            switch(20, 1, "z-22", "S", "swapper/1-0"),
        )
        self.assertGreater(judge(text, self.TABLE)[2]["missing"]["counts"]["lost"], 0)

    def test_it_stays_in_its_gang(self):
        for members in ([21, 22], [21]):
            table = two_cpus(("low", 1, [{"pids": members}]), ("high", 2, [{"pids": [12]}]))
            text = self.second_thread(
                switch(5, 0, "x-21", "Z", "swapper/0-0"),
                wake(6, 1, "x-21", "kworker/0:3-77"),
                wake(7, 0, "<idle>-0", "high-12"),
                switch(8, 0, "swapper/0-0", "R", "high-12"),
                execute(9, 1, "y-21", 22),
                switch(20, 1, "y-21", "S", "swapper/1-0"),
                switch(99, 0, "high-12", "S", "swapper/0-0"),
            )
            status, rules, told = judge(text, table)
            self.assertEqual(
                (status, rules, told["missing"]["counts"]["lost"]), (2, ["one-gang"], 0)
            )


class BadAssignments(unittest.TestCase):
    def refused(self, table, reason):
        status, told = harness.judge(start(0), table)
        self.assertEqual((status, told["verdict"]), (1, "unusable"))
        self.assertIn(reason, told["reasons"][0])

    def test_each_says_what_is_wrong_and_where(self):
        good = ("low", 1, [{"pids": [1]}])
        for table, reason in [
            ("{", "gangs: not JSON"),
            ([], "gangs file: found [], expected an object"),
            ({"partitions": []}, "gangs file: gangs is missing"),
            ({"partitions": [], "gangs": []}, "partitions: found none"),
            ({"partitions": 3, "gangs": []}, "partitions: found 3, expected a list"),
            (
                {"partitions": [{"name": "a", "cpus": "x"}], "gangs": []},
                "partitions[0].cpus: found 'x'",
            ),
            (
                {"partitions": [{"name": "a", "cpus": "3-1"}], "gangs": []},
                "expected CPUs as in '0-2,5'",
            ),
            ({"partitions": [{"name": "a", "cpus": "99999"}], "gangs": []}, "partitions[0].cpus"),
            (
                {
                    "partitions": [{"name": "a", "cpus": "0-1"}, {"name": "b", "cpus": "1"}],
                    "gangs": [],
                },
                "partitions[1]: its name or CPU 1 is another partition's too",
            ),
            (
                gangs(("low", 0, [])),
                "gangs[0].priority: found 0, expected a whole number from 1 to 99",
            ),
            (gangs(("low", True, [])), "gangs[0].priority: found True"),
            (gangs(("", 1, [])), "gangs[0].name: found '', expected a text"),
            (gangs(("low", 1, [{}])), "gangs[0].members[0]: expected either pids or comm"),
            (gangs(("low", 1, [{"pids": [1], "comm": "a"}])), "expected either pids or comm"),
            (gangs(("low", 1, [{"pids": [0]}])), "gangs[0].members[0].pids: found 0"),
            (gangs(("low", 1, [{"pids": 7}])), "found 7, expected a list of thread ids"),
            (
                gangs(("low", 1, [{"pid": [7]}])),
                "gangs[0].members[0]: found 'pid', expected comm, cpus",
            ),
            (
                gangs(("low", 1, [{"comm": "a", "cpus": "4"}])),
                "found 4, expected CPUs of partition main, 0-3",
            ),
            (
                gangs(("low", 1, [{"comm": "a", "from_s": 2, "to_s": 1}])),
                "to_s must be later than from_s",
            ),
            (
                gangs(("low", 1, [{"comm": "a", "from_s": "soon"}])),
                "from_s: found 'soon', expected a time",
            ),
            (
                gangs(good, ("high", 2, [{"pids": [1]}])),
                "thread 1 is listed twice for the same time",
            ),
            (
                gangs(good, best_effort=[{"comm": "a", "from_s": 1}]),
                "best_effort[0]: found 'from_s'",
            ),
            (gangs(good, kernel_threads=[{"cpus": "1"}]), "kernel_threads[0]: found 'cpus'"),
            ({**gangs(good), "gangs": [{"name": "a"}]}, "gangs[0]: members is missing"),
        ]:
            with self.subTest(reason=reason):
                self.refused(table, reason)

    def test_a_partition_that_is_not_there(self):
        table = gangs(("low", 1, [{"pids": [1]}]))
        table["gangs"][0]["partition"] = "other"
        self.refused(table, "gangs[0].partition: found 'other', expected one of main")


if __name__ == "__main__":
    unittest.main()
