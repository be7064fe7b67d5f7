# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The units for systemd (packaging/systemd), on a machine that systemd boots."""

import tempfile
import unittest
from pathlib import Path

import debian
import guest
import guest_programs
import matrix
from debian import ROOT
from test_enforce import SCENARIO

UNITS = ROOT / "packaging/systemd"
JOBS = Path(__file__).resolve().parent / "job_api.c"
# Runs the script when all else has been started, as the last of a boot.
HARNESS = """
[Unit]
Wants=multi-user.target
After=multi-user.target

[Service]
Type=oneshot
Environment=PATH=/bin:/sbin:/usr/bin:/usr/sbin:/usr/local/bin
ExecStart=/bin/sh /harness/run
"""
ENABLE = "SYSTEMD_OFFLINE=1 systemctl enable ringfence.service ringfence-metrics.service slam.service"
TIMEOUT_S = 600

SCRIPT = """
    set -e
    # wait_for TEXT COMMAND...: until its output has the text.
    wait_for() {
        text=$1
        shift
        tries=0
        while ! "$@" 2>&1 | grep -q "$text"; do
            tries=$((tries + 1))
            if [ $tries -gt 300 ]; then
                echo "FAILED: no $text in the output of $*"
                "$@"
                systemctl --no-pager --full status ringfence slam ringfence-metrics
                exit 1
            fi
            sleep 0.2
        done
    }
    metrics() { wget -q -O - http://127.0.0.1:9477/metrics; }
    pid() { systemctl show --property MainPID --value $1; }

    wait_for "^active$" systemctl is-active ringfence
    wait_for "^active$" systemctl is-active slam
    wait_for "^ringfence_up 1" metrics
    wait_for 'ringfence_gang_jobs_total{gang="tau1".* [1-9]' metrics
    # It did not begin before gangs were kept apart.
    wait_for "^0$" systemctl show --property NRestarts --value slam
    echo "booted: enforced, and its program tells of jobs"

    before=$(pid ringfence)
    program=$(pid slam)
    kill -9 $before
    is_another() { new=$(pid $1); [ $new = $2 ] || [ $new = 0 ] || echo another; }
    wait_for another is_another ringfence $before
    wait_for another is_another slam $program
    wait_for 'ringfence_gang_jobs_total{gang="tau1".* [1-9]' metrics
    echo "killed: both came back"

    systemctl stop ringfence
    wait_for "^inactive$" systemctl is-active slam
    wait_for "^ringfence_up 0" metrics
    grep -q disabled /sys/kernel/sched_ext/state
    echo "stopped: its program, too"

    systemctl start ringfence
    wait_for 'ringfence_gang_jobs_total{gang="tau1".* [1-9]' metrics
    echo "started: its program, too"
"""
EXPECTED = (
    "booted: enforced, and its program tells of jobs",
    "killed: both came back",
    "stopped: its program, too",
    "started: its program, too",
)


def systemd(architecture):
    """Its programs, what they need and the targets of a boot, by path in the guest."""
    root = debian.unpacked(architecture, "systemd")
    found = {f"/bin/{name}": debian.program(root, name) for name in ("systemctl",)}
    for pattern in ("lib/systemd/systemd", "lib/systemd/systemd-executor", "lib/systemd/system/*.target"):
        found |= {f"/{path.relative_to(root)}": path for path in root.glob(pattern) if path.is_file()}
    # Where the loader finds them without a run path.
    found |= {f"/lib/{path.name}": path for path in root.glob("usr/lib/*/systemd/libsystemd-*.so")}
    return found


class Units(unittest.TestCase):
    kernel = None

    def test_gangs_are_kept_apart_from_the_boot_on(self):
        with tempfile.TemporaryDirectory() as folder:
            units, prepare = Path(folder) / "units", Path(folder) / "prepare"
            self.install(units)
            prepare.write_text(ENABLE)
            built = guest_programs.build(self.kernel.architecture, *guest_programs.RINGFENCE)
            files = systemd(self.kernel.architecture) | {
                "/etc/ringfence/scenario.toml": SCENARIO,
                "/usr/local/bin/ringfence": built / "ringfence",
                "/usr/local/bin/slam": guest_programs.compile_c(self.kernel.architecture, JOBS, Path(folder)),
                "/etc/systemd/system": units,
                "/harness/prepare": prepare,
            }
            machine = guest.Guest(
                self.kernel,
                files=files,
                library_packages=("systemd", *guest_programs.LIBRARIES),
                kernel_arguments=("systemd.unit=harness.service",),
                init=guest.HERE / "init-systemd",
            )
            self.addCleanup(machine.stop)
            outcome = machine.run(SCRIPT, timeout_s=TIMEOUT_S)
        self.assertFalse(outcome.why_failed, outcome.why_failed)
        for line in EXPECTED:
            self.assertIn(line, outcome.output)

    def install(self, folder):
        """The units as docs/src/live.md installs them, the example with a gang of the scenario."""
        folder.mkdir()
        (folder / "harness.service").write_text(HARNESS)
        for unit in UNITS.glob("*.service"):
            text = unit.read_text(encoding="utf-8").replace("--gang slam", "--gang tau1")
            text = text.replace("/usr/local/bin/slam\n", "/usr/local/bin/slam 2 - endless\n")
            (folder / unit.name).write_text(text, encoding="utf-8")


def load_tests(loader, tests, pattern):
    return matrix.on_kernels(loader, Units, by_default=guest_programs.RINGFENCE_BY_DEFAULT)
