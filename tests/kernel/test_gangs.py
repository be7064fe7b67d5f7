# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The sched_ext scheduler on real kernels: what the kernel's own trace says that it did.

`gang_load` (crates/ringfence-linux/examples) makes the loads, one after the other in one
guest; tests/sched-trace judges their traces and knows nothing of the scheduler.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from statistics import median

import budgets
import guest_programs
import matrix
from debian import ROOT
from waits import waits_us

CHECK = ROOT / "tests/sched-trace/check"
# The one that waits for grace periods of RCU, by whether the kernel's readers may be preempted.
# It may run on any CPU, and has work at each tick.
KERNEL_THREADS = ("rcu_preempt", "rcu_sched")
# While one CPU runs no thread of a higher class.
KERNEL_THREAD_WAITS_US = 20_000
# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 900
# Mode, milliseconds, and the rest of gang_load's arguments, by the name of the load. Those of
# one line have the same partitions, and one scheduler runs them all.
SCHEDULERS = (
    {
        "hand-overs": ("hand-overs", 32_000),
        "blocking": ("blocking", 2000),
        "forks": ("forks", 3000),
        "kills": ("kills", 3000),
        "mutex": ("mutex", 3000),
        "many": ("many", 4000),
        "free": ("free", 3000),
        "leaving": ("leaving", 2000),
        "fifo": ("fifo", 2000),
        "outranked": ("outranked", 5000),
        "crowd": ("crowd", 5000),
        "yields": ("yields", 1000),
        "priority": ("priority", 2000),
        "all-cpus": ("all-cpus", 4000),
        "endless": ("endless", 65_000),
    },
    {"unlimited": ("unlimited", 45_000, 1)},
    {"small": ("small", 2000), "affinity": ("affinity", 2000)},
    {"partitions": ("partitions", 2000)},
    {"counted": ("counted", 3000), "counted-none": ("counted", 3000, 1), "counted-half": ("counted", 11_500, 5_000_000)},
    {"apart": ("apart", 3000, 2_500_000)},
    {"timed": ("timed", 3000), "timed-none": ("timed", 3000, 1), "timed-half": ("timed", 3000, 5_000_000)},
)
LOADS = {name: load for loads in SCHEDULERS for name, load in loads.items()}
# All CPUs compute for a minute: half of the time that an emulated arm64 takes for all loads.
LONG = ("endless", "unlimited")
LONG_BY_DEFAULT = ("amd64",)
# Hand-overs at least, and the quarter that does where what is long is left out.
HAND_OVERS = 10_000
SHORTENED = {"hand-overs": ("hand-overs", 8000)}
# A counter interrupts after each quantum; see gang_load. Later than the next one is too late.
QUANTUM_US = 500
PERIOD_US = 10_000
# From when a budget is used up to when the CPU has switched, and from a refill's interrupt to the refill.
DELAY_US = 1000
# At least so many of the periods have nothing later than that, by the trace: QEMU may hold up a CPU.
ON_TIME = 0.95

TRACE = f"""
    set -e
    tracing=/sys/kernel/tracing
    echo 0 >$tracing/tracing_on
    echo mono >$tracing/trace_clock
    echo 20000 >$tracing/buffer_size_kb
    for event in switch wakeup wakeup_new process_fork process_exec; do
        echo 1 >$tracing/events/sched/sched_$event/enable
    done
    {budgets.TRACE}
"""


def guest(kernel, folder, script):
    """Runs a script in a guest that has gang_load; what it did, with /out in the folder."""
    guest = guest_programs.guest(kernel, [guest_programs.GANG_LOAD])
    try:
        outcome = guest.run("mkdir -p /out\n" + script, collect=("/out",), timeout_s=TIMEOUT_S)
        if not outcome.why_failed:
            guest.collect(folder)
    finally:
        guest.stop()
    return outcome


class Gangs(unittest.TestCase):
    """One load after the other."""

    kernel = None

    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        cls.whole = matrix.is_chosen(cls.kernel, LONG_BY_DEFAULT)
        cls.left_out, shortened = ((), {}) if cls.whole else (LONG, SHORTENED)
        loads = [
            {name: shortened.get(name, load) for name, load in loads.items() if name not in cls.left_out}
            for loads in SCHEDULERS
        ]
        commands = [
            " ".join(["gang_load /out", *(":".join(map(str, (name, *load))) for name, load in loads.items())])
            for loads in filter(None, loads)
        ]
        cls.outcome = guest(cls.kernel, cls.folder, "\n".join([TRACE, *commands]))

    def result(self, load):
        """What a load says of itself, if all went well."""
        if load in self.left_out:
            self.skipTest(matrix.NOT_BY_DEFAULT)
        self.assertEqual(self.outcome.why_failed, "")
        result = (self.folder / "out" / load / "result").read_text(encoding="utf-8")
        self.assertIn("refused starts 0 policy errors 0", result)
        self.assertNotIn("ejected", result)
        return result

    def judge(self, load, *options):
        """Judges the trace of a load."""
        self.result(load)
        folder = self.folder / "out" / load
        # QEMU runs few virtual CPUs at a time: one can be held up between decision and switch.
        options = ["--in-flight-us", "1000000", *options]
        command = [sys.executable, CHECK, "--gangs", folder / "gangs.json", *options, folder / "trace"]
        judged = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[:4000] + judged.stderr)

    def numbers(self, name, load):
        return [int(number) for number in re.search(rf"{name} \[(.*)\]", self.result(load))[1].split(",")]

    def test_one_gang_at_a_time(self):
        least = HAND_OVERS if self.whole else HAND_OVERS // 4
        self.judge("hand-overs", "--hand-overs-at-least", str(least))

    def test_members_that_block(self):
        self.judge("blocking", "--hand-overs-at-least", "20")

    def test_members_that_fork(self):
        self.judge("forks", "--hand-overs-at-least", "20")

    def test_members_that_are_killed_while_they_run(self):
        """They never sleep: if one counted as runnable afterwards, no lower gang would run again."""
        self.judge("kills", "--hand-overs-at-least", "20")

    def test_a_mutex_between_gangs(self):
        self.judge("mutex", "--hand-overs-at-least", "20")

    def test_sixty_four_gangs_of_two_hundred_threads(self):
        self.judge("many", "--hand-overs-at-least", "20")

    def test_members_without_a_cpu_of_their_own(self):
        self.judge("free", "--hand-overs-at-least", "20")

    def test_a_member_that_leaves_its_gang_and_goes_on(self):
        self.judge("leaving", "--hand-overs-at-least", "20")

    def test_a_partition_of_some_cpus(self):
        self.judge("small", "--hand-overs-at-least", "20")

    def test_two_partitions(self):
        self.judge("partitions", "--hand-overs-at-least", "20")

    def test_a_thread_of_the_real_time_class(self):
        self.judge("fifo", "--hand-overs-at-least", "20")

    def test_kernel_threads_where_the_real_time_class_leaves_one_cpu(self):
        """That CPU takes those that may run on any, though a gang there never sleeps."""
        self.judge("outranked", "--hand-overs-at-least", "2")
        waits = waits_us((self.folder / "out/outranked/trace").read_text(encoding="utf-8"), KERNEL_THREADS)
        self.assertGreater(len(waits), 20)
        self.assertLess(max(waits), KERNEL_THREAD_WAITS_US)

    def test_members_whose_cpus_change(self):
        """At times to none of the partition."""
        self.assertGreater(min(self.numbers("jobs", "affinity")), 0)

    def test_priorities_that_change(self):
        """Those of the second gang's two members, from job to job."""
        self.assertGreater(min(self.numbers("jobs", "priority")), 1)

    def test_members_that_yield_take_turns(self):
        """Three that never sleep, on one CPU."""
        self.judge("yields", "--hand-overs-at-least", "0")
        jobs = self.numbers("jobs", "yields")
        self.assertGreater(min(jobs), 10)
        self.assertLess(max(jobs), 1.5 * min(jobs))

    def test_best_effort_work_is_fair(self):
        """Loops of nice value 0 and 5, every second one at times of one more: their weights are 1024 to 820, and 335 to 272."""
        *equal, lower, lowest = self.numbers("best-effort milliseconds", "crowd")
        self.assertLess(max(equal), 2 * min(equal), equal)
        self.assertLess(1.5 * max(lower, lowest), min(equal), (equal, lower, lowest))

    def test_a_gang_that_never_sleeps_stands_back(self):
        """On all CPUs, with a share of 950 ms in a second: loops get what it leaves, in each window."""
        self.judge("all-cpus", "--hand-overs-at-least", "0")
        got = sum(self.numbers("best-effort milliseconds", "all-cpus"))
        self.assertGreater(got, 4 * 4000 / 50)
        self.assertLess(got, 4 * 4000 / 10)

    def test_the_watchdog_lets_a_gang_never_sleep(self):
        """It would end a scheduler that leaves lower gangs nothing for 30 s."""
        self.judge("endless", "--hand-overs-at-least", "0", "--instant-after-us", "4900000", "--hand-over-us", "10000")

    def test_without_a_share_limit_instants_are_demanded(self):
        self.judge("unlimited", "--hand-overs-at-least", "0", "--instant-after-us", "4900000", "--hand-over-us", "10000")

    def check_throttling(self, load):
        """Beside a gang that never sleeps on half of the CPUs and tolerates nothing, or half of each period."""
        for name in (load, f"{load}-none", f"{load}-half"):
            self.judge(name, "--hand-overs-at-least", "0")
        free, held, half = (
            sum(self.numbers("best-effort milliseconds", name)) / LOADS[name][1]
            for name in (load, f"{load}-none", f"{load}-half")
        )
        self.assertLess(4 * held, free)
        # Budgets are refilled: half of each period is more than none.
        self.assertLess(2 * held, half)
        self.assertLess(half, free)

    def check_budget(self, load, cpus, budget_us, at_least):
        """So many periods: each its budget and a quantum, and how late interrupts and switches are."""
        self.judge(load, "--hand-overs-at-least", "0")
        trace = (self.folder / "out" / load / "trace").read_text(encoding="utf-8")
        hogs, gang = budgets.uses(trace, "hog"), budgets.uses(trace, "gang30")
        periods = [period for period in budgets.periods(trace) if gang[0].within(*period) > PERIOD_US * 99 // 100]
        lasts = [end - begin for begin, end in periods]
        self.assertGreaterEqual(min(lasts), PERIOD_US)
        uncounted = budgets.uncounted(trace, 2 * QUANTUM_US)
        for cpu in cpus:
            used = [
                hogs[cpu].within(*period)
                for period, us in zip(periods, lasts, strict=True)
                if us <= PERIOD_US + DELAY_US and not uncounted[cpu].within(*period)
            ]
            self.assertGreater(len(used), max(at_least - 1, len(periods) * ON_TIME), (cpu, len(periods)))
            self.assertLessEqual(median(used), budget_us + QUANTUM_US, cpu)
            self.assertLessEqual(max(used), budget_us + 2 * QUANTUM_US + DELAY_US, cpu)
            # It is a budget and no ban.
            self.assertGreater(sum(used) / len(used), budget_us / 2, cpu)

    def test_budgets_are_kept_to_a_quantum(self):
        self.check_budget("counted-half", (2, 3), 5_000, at_least=1000)

    def test_the_strictest_tolerance_holds_while_another_partition_idles(self):
        self.check_budget("apart", (3,), 2_500, at_least=250)

    def test_best_effort_work_is_throttled_by_a_counter(self):
        self.check_throttling("counted")

    def test_best_effort_work_is_throttled_by_time(self):
        self.check_throttling("timed")


class Ends(unittest.TestCase):
    """How a scheduler ends, and what it refuses."""

    kernel = None

    def run_guest(self, script):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        outcome = guest(self.kernel, Path(folder.name), "set -e\n" + script)
        self.assertEqual(outcome.why_failed, "")
        return outcome.output

    def test_what_cannot_be_is_refused(self):
        self.assertIn("refused all None", self.run_guest("gang_load refusals"))

    def test_the_kernel_takes_over(self):
        """When the loader is killed, and when a CPU leaves; and meanwhile no other scheduler may come."""
        output = self.run_guest("""
            state=/sys/kernel/sched_ext/state
            start() {
                gang_load /out $1:hand-overs:1000000 &
                while [ ! -e /out/$1/go ]; do sleep 0.05; done
            }
            start killed
            echo at first $(cat $state)
            if gang_load /out other:hand-overs:1000; then exit 1; fi
            echo still $(cat $state)
            kill -9 $!
            while [ "$(cat $state)" != disabled ]; do sleep 0.05; done
            start offline
            echo again $(cat $state)
            echo 0 >/sys/devices/system/cpu/cpu3/online
            while [ "$(cat $state)" != disabled ]; do sleep 0.05; done
            kill $! && echo its loader was there
        """)
        for line in ("at first enabled", "busy", "still enabled", "again enabled", "its loader was there"):
            self.assertIn(line, output)


def load_tests(loader, tests, pattern):
    suite = matrix.on_kernels(loader, Gangs)
    # Five loads of the scheduler, each of seconds that an emulated arm64 makes many.
    suite.addTests(matrix.on_kernels(loader, Ends, by_default=("amd64",)))
    return suite
