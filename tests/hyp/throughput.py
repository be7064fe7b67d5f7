#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Measures what a reservation lets a writer write, by budget and period, and writes the page."""

import re

from machine import ROOT, Machine

PAGE = ROOT / "docs/src/results/hyp-throughput.md"
LINE_BYTES = 64
# Budgets that a writer uses up in all of these periods: at most 4 lines in a microsecond.
BUDGETS = (30, 60, 90, 150, 200)
PERIODS_US = (50, 100, 200, 500, 1000)
PERIODS = 10
# Of one core, and of three: by weights, all alike if there are none.
WAYS = {
    "one core": (1, ()),
    "three cores, equal shares": (3, ()),
    "three cores, shares of 1:2:3": (3, (1, 2, 3)),
}
# As figures 5 and 6 of the paper have them, on three cores.
FIGURE_5_BUDGET, FIGURE_5_US = 100, (1, 2, 5, 10, 25, 100, 1000)
FIGURE_6_US, FIGURE_6_BUDGETS = 10, (25, 50, 100, 250, 500, 1000, 10000)
FIGURE_PERIODS = 600
TEXT = """# What a reservation lets through

Written by `make hyp-throughput`; do not edit. A bare-metal writer counts the cache lines of 64 bytes
that it writes in each period of its reservation, as in figures 5 and 6 of H-MBR (NG-RES 2025).

**Bandwidths are those of the reservation, not of a memory.** QEMU's clock advances by 1 ns with each
instruction of any core, and a line costs the writer an entry to the hypervisor, which counts it.
What is shown is that a budget is kept, and not how fast a board would be.

## Budgets by periods

Lines that the VM writes in a period, and what bandwidth that is.
{exact}
{tables}
## Figures 5 and 6: where the writer's own speed is the limit

Here some budgets are more than three cores of this machine can write in a period: the largest are no limit,
and at periods of a microsecond or two the hypervisor's own work takes much of it. Lines are of all
three cores, the mean of {periods} periods. The paper's figures are pictures; its text gives one ratio
of each.

A budget of {figure_5_budget} (figure 5):

| period | lines a period | lines a ms | of those at {first_us} us |
|--:|--:|--:|--:|
{figure_5}

The paper has **2.6 times** as many lines at 1 us as at 25 us, and here it is **{ratio_5:.1f} times**.

A period of {figure_6_us} us (figure 6):

| budget | lines a period | lines a ms | of those at {first_budget} |
|--:|--:|--:|--:|
{figure_6}

The paper has **2.2 times** as many lines at a budget of 500 as at one of 25, and here it is **{ratio_6:.1f} times**.

Figure 6's shape is the paper's: lines rise with the budget until it is no limit. Figure 5's is from {from_us} us
on: there the budget is the limit, and lines fall as the period grows. Below, the hypervisor is: all cores
of QEMU's machine share one clock, so at 1 us three beginnings of a period
([what each costs](hyp-overhead.md)) leave little of the time. Where the budget is no limit, the ratios
say how fast a core writes when nothing holds it, which QEMU does not model.

{twice}
"""


class Differs(Exception):
    """Two runs of one machine did not print the same bytes."""


def shares_of(budget, vcpus, weights):
    """Cut off one after the other, as reservation.h has it."""
    weights = weights or (1,) * vcpus
    ends = [budget * sum(weights[:vcpu]) // sum(weights) for vcpu in range(vcpus + 1)]
    return [end - begin for begin, end in zip(ends, ends[1:], strict=False)]


def settings_of(budget, period_us, vcpus, weights, periods):
    settings = {"BUDGET": budget, "PERIOD_NS": period_us * 1000, "VCPUS": vcpus, "PERIODS": periods}
    return settings | ({"WEIGHTS": ",".join(map(str, weights))} if weights else {})


def lines_of(console, vcpus):
    """Lines of each vCPU in each period."""
    rows = re.findall(r"^\[writer\] vCPU (\d): (.*)$", console, re.MULTILINE)
    return [[int(count) for of, row in rows if int(of) == vcpu for count in row.split()] for vcpu in range(vcpus)]


def measure(budget, period_us, vcpus, weights=(), periods=PERIODS, *, runs=1):
    """Lines of each vCPU in each period; an error if runs are not alike."""
    machine = Machine("writers", settings_of(budget, period_us, vcpus, weights, periods)).with_guest("writer")
    try:
        consoles = {machine.run() for _ in range(runs)}
    finally:
        machine.close()
    if len(consoles) != 1:
        raise Differs(f"{budget} lines in {period_us} us on {vcpus} cores: {runs} runs are not alike")
    return lines_of(consoles.pop(), vcpus)


def cell(budget, period_us, lines, shares):
    """What the page says of a budget in a period: its lines, of which none may differ from the shares."""
    counts = sorted({sum(of_period) for of_period in zip(*lines, strict=True)})
    if lines != [[share] * PERIODS for share in shares]:
        return f"**{counts[0]} to {counts[-1]}**"
    return f"{counts[0]} ({counts[0] * LINE_BYTES / period_us:.1f} MB/s)"


def table(cells):
    head = "| budget | " + " | ".join(f"{period_us} us" for period_us in PERIODS_US) + " |"
    rows = [f"| {budget} | " + " | ".join(cells[budget, us] for us in PERIODS_US) + " |" for budget in BUDGETS]
    return "\n".join([head, "|--:" * (len(PERIODS_US) + 1) + "|", *rows])


def grid(vcpus, weights, *, runs=1):
    """The cells of a table, by budget and period."""
    cells = {}
    for budget in BUDGETS:
        shares = shares_of(budget, vcpus, weights)
        for us in PERIODS_US:
            cells[budget, us] = cell(budget, us, measure(budget, us, vcpus, weights, runs=runs), shares)
    return cells


def figure(points):
    """Rows of (budget, period), and lines a ms of each."""
    rows, rates = [], []
    for budget, us, name in points:
        lines = measure(budget, us, 3, periods=FIGURE_PERIODS, runs=2)
        mean = sum(map(sum, lines)) / FIGURE_PERIODS
        rates.append(mean * 1000 / us)
        rows.append(f"| {name} | {mean:.1f} | {rates[-1]:,.0f} | {rates[-1] / rates[0]:.2f} |")
    return "\n".join(rows), dict(zip(points, rates, strict=True))


def main():
    tables, cells = "", []
    for name, (vcpus, weights) in WAYS.items():
        of_way = grid(vcpus, weights, runs=2)
        cells += of_way.values()
        tables += f"\n### On {name}\n\n{table(of_way)}\n"
    wrong = sum("**" in found for found in cells)
    points_5 = [(FIGURE_5_BUDGET, us, f"{us} us") for us in FIGURE_5_US]
    points_6 = [(budget, FIGURE_6_US, str(budget)) for budget in FIGURE_6_BUDGETS]
    figure_5, rates_5 = figure(points_5)
    figure_6, rates_6 = figure(points_6)
    by_period = {us: rate for (_, us, _), rate in rates_5.items()}
    by_budget = {budget: rate for (budget, _, _), rate in rates_6.items()}
    exact = f"In all {len(cells)} cells, in each of {PERIODS} periods and on each core, they are exactly the share."
    PAGE.write_text(
        TEXT.format(
            exact=f"**{wrong} of {len(cells)} cells are not the budget.**" if wrong else exact, tables=tables,
            periods=FIGURE_PERIODS, figure_5_budget=FIGURE_5_BUDGET, first_us=FIGURE_5_US[0], figure_5=figure_5,
            ratio_5=by_period[1] / by_period[25], figure_6_us=FIGURE_6_US, first_budget=FIGURE_6_BUDGETS[0],
            from_us=max(by_period, key=by_period.get), figure_6=figure_6, ratio_6=by_budget[500] / by_budget[25],
            twice=f"Each of the {len(cells) + len(points_5) + len(points_6)} machines ran twice, and printed the same "
            "bytes both times;\nelse this page would not have been written.",
        ),
        encoding="utf-8",
    )
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
