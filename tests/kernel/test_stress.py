# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Gangs beside a program that does with threads whatever a scheduler may trip over: minutes of it.

Part of `make test-kernels` only.
"""

import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix

STRESS_NG = "stress-ng/stress-ng"
# These lock up a CPU by real-time threads of the kernel's own classes, which outrank all gangs.
LEFT_OUT = "softlockup"
# Its real-time threads outrank the gangs, and gangs which they make late outrank its processes: of
# those, some do not get to start their threads before the time is over. It is run without being judged.
FILLS_THE_MACHINE = "mutex"
SECONDS_EACH = 3
TIMEOUT_S = 1800


class Stress(unittest.TestCase):
    kernel = None

    def test_all_that_stresses_a_scheduler(self):
        programs = [guest_programs.GANG_LOAD]
        guest = guest_programs.guest(self.kernel, programs, programs=(STRESS_NG,))
        self.addCleanup(guest.stop)
        script = f"""
            set -e
            mkdir /out
            gang_load /out load:hand-overs:1000000 &
            while [ ! -e /out/load/go ]; do sleep 0.05; done
            stress-ng --class scheduler --exclude {LEFT_OUT},{FILLS_THE_MACHINE} --sequential 4 --timeout {SECONDS_EACH}
            stress-ng --{FILLS_THE_MACHINE} 4 --timeout {SECONDS_EACH} || true
            echo then
            stress-ng --switch 4 --timeout {SECONDS_EACH}
            echo still $(cat /sys/kernel/sched_ext/state)
            kill $!
        """
        outcome = guest.run(script, timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "", outcome.output)
        class_run, _, afterwards = outcome.output.partition("\nthen\n")
        self.assertIn(" successful run completed", class_run)
        self.assertIn(" successful run completed", afterwards)
        self.assertIn("still enabled", outcome.output)


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Stress, by_default=())
