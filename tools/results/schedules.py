# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The schedules of the RT-Gang paper: its illustrative and its synthetic set."""

import sys

from common import RT_GANG, lines, ms, run, task


def illustrative(cases):
    paper = {"ideal": (28, 2, 4), "co-run": (20.8, 5.6, 4), "rt-gang": (28, 2, 6)}
    titles = {
        "ideal": "co-scheduled, no interference (Fig. 4a)",
        "co-run": "co-scheduled, tau1 10x slower beside tau2 (Fig. 4c)",
        "rt-gang": "RT-Gang, same interference (Fig. 4b)",
    }
    for name, (slack, tau1, tau2) in paper.items():
        case = cases[name]
        found = case["statistics"]["slack"]
        if found["hyperperiod_min_ns"] != found["hyperperiod_max_ns"]:
            sys.exit(f"tools/results: the slack of {name} differs between periods")
        yield (
            f"| {titles[name]} | {slack} | {ms(found['hyperperiod_min_ns'])} "
            f"| {tau1} / {ms(task(case, 'tau1')['response']['max_ns'])} "
            f"| {tau2} / {ms(task(case, 'tau2')['response']['max_ns'])} |"
        )


def synthetic(cases):
    for name in ("tau1", "tau2"):
        for case in (f"solo/{name}", "co-run", "rt-gang"):
            found = task(cases[case], name)
            response = found["response"]
            yield (
                f"| {name} | {case} | {found['jobs']} | {found['missed']} | {ms(response['min_ns'])} "
                f"| {ms(response['median_ns'])} | {ms(response['p99_ns'])} | {ms(response['max_ns'])} |"
            )


def best_effort(cases):
    for case in ("co-run", "rt-gang"):
        for found in cases[case]["statistics"]["best_effort"]:
            yield (
                f"| {found['thread']} | {case} | {found['accesses'] / 1e6:.1f} "
                f"| {ms(found['core_time_ns'])} | {ms(found['throttled_ns'])} |"
            )


def claims(case):
    for found in case["verdict"]["claims"]:
        yield f"| {found['kind']} | {found['outcome']} | {found['checked']} | {found['breaches']} |"


def page():
    fig4 = run(RT_GANG / "illustrative.toml")
    fig5 = run(RT_GANG / "synthetic.toml")
    return f"""# RT-Gang: illustrative and synthetic sets

Written by `make results`; do not edit. Paper: W. Ali and H. Yun, "RT-Gang: Real-Time
Gang Scheduling Framework for Safety-Critical Systems", RTAS 2019. Its figures with a
neural network are on [a page of their own](rt-gang-network.md).

## Illustrative set (Table I, Fig. 4)

`scenarios/rt-gang/illustrative.toml`: execution times and the interference factor are
given, so every figure must be exact. Slack is core time that real-time work leaves in
one period of 10 ms; times are worst responses, paper / model.

| schedule | slack, paper (ms) | slack, model (ms) | tau1 (ms) | tau2 (ms) |
|---|---|---|---|---|
{lines(illustrative(fig4))}

## Synthetic set (Section V-B, Fig. 5)

`scenarios/rt-gang/synthetic.toml` on the modelled Raspberry Pi 3. The paper gives the
solo execution times (3.5 and 6.5 ms; the passes of the model were chosen to give these,
solo, and nothing else was fitted) and shows the rest as traces without figures, so there
is no number to compare with. What the gangs tolerate is our choice; the scenario file says
why. Response times in milliseconds:

| task | case | jobs | missed | min | median | p99 | max |
|---|---|---|---|---|---|---|---|
{lines(synthetic(fig5))}

Percentiles are nearest rank, so with fewer than 100 jobs the 99th is the maximum; solo
that is the first job, which finds its caches cold. In the co-run a late job delays the
next one (`overrun = "queue"`), and response times count from the release.

What best-effort work got: memory accesses executed (the CPU hog's stay in its L1), and
core time in milliseconds, the interrupts that it takes included.

| thread | case | million accesses | core time | throttled on its core |
|---|---|---|---|---|
{lines(best_effort(fig5))}

The verdict of the rt-gang case:

| claim | outcome | checked | breaches |
|---|---|---|---|
{lines(claims(fig5['rt-gang']))}
"""
