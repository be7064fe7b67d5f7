# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Random schedules: legal ones hold, faulty ones are caught, and the oracle agrees.

SCHED_TRACE_SEEDS: how many schedules of each kind (6). The oracle looks at 7 kinds.
"""

import os
import random
import unittest

import harness
import inject
import oracle
from generator import BOUND_NS, FAULT_NS, US, Machine
from writers import FORMATS, START_S, text_of, unit_ns

SEEDS = range(int(os.environ.get("SCHED_TRACE_SEEDS", "6")))
FAULTS = ["overlap", "beside", "run-on", "blocked", "left-out", "idle"]
DURATION_NS = 30_000 * US


def bounds(bound_ns):
    """Options that bound everything that is not bounded anyway."""
    us = str(bound_ns / US)
    return ["--hand-over-us", us, "--blocked-us", us, "--idle-us", us]


def machine(seed, form, **more):
    """A random machine, whose times a format can show."""
    made = Machine(
        seed,
        cpus=2 + seed % 4,
        partitions=1 + seed % 2,
        gangs=2 + seed % 4,
        unit_ns=unit_ns(form),
        **more,
    )
    made.run(DURATION_NS)
    return made


class Legal(unittest.TestCase):
    def test_legal_schedules_hold_in_every_format(self):
        for seed in SEEDS:
            for form in FORMATS:
                with self.subTest(seed=seed, form=form):
                    made = machine(seed, form)
                    status, table = harness.judge(
                        text_of(made.events, form), made.assignment(), *bounds(BOUND_NS)
                    )
                    self.assertEqual((status, table["reasons"]), (0, []))
                    self.assertEqual(table["missing"]["counts"]["lost"], 0)

    def test_formats_of_one_schedule_tell_the_same(self):
        for seed in SEEDS:
            made = machine(seed, "tracefs")
            told = {}
            for form in ["tracefs", "trace-cmd", "trace-cmd -t", "trace-cmd -l", "trace-cmd -R"]:
                _, table = harness.judge(text_of(made.events, form), made.assignment())
                told[form] = (table["partitions"], [rule["measured"] for rule in table["rules"]])
            for form, what in told.items():
                with self.subTest(seed=seed, form=form):
                    self.assertEqual(what, told["tracefs"])

    def test_a_share_limit_excuses_what_it_should(self):
        # Every time that it strikes, gangs stand back for longer than the bound.
        for seed in SEEDS:
            with self.subTest(seed=seed):
                made = machine(seed, "perf --ns", share=(3000 * US, 5000 * US))
                text, gangs = text_of(made.events, "perf --ns"), made.assignment()
                held, _ = harness.judge(text, gangs, *bounds(BOUND_NS), "--share", "3000/5000")
                self.assertEqual(held, 0)

    def test_without_the_share_limit_standing_back_is_a_finding(self):
        made = machine(2, "tracefs", share=(3000 * US, 5000 * US))
        status, table = harness.judge(
            text_of(made.events, "tracefs"), made.assignment(), *bounds(BOUND_NS)
        )
        self.assertEqual((status, harness.found(table)), (2, {"blocked"}))

    def test_a_smaller_share_than_the_real_one_excuses_less(self):
        made = machine(2, "tracefs", share=(3000 * US, 5000 * US))
        text, gangs = text_of(made.events, "tracefs"), made.assignment()
        status, _ = harness.judge(text, gangs, *bounds(BOUND_NS), "--share", "4000/5000")
        self.assertEqual(status, 2)


class AgainstTheOracle(unittest.TestCase):
    def test_the_same_findings(self):
        compared = 0
        for seed in SEEDS:
            for fault in [None, *FAULTS]:
                # Coarse units make many events of one time; small bounds make many findings.
                unit, bound_ns = [1, US, 10 * US][seed % 3], [15 * US, 5 * US, BOUND_NS][seed % 3]
                made = Machine(
                    seed,
                    cpus=2 + seed % 4,
                    partitions=1 + seed % 2,
                    gangs=1 + seed % 5,
                    unit_ns=unit,
                    fault=fault,
                )
                made.run(DURATION_NS)
                _, table = harness.judge(
                    text_of(made.events, "trace-cmd -t"), made.assignment(), *bounds(bound_ns)
                )
                found = sorted(
                    (one["rule"], _ns(one["from_s"]), _ns(one["to_s"])) for one in table["findings"]
                )
                expected = oracle.findings(made, bound_ns)
                compared += len(expected)
                with self.subTest(seed=seed, fault=fault):
                    self.assertEqual(found, expected)
        self.assertGreater(compared, 50 * len(SEEDS))


def _ns(seconds):
    whole, fraction = seconds.split(".")
    return (int(whole) - START_S) * 10**9 + int(fraction)


class Faulty(unittest.TestCase):
    """Schedules with one fault, which the oracle says breaks the rule."""

    RULES = {
        "overlap": "one-gang",
        "beside": "start",
        "run-on": "run-on",
        "blocked": "blocked",
        "left-out": "left-out",
        "idle": "idle",
    }

    def test_each_fault_is_caught_in_every_format(self):
        for fault, rule in self.RULES.items():
            for form in FORMATS:
                made = self._broken(fault, rule, form)
                with self.subTest(fault=fault, form=form):
                    status, table = harness.judge(
                        text_of(made.events, form), made.assignment(), *bounds(BOUND_NS)
                    )
                    self.assertEqual(status, 2)
                    self.assertIn(rule, harness.found(table))

    def _broken(self, fault, rule, form):
        for seed in range(100):
            made = machine(seed, form, fault=fault)
            if any(name == rule for name, _, _ in oracle.findings(made, BOUND_NS)):
                return made
        self.fail(f"no schedule with fault {fault}")

    def test_an_overlap_of_the_shortest_time_is_caught_in_every_format(self):
        for seed in SEEDS:
            for form in FORMATS:
                unit = unit_ns(form)
                for units in (0, 1, 7):
                    made, events = self._extended(seed, form, units * unit)
                    with self.subTest(seed=seed, form=form, units=units):
                        status, table = harness.judge(text_of(events, form), made.assignment())
                        overlaps = [
                            _ns(one["to_s"]) - _ns(one["from_s"])
                            for one in table["findings"]
                            if one["rule"] == "one-gang"
                        ]
                        self.assertEqual(
                            (status, overlaps), (2, [units * unit]) if units else (0, [])
                        )

    def _extended(self, seed, form, by_ns):
        """The first schedule from that seed on that has such a hand-over."""
        for later in range(seed, seed + 100):
            made = machine(later, form)
            events = inject.extend(made, by_ns, DURATION_NS // 3)
            if events:
                return made, events
        self.fail("no schedule with such a hand-over")

    def test_an_overlap_within_its_bound_is_measured_only(self):
        made, events = self._extended(1, "perf --ns", 700)
        text, late = text_of(events, "perf --ns"), ["--late-start-us", "0.7"]
        self.assertEqual(harness.judge(text, made.assignment(), "--overlap-us", "0.7", *late)[0], 0)
        self.assertEqual(
            harness.judge(text, made.assignment(), "--overlap-us", "0.699", *late)[0], 2
        )

    def test_a_dropped_switch_is_caught_in_every_format(self):
        for seed in SEEDS:
            for form in FORMATS:
                made, draw = machine(seed, form), random.Random(seed)
                for _ in range(5):
                    events = inject.drop_switch(made, draw, DURATION_NS // 3)
                    status, table = harness.judge(text_of(events, form), made.assignment())
                    with self.subTest(seed=seed, form=form):
                        self.assertEqual((status, table["verdict"]), (1, "not proved"))
                        self.assertGreater(table["missing"]["counts"]["lost"], 0)

    def test_lost_events_prove_nothing_and_accuse_nobody(self):
        for seed in SEEDS:
            for form in FORMATS:
                made, draw = machine(seed, form), random.Random(seed)
                for _ in range(5):
                    text = text_of(inject.lose(made, draw), form)
                    with self.subTest(seed=seed, form=form):
                        status, table = harness.judge(text, made.assignment(), *bounds(BOUND_NS))
                        self.assertEqual((status, table["verdict"]), (1, "not proved"))
                        self.assertGreater(table["missing"]["counts"]["lost"], 0)
                        allowed = ["--allow", "lost", "--allow", "unwoken"]
                        self.assertEqual(harness.judge(text, made.assignment(), *allowed)[0], 0)

    def test_a_fault_is_still_caught_when_events_are_lost_elsewhere(self):
        made, made.events = self._extended(2, "tracefs", 7 * US)
        text = text_of(inject.lose(made, random.Random(1)), "tracefs")
        self.assertEqual(harness.judge(text, made.assignment())[0], 2)

    def test_the_fault_of_the_generator_is_as_long_as_it_says(self):
        self.assertGreater(FAULT_NS, 2 * BOUND_NS)


if __name__ == "__main__":
    unittest.main()
