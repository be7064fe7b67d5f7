# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Portable mode on kernels that are older than sched_ext."""

import json
import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix
from debian import ROOT

SCENARIO = ROOT / "scenarios/linux/activations.toml"
# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 900


class Portable(unittest.TestCase):
    """Three gangs of up to four threads, that preempt each other, beside four loops."""

    kernel = None

    def run_guest(self, wake_ups, **options):
        """Output of a run in a guest, and its record's events."""
        guest = guest_programs.guest(
            self.kernel, [guest_programs.RINGFENCE], {"/scenario.toml": SCENARIO}, **options
        )
        self.addCleanup(guest.stop)
        outcome = guest.run(
            f"""
            mkdir /out
            ringfence run --target linux --wake-ups {wake_ups} --quiet -o /out/record.rfr /scenario.toml
            echo "exit status $?"
            ringfence report /out/record.rfr --events /out/events.jsonl >/dev/null
            ls -d /sys/fs/cgroup/ringfence* /sys/fs/cgroup/freezer/ringfence* 2>/dev/null
            """,
            collect=("/out",),
            timeout_s=TIMEOUT_S,
        )
        self.assertNotIn("/sys/fs/cgroup", outcome.output, "groups are left")
        self.assertEqual(outcome.failures, [], outcome.output)
        with tempfile.TemporaryDirectory() as folder:
            guest.collect(folder)
            lines = (Path(folder) / "out/events.jsonl").read_text(encoding="utf-8").splitlines()
        return outcome.output, list(map(json.loads, lines))

    def test_with_tracepoints_all_that_is_promised_is_held(self):
        output, events = self.run_guest("auto")
        self.assertIn("wake-ups seen through BPF tracepoints", output)
        self.assertIn("all 10 jobs met their deadline", output)
        self.assertIn("One gang at a time: promised and held", output)
        self.assertIn("exit status 0", output)
        self.assertTrue(any("thread-on" in event for event in events))

    def test_by_the_job_api_all_jobs_are_done_in_time(self):
        """Nobody records who ran where, so that the verdict does not pass."""
        output, events = self.run_guest("jobs")
        self.assertIn("wake-ups seen through the job API", output)
        self.assertIn("all 10 jobs met their deadline", output)
        self.assertIn("One gang at a time could not be judged", output)
        self.assertIn("exit status 2", output)
        self.assertFalse(any("thread-on" in event for event in events))


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Portable, by_default=("amd64",), which=matrix.older)
