#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Measures how late a guest's timer interrupt is, with and without reservations, and writes the page."""

import re
from dataclasses import dataclass

from machine import ROOT, Machine

PAGE = ROOT / "docs/src/results/hyp-latency.md"
WAITER = 0x48000000
# As hyp/config/latency.c has them; the neighbours' periods end behind the last sample, and before the waiter prints.
SAMPLES, PERIOD_NS, NEIGHBOUR_PERIODS = 300, 100_000, 430
NEVER_USED_UP, USED_UP = 100_000, 30
NEIGHBOUR_BUDGETS = (30, 300)
TEXT = """# How late a guest's interrupts are

Written by `make hyp-latency`; do not edit. A bare-metal guest sets its virtual timer {samples} times, in as many
places of a period of {period_us:.0f} us, and its handler reads the clock first of all: the latency is from the time
that the timer was set for to that reading. It includes the exception to EL2, the hypervisor's work, the exception to
the guest, and the guest's own saving of registers. Beside it, a writer on three cores writes for as long.

**Instructions are not time**: QEMU's clock advances by 1 ns with each instruction, of any core, and is read in
steps of {tick_ns:.0f} ns. All cores share it, one after the other. So that no core's turn is longer than a
line, the writers let others go first after each; what is left of their turns is in these figures, up to
a line and a refill of each writer. On a chip cores run side by side. Nothing here was measured on a board.

| the guest | its neighbour | min, ns | median, ns | p99, ns | max, ns |
|---|---|--:|--:|--:|--:|
{rows}

- **Without a reservation** there is one path: nothing of a neighbour's reservation runs on the guest's core.
- **With one that it does not use up**, an interrupt that comes together with the refill waits for it.
- **Throttled**, the guest writes its {used_up} lines at the begin of each period and stands still until the
  next one. Its interrupts are kept for it until then: late by less than a period and an unthrottled latency.
  A critical VM whose interrupts must not wait needs a budget that it does not use up, or none.

The neighbour's lines are exactly its budget in each of {neighbour_periods} periods, in all rows where it has one.
Each machine ran twice and printed the same bytes.
"""


class Wrong(Exception):
    """A run that cannot be believed: its neighbour was disturbed, or a second run differs."""


@dataclass
class Waited:
    """Latencies in the order in which they were measured, in ticks of the clock."""

    ticks: list
    tick_ns: float

    def ns(self, share):
        """The latency that this share of all is not above."""
        ordered = sorted(self.ticks)
        return ordered[max(0, -(-len(ordered) * share // 100) - 1)] * self.tick_ns

    def max_ns(self):
        return self.ns(100)


def wait(*, budget=0, writes=False, neighbours=3, neighbour_budget=0, runs=1):
    """Runs the waiter, and looks whether its neighbour got what it has."""
    settings = {"BUDGET": budget, "WRITES": int(writes), "NEIGHBOURS": neighbours, "NEIGHBOUR_BUDGET": neighbour_budget}
    machine = Machine("latency", settings).with_guest("waiter", WAITER).with_guest("writer")
    try:
        consoles = {machine.run() for _ in range(runs)}
    finally:
        machine.close()
    if len(consoles) != 1:
        raise Wrong(f"{settings}: {runs} runs are not alike")
    console = consoles.pop()
    rows = re.findall(r"^\[waiter\] late: (.*)$", console, re.MULTILINE)
    ticks = [int(late) for row in rows for late in row.split()]
    if len(ticks) != SAMPLES:
        raise Wrong(f"{settings}: {len(ticks)} latencies, expected {SAMPLES}:\n{console}")
    rows = re.findall(r"^\[neighbour\] vCPU \d: (.*)$", console, re.MULTILINE)
    lines = [int(count) for row in rows for count in row.split()]
    if neighbour_budget and lines != [neighbour_budget // neighbours] * NEIGHBOUR_PERIODS * neighbours:
        raise Wrong(f"{settings}: the neighbour's lines are not its budget:\n{console}")
    return Waited(ticks, 1e9 / int(re.search(r"(\d+) ticks a second", console)[1]))


def row(guest, neighbour, waited):
    return f"| {guest} | {neighbour} | " + " | ".join(f"{waited.ns(share):,.0f}" for share in (0, 50, 99, 100)) + " |"


def main():
    rows, tick_ns = [], 0
    for guest, settings in (
        ("no reservation", {}),
        (f"{NEVER_USED_UP:,} lines a period, never used up", {"budget": NEVER_USED_UP}),
        (f"{USED_UP} lines a period, throttled", {"budget": USED_UP, "writes": True}),
    ):
        besides = [("none", {"neighbours": 0})] if settings else [("none", {"neighbours": 0}), ("no reservation", {})]
        besides += [(f"{budget} lines a period", {"neighbour_budget": budget}) for budget in NEIGHBOUR_BUDGETS]
        for neighbour, beside in besides:
            waited = wait(**settings, **beside, runs=2)
            tick_ns = waited.tick_ns
            rows.append(row(guest, neighbour, waited))
    PAGE.write_text(
        TEXT.format(
            samples=SAMPLES, period_us=PERIOD_NS / 1000, tick_ns=tick_ns, rows="\n".join(rows), used_up=USED_UP,
            neighbour_periods=NEIGHBOUR_PERIODS,
        ),
        encoding="utf-8",
    )
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
