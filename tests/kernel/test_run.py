# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""`ringfence run --target linux` on real kernels, beside the simulator."""

import json
import subprocess
import tempfile
import unittest
from itertools import groupby
from pathlib import Path

import guest_programs
import matrix
from debian import ROOT

SCENARIO = ROOT / "scenarios/linux/activations.toml"
REGULATED = ROOT / "scenarios/linux/regulated.toml"
LONG = ROOT / "scenarios/linux/long-job.toml"
# The thread of its lower gang has waited long then, and its turn comes only later.
WAITING_THREAD, INSTANT_FROM_NS, TURN_NS = 2, 4_800_000_000, 7_000_000_000
# A guest's CPUs are a hundred times slower than a board's, and kernel threads, which come first,
# take as much longer: only the order of things is judged here.
HAND_OVER = "200 ms"
SHORTEST_NS = 10_000_000
# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 900


class Runs(unittest.TestCase):
    kernel = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def run_guest(self, script, **options):
        files = {"/scenario.toml": SCENARIO, "/regulated.toml": REGULATED, "/long.toml": LONG}
        guest = guest_programs.guest(self.kernel, [guest_programs.RINGFENCE], files, **options)
        self.addCleanup(guest.stop)
        outcome = guest.run(script, collect=("/out",), timeout_s=TIMEOUT_S)
        guest.collect(self.folder)
        return outcome

    def activations(self, events):
        """Priorities of the gangs that ran, in order; those whose threads woke only to sleep again left out."""
        lines = map(json.loads, events.read_text(encoding="utf-8").splitlines())
        told = [line["gang-active"] for line in lines if "gang-active" in line]
        lasted = [
            gang["priority"]
            for gang, following in zip(told, [*told[1:], told[-1]], strict=True)
            if gang["priority"] and following["time_ns"] - gang["time_ns"] >= SHORTEST_NS
        ]
        # One that was interrupted counts once.
        return [priority for priority, _ in groupby(lasted)]

    def simulated(self):
        """The events of the simulator."""
        built = guest_programs.build("amd64", "ringfence-cli", "--bin", "ringfence")
        record, events = self.folder / "sim.rfr", self.folder / "sim.jsonl"
        for command in (["run", SCENARIO, "--quiet", "-o", record], ["report", record, "--events", events]):
            subprocess.run([built / "ringfence", *command], check=True, capture_output=True)
        return events

    def test_gangs_run_in_the_order_of_the_simulator(self):
        outcome = self.run_guest(f"""
            mkdir -p /out
            ringfence run --target linux --hand-over "{HAND_OVER}" --quiet -o /out/linux.rfr /scenario.toml >/out/verdict
            echo "exit status $?"
            cat /out/verdict
            ringfence report /out/linux.rfr --events /out/linux.jsonl >/dev/null
        """)
        self.assertEqual(outcome.why_failed, "")
        expected = self.activations(self.simulated())
        self.assertGreater(len(expected), 10)
        self.assertEqual(self.activations(self.folder / "out/linux.jsonl"), expected, outcome.output)
        self.assertIn("exit status 0", outcome.output)

    def test_a_gang_that_waits_long_has_an_instant_that_the_verdict_allows(self):
        outcome = self.run_guest(f"""
            mkdir -p /out
            ringfence run --target linux --hand-over "{HAND_OVER}" --quiet -o /out/linux.rfr /long.toml
            echo "exit status $?"
            ringfence report /out/linux.rfr --events /out/linux.jsonl >/dev/null
        """)
        self.assertIn("exit status 0", outcome.output)
        lines = (self.folder / "out/linux.jsonl").read_text(encoding="utf-8").splitlines()
        starts = [line["thread-on"] for line in map(json.loads, lines) if "thread-on" in line]
        times = [start["time_ns"] for start in starts if start["thread"] == WAITING_THREAD]
        self.assertTrue([time for time in times if INSTANT_FROM_NS < time < TURN_NS], times)

    def test_best_effort_work_is_held_to_what_a_counter_counts(self):
        """QEMU has no counter of traffic: the kernel's clock, and on arm64 the cycle counter, stand in."""
        has_pmu = self.kernel.architecture == "arm64"
        run = f'ringfence run --target linux --hand-over "{HAND_OVER}" --quiet /regulated.toml'
        outcome = self.run_guest(
            f"""
            mkdir -p /out
            for what in time cpu-clock{" cycles" if has_pmu else ""}; do
                {run} --regulate-by $what -o /out/$what.rfr >/dev/null
                echo "$what: exit status $?"
                ringfence report /out/$what.rfr --events /out/$what.jsonl >/dev/null
            done
            {run} --regulate-by raw:0x17 -o /out/x.rfr 2>&1
            {run} --regulate-by {"raw:0x11" if has_pmu else "cycles"} -o /out/x.rfr 2>&1
            """,
            pmu=has_pmu,
        )
        for what in ("time", "cpu-clock", *(["cycles"] if has_pmu else [])):
            self.assertIn(f"{what}: exit status 0", outcome.output)
            lines = (self.folder / f"out/{what}.jsonl").read_text(encoding="utf-8").splitlines()
            events = [next(iter(json.loads(line))) for line in lines]
            # Three CPUs, in most of the 100 periods in which the gang runs.
            self.assertGreater(events.count("throttled"), 150, what)
            remarks = [line for line in lines if "duty cycle" in line]
            self.assertEqual(len(remarks), 1, what)
            self.assertEqual(f"`{what}`" in remarks[0], what != "time")
        refusals = [line for line in outcome.output.splitlines() if "cannot be regulated" in line]
        self.assertEqual(len(refusals), 2, outcome.output)
        self.assertIn("do not move it as they should" if has_pmu else "not on this machine", refusals[1])


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Runs, by_default=guest_programs.RINGFENCE_BY_DEFAULT)
