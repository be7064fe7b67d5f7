# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The guest, booted: what it is given is there, and what goes wrong in it is seen."""

import hashlib
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import guest_programs
import matrix
from debian import ROOT
from guest import Guest, GuestError

CYCLES = Path(__file__).resolve().parent / "cycles.c"
# Room for a busy machine; nothing here waits for it but a guest that hangs.
TIMEOUT_S = 300


class Boots(unittest.TestCase):
    kernel = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def guest(self, **options):
        guest = Guest(self.kernel, **{"memory_mib": 512} | options)
        self.addCleanup(guest.stop)
        return guest

    def run_in(self, guest, script, **options):
        return guest.run(script, **{"timeout_s": TIMEOUT_S} | options)

    def cycles(self):
        """The program that counts cycles, compiled for the guest."""
        return guest_programs.compile_c(self.kernel.architecture, CYCLES, self.folder)

    def test_gives_what_was_asked_for(self):
        content = bytes(range(256)) * 4096 + os.urandom(12345)
        (self.folder / "tree/deep").mkdir(parents=True)
        (self.folder / "tree/deep/bytes").write_bytes(content)
        files = {"/given": self.folder / "tree"}
        guest = self.guest(cpus=3, files=files, sysctl={"kernel.sched_rr_timeslice_ms": 7}, hostname="bench")
        script = """
            set -e
            nproc; hostname; cat /proc/sys/kernel/sched_rr_timeslice_ms; cat /sys/kernel/sched_ext/state
            mkdir -p /out/copy; cp /given/deep/bytes /out/copy
            dd if=/dev/urandom of=/out/large bs=1M count=8 2>/dev/null; sha256sum </out/large
            echo to standard error >&2
            # Left running. If it sees the end of the script it has half of the packing's time to say so.
            dd if=/dev/zero of=/out/zeros bs=1M count=128 2>/dev/null
            (until dmesg | grep -q 'the script ended'; do sleep 0.05; done; echo still alive) &
        """
        outcome = self.run_in(guest, script, collect=["/out", "/proc/version"])
        self.assertEqual(outcome.why_failed, "")
        guest.collect(self.folder / "back")
        self.assertNotIn("still alive", outcome.output)
        *lines, digest, error = outcome.output.splitlines()
        self.assertEqual(lines, ["3", "bench", "7", "disabled"])
        self.assertEqual(error, "to standard error")
        self.assertEqual((self.folder / "back/out/copy/bytes").read_bytes(), content)
        large = (self.folder / "back/out/large").read_bytes()
        self.assertEqual(digest.split()[0], hashlib.sha256(large).hexdigest())

    def test_mounts_and_hot_plugs(self):
        script = """
            set -e
            cat /sys/class/net/lo/flags; df /dev/shm | awk 'NR == 2 {print $1}'
            for type in proc sysfs devtmpfs devpts debugfs tracefs bpf cgroup2 cgroup; do
                awk -v type=$type '$3 == type {print $3, $2; exit}' /proc/mounts
            done
            mkdir /sys/fs/cgroup/freezer/one
            sleep 1000 & echo $! >/sys/fs/cgroup/freezer/one/cgroup.procs
            echo FROZEN >/sys/fs/cgroup/freezer/one/freezer.state; cat /sys/fs/cgroup/freezer/one/freezer.state
            for cpu in 1 2 3; do echo 0 >/sys/devices/system/cpu/cpu$cpu/online; done
            nproc; cat /sys/devices/system/cpu/online
            for cpu in 3 1; do echo 1 >/sys/devices/system/cpu/cpu$cpu/online; done
            nproc; cat /sys/devices/system/cpu/online
        """
        outcome = self.run_in(self.guest(cpus=4, freezer_v1=True), script)
        self.assertEqual(outcome.why_failed, "")
        mounts = [
            "proc /proc", "sysfs /sys", "devtmpfs /dev", "devpts /dev/pts", "debugfs /sys/kernel/debug",
            "tracefs /sys/kernel/tracing", "bpf /sys/fs/bpf", "cgroup2 /sys/fs/cgroup/unified",
            "cgroup /sys/fs/cgroup/freezer",
        ]
        self.assertEqual(outcome.output.splitlines(), ["0x9", "tmpfs", *mounts, "FROZEN", "1", "0", "3", "0-1,3"])

    def test_counts_cycles_where_there_is_a_counter(self):
        has_pmu = self.kernel.architecture == "arm64"
        if not has_pmu:
            with self.assertRaisesRegex(GuestError, "arm64 alone"):
                self.guest(pmu=True)
        files = {"/bin/cycles": self.cycles()}
        for pmu in (False, True) if has_pmu else (False,):
            outcome = self.run_in(self.guest(cpus=1, files=files, pmu=pmu), "cycles")
            self.assertEqual(outcome.why_failed, "")
            if pmu:
                self.assertRegex(outcome.output, r"^cycles [1-9]\d{5,}\n$")
            else:
                self.assertEqual(outcome.output, "no counter: No such file or directory\n")

    def test_sees_an_exit_status_and_a_warning(self):
        script = "echo 'WARNING: first' >/dev/kmsg; echo 'WARNING: known' >/dev/kmsg; echo before; exit 3"
        guest = self.guest(cpus=1, allow=["known$"])
        outcome = self.run_in(guest, script, collect=["/nothing"])
        self.assertEqual(outcome.exit_status, 3)
        self.assertEqual([line.split("] ")[1] for line in outcome.failures], ["WARNING: first"])
        self.assertIn("exit status 3", outcome.why_failed)
        self.assertEqual(outcome.output, "before\n")
        (self.folder / "nothing").touch()  # of an earlier run
        with self.assertRaisesRegex(GuestError, "no /nothing"):
            guest.collect(self.folder)

    def test_sees_a_setting_that_cannot_be(self):
        outcome = self.run_in(self.guest(cpus=1, sysctl={"kernel.nonsense": 1}), "echo started")
        self.assertIn("the guest ended before the script did", outcome.why_failed)
        self.assertRegex(outcome.why_failed, r"\[ *\d+\.\d+\] .*/proc/sys/kernel/nonsense")
        self.assertEqual(outcome.output, "")

    def test_sees_a_panic(self):
        outcome = self.run_in(self.guest(cpus=2), "echo before; echo c >/proc/sysrq-trigger; echo after; sleep 1000")
        self.assertIsNone(outcome.exit_status)
        self.assertFalse(outcome.timed_out)
        self.assertEqual(outcome.output, "before\n")
        self.assertRegex(outcome.why_failed, "Kernel panic - not syncing: sysrq triggered crash")

    def test_kills_a_guest_that_hangs(self):
        guest = self.guest(cpus=1)
        outcome = self.run_in(guest, "sleep 100000", timeout_s=1)
        self.assertTrue(outcome.timed_out)
        self.assertIsNone(outcome.exit_status)
        self.assertIn("killed after", outcome.why_failed)
        self.assertFalse(guest.is_running)


class Command(unittest.TestCase):
    """tests/kernel/boot"""

    kernel = None

    def test_runs_a_script_and_collects(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script"
            script.write_text("cat /proc/version; cp /bin/given /kept; exit 5", encoding="utf-8")
            command = [ROOT / "tests/kernel/boot", "--arch", self.kernel.architecture, "--kernel", self.kernel.version]
            command += ["--cpus", "1", "--memory", "512", "--script", script, "--file", f"{script}:/bin/given"]
            command += ["--collect", "/kept", "--into", Path(folder) / "back", "--timeout", str(TIMEOUT_S)]
            finished = subprocess.run(command, capture_output=True, text=True, check=False)
            self.assertEqual(finished.returncode, 5, finished.stderr)
            self.assertIn(f"Linux version {self.kernel.version}", finished.stdout)
            self.assertEqual((Path(folder) / "back/kept").read_bytes(), script.read_bytes())


def load_tests(loader, _tests, _pattern):
    return matrix.on_kernels(loader, Boots, Command)


if __name__ == "__main__":
    unittest.main()
