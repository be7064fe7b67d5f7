# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""`ringfence enforce`, `exec` and `join` on real kernels: shells as members of gangs."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix
from debian import ROOT
from test_gangs import CHECK, TRACE

SCENARIO = ROOT / "scenarios/linux/activations.toml"
JOBS = Path(__file__).resolve().parent / "job_api.c"
TIMEOUT_S = 500
# Gang of each shell; the last one joins while it runs.
PRIORITIES = {"tau1": 30, "tau2": 20, "tau3": 10}
SHELLS = {"first": "tau1", "second": "tau1", "third": "tau2", "fourth": "tau3", "later": "tau2"}

SCRIPT = TRACE + """
    mkdir -p /out
    ringfence enforce /scenario.toml 2>/out/enforce &
    enforcer=$!
    while [ ! -e /run/ringfence/enforced.json ]; do sleep 0.05; done
    if ringfence enforce /scenario.toml; then exit 1; fi

    # Works and sleeps in turns, for so many microseconds; each sleep is a process of its own. The higher
    # its gang the longer it sleeps: starting a process takes long here, and the lowest is to have a turn.
    cat >/bin/job <<'END'
#!/bin/sh
        echo $$ >/out/$1.part
        mv /out/$1.part /out/$1
        while [ ! -e /out/stop ]; do
            i=0; while [ $i -lt 40 ]; do i=$((i+1)); done
            usleep $2
        done
END
    chmod +x /bin/job
    for hog in 1 2 3 4; do
        sh -c 'while [ ! -e /out/stop ]; do :; done' &
    done
    ringfence exec --gang tau1 -- job first 200000 &
    ringfence exec --gang tau1 --cores 1-2 -- job second 200000 &
    ringfence exec --gang tau2 -- job third 100000 &
    ringfence exec --gang tau3 -- job fourth 20000 &
    job later 100000 &
    for name in first second third fourth later; do
        while [ ! -e /out/$name ]; do sleep 0.05; done
    done
    ringfence join --gang tau2 $(cat /out/later)
    echo >$tracing/trace
    echo 1 >$tracing/tracing_on
    ringfence top --json --interval 200ms >/out/top &
    top=$!
    sleep 4
    kill $top
    echo 0 >$tracing/tracing_on
    cat $tracing/trace >/out/trace
    ringfence join --none $(cat /out/later) $(cat /out/third)
    if ringfence exec --gang tau9 -- true; then exit 1; fi
    if ringfence exec --gang tau1 --cores 4 -- true; then exit 1; fi
    if ringfence exec --gang tau1 -- /no/such/program; then exit 1; fi
    touch /out/stop
    kill -9 $enforcer
    while [ "$(cat /sys/kernel/sched_ext/state)" != disabled ]; do sleep 0.05; done
    if ringfence exec --gang tau1 -- true; then exit 1; fi
    if ringfence top --once; then exit 1; fi
    # What one that was killed left behind is in nobody's way.
    ringfence enforce /scenario.toml &
    enforcer=$!
    while ! ringfence exec --gang tau1 -- echo a member again; do sleep 0.1; done
    kill $enforcer
    wait $enforcer
    ls /run/ringfence /sys/fs/bpf
"""

JOBS_SCRIPT = """
    ringfence enforce /scenario.toml 2>/out/enforce &
    while [ ! -e /run/ringfence/enforced.json ]; do sleep 0.05; done
    look() { sleep 0.5; ringfence top --json --once; }
    echo "before: $(look)"
    job_api 2
    echo "outside: $(look)"
    ringfence exec --gang tau1 -- job_api 2
    echo "exec: $(look)"
    ringfence exec --gang tau1 -- job_api 4 tau3
    echo "joined: $(look)"
    ringfence exec --gang tau1 -- job_api 1 tau9
    cat /out/enforce
"""


class Enforces(unittest.TestCase):
    kernel = None

    def test_programs_tell_of_their_jobs_and_choose_gangs(self):
        """As users who may nothing, on the log that `exec` hands to them."""
        with tempfile.TemporaryDirectory() as folder:
            job_api = guest_programs.compile_c(self.kernel.architecture, JOBS, Path(folder))
            files = {"/scenario.toml": SCENARIO, "/bin/job_api": job_api}
            guest = guest_programs.guest(self.kernel, [guest_programs.RINGFENCE], files)
            self.addCleanup(guest.stop)
            outcome = guest.run("mkdir /out\n" + JOBS_SCRIPT, timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "")
        told = {}
        for line in outcome.output.splitlines():
            when, _, text = line.partition(": {")
            if text:
                told[when] = [(gang["jobs"], gang["deadline_misses"]) for gang in json.loads("{" + text)["gangs"]]
        none, some = (None, None), (30, 3)
        expected = {
            "before": [none, none, none],
            "outside": [none, none, none],
            "exec": [some, none, none],
            "joined": [some, none, some],
        }
        self.assertEqual(told, expected, outcome.output)
        # Two without a log, two in their own gang, four in another one; ENOENT.
        self.assertEqual(outcome.output.count("registered: 0, joined: 0"), 8, outcome.output)
        self.assertEqual(outcome.output.count("registered: 0, joined: 2"), 1)
        self.assertNotIn("lost", outcome.output)

    def test_programs_are_put_into_gangs(self):
        files = {"/scenario.toml": SCENARIO}
        guest = guest_programs.guest(self.kernel, [guest_programs.RINGFENCE], files)
        self.addCleanup(guest.stop)
        outcome = guest.run(SCRIPT, collect=("/out",), timeout_s=TIMEOUT_S)
        self.assertEqual(outcome.why_failed, "")
        for line in (
            "ringfence is already at work here: ringfence enforce",
            "found no gang `tau9`",
            "--cores: found core 4",
            "/no/such/program: No such file",
            "no gangs are scheduled on this machine now",
            "nothing is enforced on this machine now",
            "a member again",
        ):
            self.assertIn(line, outcome.output)
        self.assertNotIn("enforced.json", outcome.output)
        self.assertNotIn("live.json", outcome.output)
        self.assertNotIn("ringfence-members", outcome.output)
        self.assertNotIn("ringfence-groups", outcome.output)
        with tempfile.TemporaryDirectory() as folder:
            guest.collect(Path(folder))
            self.judge(Path(folder) / "out")
            self.judge_what_was_seen(Path(folder) / "out/top")

    def judge(self, folder):
        gangs = [
            {
                "name": gang,
                "partition": "machine",
                "priority": priority,
                "members": [
                    {"pids": [int((folder / shell).read_text())]} | ({"cpus": "1-2"} if shell == "second" else {})
                    for shell, of in SHELLS.items()
                    if of == gang
                ],
            }
            for gang, priority in PRIORITIES.items()
        ]
        assignment = {"partitions": [{"name": "machine", "cpus": "0-3"}], "gangs": gangs}
        (folder / "gangs.json").write_text(json.dumps(assignment))
        options = ["--in-flight-us", "1000000", "--hand-overs-at-least", "20"]
        command = [sys.executable, CHECK, "--gangs", folder / "gangs.json", *options, folder / "trace"]
        judged = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(judged.returncode, 0, judged.stdout[:4000] + judged.stderr)

    def judge_what_was_seen(self, path):
        """`ringfence top` reads the scheduler's maps: each look is of one instant."""
        seen = [json.loads(line) for line in path.read_text().splitlines()]
        self.assertTrue(seen)
        active = set()
        for look in seen:
            self.assertEqual(look["mode"], "sched-ext")
            self.assertEqual({gang["name"]: gang["priority"] for gang in look["gangs"]}, PRIORITIES)
            self.assertEqual([gang["jobs"] for gang in look["gangs"]], [None] * len(PRIORITIES))
            (partition,) = look["partitions"]
            self.assertEqual(partition["cpus"], [0, 1, 2, 3])
            active |= set(partition["active_gangs"])
            for cpu in look["cpus"]:
                self.assertIn(cpu["held_by"], ([], partition["active_gangs"]))
            # Whoever holds a CPU, and nobody else, is active.
            holders = {gang for cpu in look["cpus"] for gang in cpu["held_by"]}
            self.assertEqual(holders, set(partition["active_gangs"]))
        self.assertTrue(active & set(PRIORITIES), seen)
        for before, after in zip(seen[0]["gangs"], seen[-1]["gangs"], strict=True):
            self.assertGreater(after["active_ns"], before["active_ns"], after["name"])


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Enforces, by_default=guest_programs.RINGFENCE_BY_DEFAULT)
