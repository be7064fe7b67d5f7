# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Each rule at its edges, on schedules written by hand."""

import unittest

import harness
from story import Story


def hand_over(stop_us, start_us, stop_first=True):
    """A low gang on CPU 0 stops, a high one on CPU 1 starts; it woke when that one stopped."""
    story = Story()
    (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
    story.wake(1, 0, low)
    story.switch(2, 0, "R", low)
    story.wake(start_us - 1, 1, high)
    stop = (stop_us, 0, "S", None)
    start = (start_us, 1, "R", high)
    for us, cpu, state, to in [stop, start] if stop_first else [start, stop]:
        story.switch(us, cpu, state, to)
    story.switch(20, 1, "S")
    return story


class OneGang(unittest.TestCase):
    def test_one_after_the_other_holds(self):
        self.assertEqual(hand_over(8, 9).found(), [])

    def test_at_one_time_holds_in_either_order_of_lines(self):
        self.assertEqual(hand_over(9, 9).found(), [])
        self.assertEqual(hand_over(9, 9, stop_first=False).found(), [])

    def test_one_nanosecond_at_once_is_found(self):
        self.assertEqual(hand_over(9.001, 9, stop_first=False).found(), [("one-gang", 0.001)])

    def test_the_bound_itself_is_allowed(self):
        story = hand_over(9.5, 9, stop_first=False)
        self.assertEqual(story.found("--overlap-us", "0.5"), [])
        self.assertEqual(story.found("--overlap-us", "0.499"), [("one-gang", 0.5)])

    def test_a_finding_names_lines_threads_and_cpus(self):
        status, table = hand_over(9.5, 9, stop_first=False).judge()
        self.assertEqual(status, 2)
        (one,) = table["findings"]
        # "cpus=4", two bystanders, wake, switch, wake: the start is line 7, the stop line 8.
        self.assertEqual((one["from_line"], one["to_line"]), (7, 8))
        self.assertEqual((one["from_s"], one["to_s"]), ("41.000009000", "41.000009500"))
        self.assertEqual(one["partition"], "main")
        self.assertEqual(one["cpus"], [1, 0])
        self.assertEqual(
            [
                (each["comm"], each["gang"], each["priority"], each["cpu"])
                for each in one["threads"]
            ],
            [("high", "high", 20, 1), ("low", "low", 10, 0)],
        )

    def test_an_overlap_that_never_ends_is_found(self):
        story = hand_over(30, 9, stop_first=False)
        story.events = story.events[:-2]
        story.wake(15, 1, story.thread("hog"))
        self.assertEqual(story.found(), [("one-gang", 6)])

    def test_tasks_of_one_priority_are_one_gang(self):
        story = Story()
        (one,), (two,) = story.gang("one", 10), story.gang("two", 10)
        story.wake(1, 0, one, two)
        story.switch(2, 0, "R", one)
        story.switch(2, 1, "R", two)
        story.switch(9, 0, "S")
        story.switch(9, 1, "S")
        _, table = story.judge()
        self.assertEqual(table["findings"], [])
        self.assertEqual(table["partitions"][0]["gangs"][0]["name"], "one+two")

    def test_partitions_do_not_see_each_other(self):
        story = Story()
        story.table["partitions"] = [{"name": "a", "cpus": "0"}, {"name": "b", "cpus": "1"}]
        (low,), (high,) = (
            story.gang("low", 10, partition="a"),
            story.gang("high", 20, partition="b"),
        )
        story.wake(1, 0, low, high)
        story.switch(2, 0, "R", low)
        story.switch(2, 1, "R", high)
        story.switch(90, 0, "S")
        story.switch(90, 1, "S")
        self.assertEqual(story.found("--hand-over-us", "1", "--blocked-us", "1"), [])


class Placement(unittest.TestCase):
    def test_a_cpu_of_another_partition_is_found(self):
        story = Story()
        story.table["partitions"] = [{"name": "a", "cpus": "0"}, {"name": "b", "cpus": "1"}]
        (member,) = story.gang("one", 10, partition="a")
        story.wake(1, 0, member)
        story.switch(2, 1, "R", member)
        story.switch(7, 1, "S")
        self.assertEqual(story.found(), [("placement", 5)])

    def test_a_cpu_that_the_assignment_does_not_give_is_found(self):
        story = Story()
        (member,) = story.gang("one", 10, cpus="0")
        story.wake(1, 0, member)
        story.switch(2, 1, "R", member)
        story.switch(7, 1, "S")
        self.assertEqual(story.found(), [("placement", 5)])
        self.assertEqual(story.found("--skip", "placement"), [])

    def test_a_member_that_is_never_switched_is_found(self):
        story = Story()
        (member,) = story.gang("one", 10, cpus="0")
        story.events.pop()
        story.current[1] = member
        story.wake(1, 1, story.thread("hog"))
        story.wake(4, 0, story.thread("hog"))
        self.assertEqual(story.found(), [("placement", 4)])


def late_start(wake_us, start_us, end_us=50.0):
    """A low member starts on CPU 1 after a high one, which never runs before end_us, woke."""
    story = Story()
    (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
    story.wake(1, 0, low)
    story.wake(wake_us, 0, high)
    story.switch(start_us, 1, "R", low)
    story.switch(40, 1, "R")
    story.switch(end_us, 1, "R", high)
    story.switch(60, 1, "S")
    return story


class Start(unittest.TestCase):
    def test_beside_a_runnable_higher_gang_is_found(self):
        self.assertEqual(late_start(3, 5).found(), [("start", 2)])

    def test_at_the_time_of_the_wake_up_holds_in_either_order_of_lines(self):
        self.assertEqual(late_start(5, 5).found(), [])
        _, table = late_start(5, 5).judge()
        self.assertEqual(
            next(rule for rule in table["rules"] if rule["name"] == "start")["measured"], {}
        )
        story = late_start(5, 5)
        story.events[3], story.events[4] = story.events[4], story.events[3]
        story.events[3] = story.events[3]._replace(thread=story.idle[1])
        self.assertEqual(story.found(), [])

    def test_the_bound_itself_is_allowed(self):
        self.assertEqual(late_start(3, 5).found("--late-start-us", "2"), [])
        self.assertEqual(late_start(3, 5).found("--late-start-us", "1.999"), [("start", 2)])

    def test_a_switch_in_flight_is_allowed_more_and_the_next_one_is_not(self):
        story = late_start(3, 5)
        self.assertEqual(story.found("--in-flight-us", "2"), [])
        self.assertEqual(story.found("--in-flight-us", "1.999"), [("start", 2)])
        story = Story()
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        other = story.thread("other")
        story.wake(1, 0, low, other)
        story.wake(3, 0, high)
        story.switch(4, 1, "R", other)
        story.switch(5, 1, "R", low)
        story.switch(40, 1, "R")
        story.switch(50, 1, "R", high)
        story.switch(60, 1, "S")
        self.assertEqual(story.found("--in-flight-us", "1000"), [("start", 2)])

    def test_one_that_waited_long_may_start_alone(self):
        def story(high_runs_on):
            story = Story()
            (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
            other = story.thread("other")
            story.wake(1, 0, low, high)
            story.switch(2, 0, "R", high)
            if not high_runs_on:
                story.switch(60, 0, "R", other)
            story.switch(70, 1, "R", low)
            story.switch(75, 1, "R")
            story.switch(90, 0, "R")
            return story

        options = ("--overlap-us", "100", "--instant-after-us")
        self.assertEqual(story(False).found(), [("start", 69)])
        self.assertEqual(story(False).found(*options, "69"), [])
        self.assertEqual(story(False).found(*options, "69.001"), [("start", 69)])
        self.assertEqual(story(True).found(*options, "69"), [("start", 69)])
        run_on = (*options, "69", "--hand-over-us")
        self.assertEqual(story(False).found(*run_on, "5"), [])
        self.assertEqual(story(False).found(*run_on, "4.999"), [("run-on", 5)])

    def test_the_nearer_edge_counts(self):
        # The higher gang sleeps 3 us after the lower one started beside it.
        story = Story()
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        story.wake(1, 0, high, low)
        story.switch(2, 0, "R", high)
        story.switch(97, 1, "R", low)
        story.switch(100, 0, "S")
        story.switch(200, 1, "S")
        options = ["--overlap-us", "3"]
        self.assertEqual(story.found(*options, "--late-start-us", "3"), [])
        self.assertEqual(story.found(*options, "--late-start-us", "2.9"), [("start", 96)])

    def test_every_higher_gang_counts(self):
        # One of them ends soon, but the other does not.
        story = Story()
        (low,), (high,), (mid,) = (
            story.gang("low", 10),
            story.gang("high", 30),
            story.gang("mid", 20),
        )
        story.wake(1, 0, high, low, mid)
        story.switch(2, 0, "R", high)
        story.switch(97, 1, "R", low)
        story.switch(100, 0, "S")
        story.switch(200, 1, "S")
        self.assertIn(("start", 96), story.found("--late-start-us", "90"))

    def test_the_latest_of_several_higher_gangs_counts(self):
        # Both end 3 us after the start; one woke up 90 us before it, the other 2 us.
        for order in (0, 1):
            story = Story(cpus=3)
            (low,) = story.gang("low", 10)
            gangs = [story.gang("mid", 20)[0], story.gang("high", 30)[0]]
            story.wake(1, 0, low)
            story.wake(10, 0, gangs[order])
            story.switch(10, 0, "R", gangs[order])
            story.wake(98, 1, gangs[1 - order])
            story.switch(98, 1, "R", gangs[1 - order])
            story.switch(100, 2, "R", low)
            story.switch(103, 0, "S")
            story.switch(103, 1, "S")
            story.switch(200, 2, "S")
            options = ["--overlap-us", "100", "--late-start-us"]
            starts = [one for one in story.found(*options, "2.9") if one[0] == "start"]
            self.assertIn(("start", 90), starts)
            self.assertNotIn(("start", 90), story.found(*options, "3"))

    def test_going_on_with_another_member_is_no_start(self):
        story = Story()
        one, two = story.gang("low", 10, threads=2)
        (high,) = story.gang("high", 20)
        story.wake(1, 0, one, two)
        story.switch(2, 0, "R", one)
        story.wake(3, 1, high)
        story.switch(5, 0, "S", two)
        story.switch(8, 0, "S")
        self.assertEqual(story.found(), [])
        self.assertEqual(story.found("--hand-over-us", "4"), [("run-on", 5)])

    def test_coming_back_after_a_kernel_thread_is_one(self):
        story = Story()
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        kernel = story.thread("kworker/0:0")
        story.wake(1, 0, low)
        story.switch(2, 0, "R", low)
        story.wake(3, 0, kernel)
        story.switch(3, 0, "R", kernel)
        story.wake(4, 1, high)
        story.switch(6, 0, "S", low)
        story.switch(9, 0, "R")
        self.assertEqual(story.found(), [("start", 2)])


class RunOn(unittest.TestCase):
    def test_from_the_wake_up_until_the_last_lower_thread_stops(self):
        story = Story()
        low = story.gang("low", 10, threads=2)
        (high,) = story.gang("high", 20)
        story.wake(1, 0, *low)
        story.switch(2, 0, "R", low[0])
        story.switch(2, 1, "R", low[1])
        story.wake(10, 0, high)
        story.switch(12, 0, "R")
        story.switch(17, 1, "R")
        story.switch(18, 0, "R", high)
        _, table = story.judge()
        measured = next(rule["measured"] for rule in table["rules"] if rule["name"] == "run-on")
        self.assertEqual(measured["run-on"]["longest_ns"], 7000)
        self.assertEqual(story.found("--hand-over-us", "7"), [])
        self.assertEqual(story.found("--hand-over-us", "6.999"), [("run-on", 7)])


class Blocked(unittest.TestCase):
    def story(self):
        """A high gang runs from 2 to 10; the low one, awake since 4, runs from 13 on."""
        story = Story()
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        story.wake(1, 0, high)
        story.switch(2, 0, "R", high)
        story.wake(4, 1, low)
        story.switch(10, 0, "S")
        story.switch(13, 1, "R", low)
        story.switch(19, 1, "S")
        return story

    def measured(self, story):
        _, table = story.judge()
        rule = next(rule for rule in table["rules"] if rule["name"] == "blocked")
        return {label: one["longest_ns"] for label, one in rule["measured"].items()}

    def test_counts_from_the_end_of_the_higher_gang(self):
        self.assertEqual(self.measured(self.story()), {"wake": 1000, "end": 3000})
        self.assertEqual(self.story().found("--blocked-us", "3"), [])
        self.assertEqual(self.story().found("--blocked-us", "2"), [("blocked", 3)])

    def test_a_gang_that_never_gets_a_cpu_is_found(self):
        story = self.story()
        story.events = story.events[:-2]
        story.wake(500, 0, story.thread("hog"))
        self.assertEqual(story.found("--blocked-us", "400"), [("blocked", 490)])

    def test_kernel_threads_displace(self):
        story = Story(cpus=1)
        (member,) = story.gang("one", 10)
        kernel = story.thread("kworker/0:0")
        story.wake(1, 0, member)
        story.switch(2, 0, "R", member)
        story.wake(5, 0, kernel)
        story.switch(5, 0, "R", kernel)
        story.switch(9, 0, "S", member)
        story.switch(12, 0, "S")
        self.assertEqual(self.measured(story), {"wake": 1000, "displaced": 4000})


class LeftOut(unittest.TestCase):
    def story(self, cpus=None):
        """One member runs on CPU 0; the other, awake as well, never does. CPU 1 is idle."""
        story = Story()
        more = {"cpus": cpus} if cpus else {}
        one, two = story.gang("one", 10, threads=2, **more)
        story.wake(1, 0, one, two)
        story.switch(2, 0, "R", one)
        story.switch(50, 0, "S", two)
        story.switch(60, 0, "S")
        return story

    def test_a_member_beside_a_free_cpu_is_found(self):
        self.assertEqual(self.story().found("--blocked-us", "10"), [("left-out", 48)])

    def test_a_member_that_may_not_run_there_is_not(self):
        self.assertEqual(self.story("0").found("--blocked-us", "10"), [])

    def test_best_effort_work_leaves_a_cpu_free_but_a_kernel_thread_does_not(self):
        for comm, expected in (("hog", [("left-out", 48)]), ("kworker/1:0", [])):
            story = self.story()
            other = story.thread(comm)
            story.events = [
                *story.events[:2],
                story.events[2]._replace(time=500, cpu=1, thread=story.idle[1], to=other),
                story.events[4]._replace(time=600, cpu=1, thread=story.idle[1], to=other),
                *story.events[2:],
            ]
            self.assertEqual(story.found("--blocked-us", "10"), expected)
            _, table = story.judge("--blocked-us", "10")
            for one in table["findings"]:
                self.assertEqual([thread["comm"] for thread in one["threads"]], ["one", "hog"])

    def test_a_cpu_that_becomes_free_counts_from_then_on(self):
        story = self.story()
        kernel = story.thread("kworker/1:0")
        event = story.events[2]._replace(cpu=1, thread=story.idle[1], to=kernel)
        story.events = [
            *story.events[:2],
            event._replace(time=500),
            event._replace(time=600, kind="switch", state="R"),
            *story.events[2:5],
            event._replace(time=20_000, kind="switch", thread=kernel, state="S", to=story.idle[1]),
            *story.events[5:],
        ]
        self.assertEqual(story.found("--blocked-us", "10"), [("left-out", 30)])


class Idle(unittest.TestCase):
    def story(self, cpus=None):
        """Best-effort work waits from 5 to 30 on CPU 0, where other such work runs; CPU 1 is idle."""
        story = Story()
        one, two = story.thread("hog"), story.thread("other")
        if cpus:
            story.table["best_effort"] = [{"comm": "hog", "cpus": cpus}]
        story.wake(1, 0, two)
        story.switch(2, 0, "R", two)
        story.wake(5, 0, one)
        story.switch(30, 1, "R", one)
        story.switch(40, 1, "S")
        story.switch(40, 0, "S")
        return story

    def test_an_idle_cpu_beside_waiting_work_is_found(self):
        self.assertEqual(self.story().found("--idle-us", "24"), [("idle", 25)])
        self.assertEqual(self.story().found("--idle-us", "25"), [])
        self.assertEqual(self.story().found(), [])

    def test_work_that_may_not_run_there_is_not(self):
        self.assertEqual(self.story("0").found("--idle-us", "1"), [])

    def test_a_throttled_cpu_is_excused_for_that_time(self):
        with harness.file_of(
            "# a comment\n1 41.000006 41.000024\n1 41.000008 41.000009\n1 41.000023 41.000027\n0 41 42\n"
        ) as path:
            # What is left is 5 to 6 and 27 to 30.
            self.assertEqual(self.story().found("--idle-us", "3", "--throttled", path), [])
            self.assertEqual(
                self.story().found("--idle-us", "2.9", "--throttled", path), [("idle", 25)]
            )

    def test_waiting_members_are_not_best_effort_work(self):
        story = self.story()
        story.gang("one", 10)
        story.table["gangs"][0]["members"] = [{"comm": "hog"}, {"comm": "other"}]
        self.assertEqual(story.found("--idle-us", "1"), [])


class Share(unittest.TestCase):
    def story(self, resume_us):
        """Runs from 100 to 140 of windows of 100 us, stands back, and goes on at resume_us."""
        story = Story(cpus=1)
        (member,) = story.gang("one", 10)
        story.wake(99, 0, member)
        story.switch(100, 0, "R", member)
        story.switch(140, 0, "R")
        story.switch(resume_us, 0, "R", member)
        story.switch(resume_us + 5, 0, "S")
        return story

    def test_standing_back_until_the_window_ends_is_excused(self):
        # 40 us were used from 100 on, so a window that holds them ends at 200 at the latest.
        options = ["--blocked-us", "2", "--share", "40/100"]
        self.assertEqual(self.story(202).found(*options), [])
        self.assertEqual(self.story(203).found(*options), [("blocked", 63)])

    def test_standing_back_before_the_limit_is_used_up_is_found(self):
        self.assertEqual(
            self.story(190).found("--blocked-us", "2", "--share", "41/100"), [("blocked", 50)]
        )

    def test_it_excuses_nobody_while_a_lower_gang_runs(self):
        story = Story(cpus=2)
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        story.wake(99, 0, low)
        story.switch(100, 0, "R", low)
        story.wake(150, 1, high)
        story.switch(170, 0, "R", high)
        story.switch(180, 0, "S")
        self.assertEqual(story.found("--blocked-us", "2", "--share", "40/100"), [("blocked", 20)])

    def test_nor_after_real_time_work_went_on(self):
        # By the windows all may stand back up to 200, but the lower gang goes on at 150.
        story = Story(cpus=2)
        (low,), (high,) = story.gang("low", 10), story.gang("high", 20)
        story.wake(99, 0, low)
        story.switch(100, 0, "R", low)
        story.switch(140, 0, "R")
        story.switch(150, 0, "R", low)
        story.wake(155, 1, high)
        story.switch(180, 0, "R", high)
        story.switch(190, 0, "S")
        self.assertEqual(story.found("--blocked-us", "2", "--share", "40/100"), [("blocked", 25)])


if __name__ == "__main__":
    unittest.main()
