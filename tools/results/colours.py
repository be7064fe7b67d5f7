# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What page colours gain a critical VM, with and without a reservation of the others."""

import tempfile
from pathlib import Path

from common import HOUSE, changed, lines, ms, run, task

SCENARIO = HOUSE / "scenarios/hyp/zcu104-colours.toml"
CASES = {
    "alone": "alone, in all colours",
    "alone-coloured": "alone, in its half of the colours",
    "co-run": "beside the writers",
    "reserved": "beside them, reservation alone",
    "coloured": "beside them, colours alone",
    "both": "beside them, both",
}
# The one of the file; and one that fits the cache, but not half of it.
FITS, TOO_LARGE = "384 KiB", "768 KiB"


def run_with(working_set):
    text = changed(SCENARIO.read_text(), [(rf'"{FITS}", passes', f'"{working_set}", passes')])
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / SCENARIO.name
        scenario.write_text(text)
        return run(scenario)


def to_alone(cases, name):
    """The median response time in a case as a multiple of that alone."""
    medians_ns = [task(cases[it], "reader")["response"]["median_ns"] for it in (name, "alone")]
    return f"{medians_ns[0] / medians_ns[1]:.2f}"


def row(cases, name):
    case = cases[name]
    response = task(case, "reader")["response"]
    # Its core does nothing else.
    missed = case["statistics"]["cores"][0]["llc_misses"]
    written = sum(found["accesses"] for found in case["statistics"]["best_effort"])
    return (
        f"| {CASES[name]} | {ms(response['median_ns'])} | {ms(response['max_ns'])} "
        f"| **{to_alone(cases, name)}** | {missed / 1e3:.1f} | {written / 1e3:.0f} |"
    )


def table(cases):
    return lines(row(cases, name) for name in CASES)


def page():
    fits, too_large = run_with(FITS), run_with(TOO_LARGE)
    return f"""# Page colours and reservations

Written by `make results`; do not edit. `scenarios/hyp/zcu104-colours.toml` on the modelled ZCU104,
whose last-level cache has 1 MiB in 16 colours, replaced by least recent use: a critical VM on one core reads a
working set eight times in each job, beside a VM on the other three that writes to 3 MiB without an
end. Each has half of the colours, or the writers have a reservation of 100 lines each 10 us, or both.
Nothing was fitted. The model has neither TLBs nor the walks that pages of 4 KiB cost; EL2's own lines are
not in it either.

Response times of the jobs in milliseconds, the median as a multiple of that alone, and in thousands what
all jobs of the critical VM miss in the last-level cache and what the writers access.

## A working set that fits its half: {FITS}

| case | median | max | to alone | its misses | accesses of the writers |
|---|--:|--:|--:|--:|--:|
{table(fits)}

## One that fits the cache, but not half of it: {TOO_LARGE}

| case | median | max | to alone | its misses | accesses of the writers |
|---|--:|--:|--:|--:|--:|
{table(too_large)}

How to read it:

- The first job finds the caches cold: it is the maximum of a VM alone.
- **Colours** that hold the working set leave it no misses but those of the first job, whatever the writers do. They do not keep the
  writers from the cache itself and the way to it: with no more misses than alone, the time that is left in "colours
  alone" is spent waiting there.
- **A reservation** bounds that waiting, but what the writers do in the time between two jobs evicts the working set
  all the same: each job finds its lines gone.
- **Both** together: a job of the critical VM takes {to_alone(fits, "both")} times what it takes alone if its colours hold
  the working set. If they do not, it takes {to_alone(too_large, "both")} times that, against {to_alone(too_large, "reserved")} with a reservation alone.
- **Colours cost** what they take away: a working set that needs more than its colours misses in them even alone, where it
  takes {to_alone(too_large, "alone-coloured")} times as long.
"""
