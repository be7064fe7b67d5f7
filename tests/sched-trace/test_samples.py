# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Real text of the real tools, in samples/.

Recorded with the clock mono; except for the last one in QEMU with 4 CPUs, on stock Debian
kernels (6.18.15 and 7.0.13, amd64), with trace-cmd 3.1.6 and perf 6.1. SCHED_FIFO threads
are pinned to CPUs: "steer" (above) to 0, 1 and 2, "plan [0] => x" to 0 and 1,
"a:1 [2] R ==> b" to 3. Beside them are "hog" threads and processes that are killed, fork
and call exec from a second thread. So within one CPU the kernel schedules one gang at a
time, but over all of them it does not. tracefs-untraced-idle.txt is from a kernel that
does not trace switches away from the idle thread of CPU 1.
"""

import unittest

import harness
from story import as_json, gangs

NAMES = [
    ("steer", 20, [{"comm": "steer"}]),
    ("plan", 10, [{"comm": "plan [[]0] => x"}, {"comm": "a:1 [[]2] R ==> b"}]),
]
KERNEL = {"kernel_threads": [{"comm": "perf"}]}
# With the threads that run on CPU 0: steer, plan.
TRACE_CMD = dict.fromkeys(
    ["trace-cmd.txt", "trace-cmd-t.txt", "trace-cmd-l.txt", "trace-cmd-R.txt"], (221, 224)
)
PERF = dict.fromkeys(["perf.txt", "perf-ns.txt"], (253, 256))
WHOLE = {**TRACE_CMD, **PERF, "tracefs-6.18.txt": (154, 157), "tracefs-7.0.txt": (152, 155)}


def of_cpus(cpus):
    """A partition with everything that has the name of a member."""
    return {**gangs(*NAMES, **KERNEL), "partitions": [{"name": "main", "cpus": cpus}]}


def of_cpu_0(name):
    """A partition of CPU 0 alone."""
    steer, plan = WHOLE[name]
    rows = [("steer", 20, [{"pids": [steer]}]), ("plan", 10, [{"pids": [plan]}])]
    return {**gangs(*rows, **KERNEL), "partitions": [{"name": "main", "cpus": "0"}]}


def sample(name, table, *options):
    """(exit status, JSON) of a sample."""
    with harness.file_of(as_json(table)) as path:
        return harness.command(
            str(harness.SAMPLES / name), "--gangs", path, "--hand-overs-at-least", "0", *options
        )


class Samples(unittest.TestCase):
    def test_all_lines_are_read(self):
        for path in sorted(harness.SAMPLES.iterdir()):
            _, told = sample(path.name, of_cpus("0-3"))
            with self.subTest(name=path.name):
                self.assertEqual(told["missing"]["counts"]["unreadable"], 0)
                text = path.read_text(encoding="latin-1")
                events = sum(" sched" in line for line in text.splitlines())
                self.assertEqual(told["trace"]["events"] + told["trace"]["other_events"], events)
                self.assertGreater(told["trace"]["events"], 30)

    def test_whole_ones_have_no_loss(self):
        for name in WHOLE:
            _, told = sample(name, of_cpus("0-3"))
            with self.subTest(name=name):
                self.assertEqual(sum(told["missing"]["counts"].values()), 0)

    def test_gangs_on_all_cpus_run_at_once(self):
        for name in WHOLE:
            status, told = sample(name, of_cpus("0-3"))
            with self.subTest(name=name):
                self.assertEqual(status, 2)
                self.assertIn("one-gang", harness.found(told))

    def test_on_one_cpu_the_kernel_schedules_one_gang_at_a_time(self):
        for name in WHOLE:
            status, told = sample(name, of_cpu_0(name), "--hand-over-us", "500")
            with self.subTest(name=name):
                self.assertEqual((status, told["reasons"]), (0, []))
                self.assertGreater(told["hand_overs"], 10)

    def test_the_same_trace_in_all_formats_of_a_tool_tells_the_same(self):
        for names in (TRACE_CMD, PERF):
            told = []
            for name in names:
                with harness.file_of("") as path:
                    _, table = sample(name, of_cpu_0(name), "--activations", path)
                    with open(path, encoding="utf-8") as file:
                        told.append((file.read(), table["hand_overs"], table["trace"]["events"]))
            self.assertEqual(told, told[:1] * len(names))
            self.assertGreater(told[0][1], 10)

    def test_losses_are_seen(self):
        for name, cpus in (("trace_pipe-lost.txt", {1, 3}), ("perf-lost.txt", {0})):
            status, told = sample(
                name, of_cpus("0-3"), "--allow", "unwoken", "--skip", "one-gang", "--skip", "start"
            )
            with self.subTest(name=name):
                self.assertEqual((status, told["verdict"]), (1, "not proved"))
                self.assertLessEqual(cpus, {one["cpu"] for one in told["missing"]["stretches"]})

    def test_an_overwritten_start_is_seen(self):
        _, told = sample("tracefs-overwritten.txt", of_cpus("0-1"))
        self.assertEqual([one["cpu"] for one in told["missing"]["late_starts"]], [1, 0])

    def test_switches_that_a_kernel_does_not_trace_are_seen(self):
        status, told = sample("tracefs-untraced-idle.txt", of_cpus("0-1"))
        self.assertEqual((status, told["verdict"]), (1, "not proved"))
        self.assertEqual({one["cpu"] for one in told["missing"]["stretches"]}, {1})
        self.assertIn(
            "swapper/1:0 ran there, but mandb:743 stopped", told["missing"]["stretches"][0]["why"]
        )


if __name__ == "__main__":
    unittest.main()
