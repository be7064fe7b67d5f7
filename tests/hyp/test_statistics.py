# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Guests read what their reservations gave and took, as exact as they count it themselves."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from machine import ROOT, Machine

MANAGER = 0x48000000
BUDGET, PERIOD_NS = 200, 100_000  # of hyp/config/manager.c
WATCH = 4
LOOK = 3 + 256  # of the writer's attacks: at one page
LINE = (
    r"VM (?P<vm>\d+) vCPU (?P<vcpu>\d+): period (?P<period>\d+) of (?P<period_ns>\d+) ns, budget (?P<budget>\d+), "
    r"share (?P<share>\d+), used (?P<used>\d+), overruns (?P<overruns>\d+), refills (?P<refills>\d+), "
    r"throttles (?P<throttles>\d+), throttled (?P<throttled_ns>\d+) ns, "
    r"lent (?P<lent>\d+), borrowed (?P<borrowed>\d+)$"
)


def statistics(console):
    found = re.finditer(LINE, console, re.MULTILINE)
    return [{name: int(value) for name, value in line.groupdict().items()} for line in found]


def totals(console):
    """Lines that each vCPU of the writer has written, as it says itself."""
    return [int(lines) for lines in re.findall(r"^\[writer\] (\d+) lines by vCPU", console, re.MULTILINE)]


class Statistics(unittest.TestCase):
    def run_machine(self, config, settings):
        machine = Machine(config, settings)
        self.addCleanup(machine.close)
        machine.with_guest("writer")
        return (machine.with_guest("manager", MANAGER) if config == "manager" else machine).run()

    def test_a_vm_reads_its_own(self):
        """How long it stood still, too: to a clock read and a half for each time."""
        periods = 20
        console = self.run_machine("writers", {"VCPUS": 1, "BUDGET": 60, "PERIODS": periods, "ATTACK": LOOK})
        (line,) = statistics(console)
        self.assertEqual([line["used"]], totals(console))
        self.assertEqual(line["used"], 60 * periods + 1, "one more to see that it is over")
        self.assertEqual((line["budget"], line["share"], line["period_ns"]), (60, 60, 100_000))
        self.assertEqual((line["overruns"], line["throttles"]), (0, periods))
        still_ns = int(re.search(r"stood still for (\d+) ns", console)[1])
        self.assertLess(abs(still_ns - line["throttled_ns"]), periods * 1500, console)

    def test_another_vm_reads_them_while_they_change_and_afterwards(self):
        console = self.run_machine("manager", {"DEED": WATCH, "VCPUS": 3, "SLOTS": 300})
        lines = statistics(console)
        self.assertEqual([line["vm"] for line in lines], [0] * 12 + [1])
        shares = [66, 67, 67]
        for line in lines[:12]:
            self.assertEqual((line["period_ns"], line["budget"], line["overruns"]), (PERIOD_NS, BUDGET, 0))
            self.assertEqual(line["share"], shares[line["vcpu"]])
        for line in lines[:9]:
            # Each line is of one time: all throttled periods were used up to the event.
            self.assertEqual(line["used"], line["throttles"] * line["share"], line)
            self.assertLess(line["throttled_ns"], line["throttles"] * PERIOD_NS)
        times = [int(at) for at in re.findall(r"^\[manager\] at (\d+)$", console, re.MULTILINE)]
        self.assertEqual([line["period"] for line in lines[:9:3]], [at // PERIOD_NS for at in times])
        self.assertEqual([line["used"] for line in lines[9:12]], totals(console), console)
        self.assertEqual({lines[12][name] for name in LINE_OF_NO_RESERVATION}, {0})


class OfScenario(unittest.TestCase):
    def test_a_scenario_gives_pages_of_statistics(self):
        """scenarios/hyp/statistics.toml: a manager watches a writer, and itself, and each sees what is so."""
        ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not ringfence.exists():
            self.skipTest(f"{ringfence} is not built; `make built` does it")
        machine = Machine("manager")
        self.addCleanup(machine.close)
        command = [ringfence, "run", "--target", "hyp", "-q", "-o", "statistics.rfr"]
        ran = subprocess.run(
            [*command, ROOT / "scenarios/hyp/statistics.toml"],
            cwd=machine.folder, capture_output=True, text=True, check=False,
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        console = (machine.folder / "statistics.rfr.console").read_text(encoding="utf-8").replace("reserved: ", "")
        lines = statistics(console)
        self.assertEqual([(line["vm"], line["vcpu"]) for line in lines[-4:]], [(0, 0), (0, 1), (0, 2), (1, 0)])
        self.assertEqual([line["used"] for line in lines[-4:-1]], totals(console), console)
        self.assertEqual([line["share"] for line in lines[-4:-1]], [66, 67, 67])
        self.assertEqual({lines[-1][name] for name in LINE_OF_NO_RESERVATION}, {0})


LINE_OF_NO_RESERVATION = ("period", "period_ns", "budget", "share", "used", "refills", "throttles", "throttled_ns")

if __name__ == "__main__":
    unittest.main()
