# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The sched_ext scheduler on real kernels: what the kernel's own trace says that it did.

`gang_load` (crates/ringfence-linux/examples) makes the load; tests/sched-trace judges the
trace and knows nothing of the scheduler.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix
from debian import ROOT
from guest import Guest

CHECK = ROOT / "tests/sched-trace/check"
# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 500

TRACE = """
    tracing=/sys/kernel/tracing
    echo mono >$tracing/trace_clock
    echo 60000 >$tracing/buffer_size_kb
    echo 0 >$tracing/tracing_on
    for event in switch wakeup wakeup_new process_fork process_exec; do
        echo 1 >$tracing/events/sched/sched_$event/enable
    done
    mkdir -p /out
    (while [ ! -e /out/go ]; do sleep 0.05; done; echo 1 >$tracing/tracing_on) &
"""


class Gangs(unittest.TestCase):
    kernel = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_guest(self, script, collect=("/out",)):
        architecture = self.kernel.architecture
        built = guest_programs.build(architecture, "ringfence-linux", "--example", "gang_load")
        guest = Guest(
            self.kernel,
            files={"/bin/gang_load": built / "examples/gang_load"},
            library_packages=() if architecture == "amd64" else guest_programs.LIBRARIES,
            # One after the other, a CPU that spins holds up the others for a tenth of a second.
            is_parallel=architecture == "arm64",
        )
        self.addCleanup(guest.stop)
        outcome = guest.run(script, collect=collect, timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "")
        guest.collect(self.folder)
        return outcome

    def load(self, mode, seconds, *rest):
        """Runs a load with the kernel's trace on; what it printed."""
        arguments = " ".join(str(argument) for argument in (mode, seconds, "/out", *rest))
        script = f"set -e\n{TRACE}\ngang_load {arguments}\necho 0 >$tracing/tracing_on\ncat $tracing/trace >/out/trace"
        outcome = self.run_guest(script)
        self.assertIn("refused starts 0 policy errors 0", outcome.output)
        self.assertNotIn("ejected", outcome.output)
        return outcome.output

    def check(self, *options):
        """Judges the trace of the last load."""
        # QEMU runs one virtual CPU at a time: one can be held up between decision and switch.
        options = ["--in-flight-us", "1000000", *options]
        command = [sys.executable, CHECK, "--gangs", self.folder / "out/gangs.json", *options, self.folder / "out/trace"]
        judged = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[:4000] + judged.stderr)

    def test_one_gang_at_a_time(self):
        self.load("hand-overs", 12)
        self.check("--hand-overs-at-least", "200")

    def test_members_that_block(self):
        self.load("blocking", 5)
        self.check("--hand-overs-at-least", "50")

    def test_members_that_fork(self):
        self.load("forks", 5)
        self.check("--hand-overs-at-least", "50")

    def test_a_mutex_between_gangs(self):
        self.load("mutex", 5)
        self.check("--hand-overs-at-least", "50")

    def test_sixty_four_gangs_of_many_threads(self):
        self.load("many", 6)
        self.check("--hand-overs-at-least", "50")

    def test_priorities_that_change(self):
        self.load("priority", 5)

    def test_best_effort_work_is_throttled(self):
        """Beside a gang that never sleeps on half of the CPUs and tolerates nothing."""
        free = self.milliseconds(self.load("endless", 5))
        held = self.milliseconds(self.load("endless", 5, 1))
        self.check("--hand-overs-at-least", "0")
        self.assertLess(2 * held, free)

    def milliseconds(self, output):
        return int(re.search(r"best-effort milliseconds (\d+)", output)[1])

    def test_the_kernel_takes_over_when_the_scheduler_dies(self):
        script = """
            set -e
            mkdir -p /out
            gang_load hand-overs 60 /out >/out/load 2>&1 &
            while [ ! -e /out/go ]; do sleep 0.05; done
            cat /sys/kernel/sched_ext/state
            kill -9 $!
            while [ "$(cat /sys/kernel/sched_ext/state)" != disabled ]; do sleep 0.05; done
            rm /out/go
            gang_load hand-overs 1 /out
        """
        outcome = self.run_guest(script)
        self.assertEqual(outcome.output.split()[0], "enabled")
        self.assertIn("refused starts 0 policy errors 0", outcome.output)

    def test_a_cpu_that_leaves_ends_it(self):
        script = """
            set -e
            mkdir -p /out
            gang_load hand-overs 6 /out >/out/load 2>&1 &
            while [ ! -e /out/go ]; do sleep 0.05; done
            echo 0 >/sys/devices/system/cpu/cpu3/online
            while [ "$(cat /sys/kernel/sched_ext/state)" != disabled ]; do sleep 0.05; done
            wait || true
            cat /out/load
        """
        self.assertIn("ejected", self.run_guest(script).output)

    def test_two_schedulers_refuse_each_other(self):
        script = """
            set -e
            mkdir -p /out /other
            gang_load hand-overs 120 /out &
            while [ ! -e /out/go ]; do sleep 0.05; done
            if gang_load hand-overs 1 /other; then exit 1; fi
            cat /sys/kernel/sched_ext/state
        """
        self.assertIn("enabled", self.run_guest(script).output)


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Gangs)
