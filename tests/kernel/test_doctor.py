# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""`ringfence doctor` on real kernels that have sched_ext, freezers of both versions and a PMU."""

import json
import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix

# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 900


class Doctor(unittest.TestCase):
    kernel = None

    def examine(self, script="doctor >/out/found", **options):
        """What the doctor finds, where a script has it write it to a file in /out."""
        programs = [guest_programs.RINGFENCE]
        if "gang_load" in script:
            programs.append(guest_programs.GANG_LOAD)
        guest = guest_programs.guest(self.kernel, programs, **options)
        self.addCleanup(guest.stop)
        doctor = "doctor() { ringfence doctor --quiet --json; }"
        outcome = guest.run(f"set -e\nmkdir /out\n{doctor}\n{script}\n", collect=("/out",), timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "")
        with tempfile.TemporaryDirectory() as folder:
            guest.collect(Path(folder))
            return {path.name: json.loads(path.read_text()) for path in Path(folder, "out").glob("found*")}

    def checks(self, found):
        return {check["name"]: check for check in found["checks"]}

    def test_both_modes_work_and_an_attached_scheduler_is_named(self):
        found = self.examine("""
            doctor >/out/found-alone
            gang_load /out load:hand-overs:1000000 &
            while [ ! -e /out/load/go ]; do sleep 0.05; done
            doctor >/out/found-beside
        """)
        checks = self.checks(found["found-alone"])
        self.assertEqual(checks["sched_ext"]["state"], "usable", checks["sched_ext"])
        self.assertIn("version 2", checks["control groups"]["found"])
        self.assertEqual([mode["works"] for mode in found["found-alone"]["modes"]], [True, True])
        checks = self.checks(found["found-beside"])
        self.assertEqual(checks["sched_ext"]["state"], "unusable")
        self.assertRegex(checks["sched_ext"]["found"], "the scheduler '.+' is attached")
        self.assertEqual([mode["works"] for mode in found["found-beside"]["modes"]], [False, True])

    def test_a_freezer_of_version_1_is_seen_and_a_pmu_that_counts_no_traffic(self):
        # QEMU emulates a PMU for arm64 alone.
        has_pmu = self.kernel.architecture == "arm64"
        found = self.examine(freezer_v1=True, pmu=has_pmu)["found"]
        checks = self.checks(found)
        self.assertEqual(checks["control groups"]["state"], "usable")
        self.assertIn("version 1", checks["control groups"]["found"])
        if not has_pmu:
            return
        events = {event["event"]: event for event in found["pmu_events"]}
        self.assertEqual(events["cycles"]["counts_on"], events["cycles"]["tried_on"], events)
        self.assertNotEqual(events["cycles"]["tried_on"], "")
        self.assertEqual(checks["PMU events"]["state"], "limited", checks["PMU events"])
        self.assertEqual(found["modes"][0]["regulation"], {"by": "duty_cycle"})


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Doctor, by_default=guest_programs.RINGFENCE_BY_DEFAULT)
