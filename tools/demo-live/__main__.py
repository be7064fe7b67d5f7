# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Runs a victim alone, beside a neighbour, and beside it under ringfence, on this machine.

The cases take turns, as whatever disturbs the machine comes and goes, and rounds are compared
with themselves. A round's figure is the median response time of its jobs. Of the rounds the
median is given, with the interval that two order statistics span: however the figures are
distributed, it has the median of all such rounds within with the probability that is printed
(the binomial distribution says so).
"""

import json
import subprocess
import sys
from math import comb
from pathlib import Path
from statistics import median

HOUSE = Path(__file__).resolve().parent.parent.parent
RINGFENCE = HOUSE / "target/release/ringfence"
SCENARIO = HOUSE / "scenarios/linux/neighbour.toml"
OUT = HOUSE / "out/live"
CASES = {"solo": "alone", "co-run": "beside the hog", "rt-gang": "under ringfence"}
ROUNDS = 10
# All held; a bound was missed. The record is whole in both cases.
EXIT_STATUSES = (0, 2)


def interval(figures):
    """Two of the figures that have the median between them with at least 95 %, and that probability."""
    ordered, count = sorted(figures), len(figures)

    def misses(rank):
        return 2 * sum(comb(count, below) for below in range(rank + 1)) / 2**count

    rank = max((rank for rank in range(count // 2) if misses(rank) <= 0.05), default=0)
    return ordered[rank], ordered[count - 1 - rank], 1 - misses(rank)


def run(case, number):
    """Median response time of the jobs of a case, in milliseconds, and whether all deadlines and claims held."""
    record = OUT / f"{case}-{number}.rfr"
    command = [RINGFENCE, "run", "--target", "linux", SCENARIO, "--case", case, "--quiet", "--json", "-o", record]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    if finished.returncode not in EXIT_STATUSES:
        print(finished.stderr, file=sys.stderr, end="")
        sys.exit(finished.returncode)
    task = json.loads(finished.stdout)["cases"][0]["statistics"]["tasks"][0]
    return task["response"]["median_ns"] / 1e6, finished.returncode == 0


def compared(name, figures, others):
    """How a case stands to another one, round by round."""
    low, high, probability = interval([a / b for a, b in zip(figures, others, strict=True)])
    shown = "slower" if low > 1 else "faster" if high < 1 else "no difference is shown"
    return f"{name}: {low:.2f} to {high:.2f} times ({100 * probability:.1f} %): {shown}"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    figures = {case: [] for case in CASES}
    held = dict.fromkeys(CASES, 0)
    for number in range(1, ROUNDS + 1):
        for case in CASES:
            figure, all_held = run(case, number)
            figures[case].append(figure)
            held[case] += all_held
        print(f"round {number} of {ROUNDS}: " + ", ".join(f"{CASES[case]} {figures[case][-1]:.2f} ms" for case in CASES))
    print(f"\nMedian response time of the victim, over {ROUNDS} rounds:")
    for case, name in CASES.items():
        low, high, probability = interval(figures[case])
        print(f"  {name:<16} {median(figures[case]):8.2f} ms   {low:.2f} to {high:.2f} ({100 * probability:.1f} %)")
    alone, beside, ringfence = (figures[case] for case in CASES)
    print()
    print(compared("beside the hog, over alone", beside, alone))
    print(compared("under ringfence, over beside the hog", ringfence, beside))
    print(compared("under ringfence, over alone", ringfence, alone))
    print(f"\nAll deadlines and claims held under ringfence in {held['rt-gang']} of {ROUNDS} rounds.")
    print("A record of each run is in out/live; `ringfence report` shows it.")


main()
