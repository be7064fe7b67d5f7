# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The figures of the RT-Gang paper with a neural network: 1, 6 and table III."""

import hashlib
import re
import tempfile
from pathlib import Path

from common import HOUSE, NO_FRAMEWORK, RT_GANG, SCALING, changed, lines, ms, ringfence, run, task

BOARDS = {"pi3": ("Raspberry Pi 3", "raspberry-pi-3"), "tx2": ("Jetson TX2", "jetson-tx2")}
# Table II: longest execution times alone in milliseconds that the model was not given,
# by board and cores.
ALONE = {("pi3", 2): 34.0, ("pi3", 3): 27.9, ("tx2", 3): 8.8}
# Table III: cost of a switch in microseconds.
SWITCHES = {
    "6.81": "Linux",
    "7.19": "RT-Gang, 1 low-priority thread",
    "7.72": "RT-Gang, 4 threads",
    "50": "",
}
# Settings of the Raspberry Pi 3 that no document gives, and what else they might be.
SETTINGS = {
    "as shipped": [],
    "no prefetcher": [(r"\[memory\.core\.prefetcher\]\n(?:.*\n)*?\n", "\n")],
    "write-back buffer of 4": [(r"^write_back_buffer = \d+", "write_back_buffer = 4")],
    "write-back buffer of 1": [(r"^write_back_buffer = \d+", "write_back_buffer = 1")],
    "LLC with random replacement": [(r'^replacement = "lru"', 'replacement = "random"')],
    "LLC banks busy for 16 cycles": [(r"^bank_service_cycles = \d+", "bank_service_cycles = 16")],
    "DRAM scheduler `row-hit-first`": [(r"^read_queue", 'scheduler = "row-hit-first"\nread_queue')],
    "`link` of 200 ns": [(r'^link = "60 ns"', 'link = "200 ns"')],
}
# MB/s that the network accepts; the first is the scenarios' own.
TOLERANCES = (5, 25, 50)
GOOD = 0.10


def dnn_scenario(board, cores):
    return RT_GANG / f"dnn-{board}-{cores}.toml"


def run_changed(scenario, platform, to_scenario, to_platform, *arguments):
    """Runs `scenario` on `platform` with changes to their files."""
    with tempfile.TemporaryDirectory() as folder:
        text = (HOUSE / f"platforms/{platform}.toml").read_text()
        (Path(folder) / "platform.toml").write_text(changed(text, to_platform))
        named = (rf'^platform = "{platform}"', 'platform = "platform.toml"')
        copy = Path(folder) / "scenario.toml"
        copy.write_text(changed(scenario.read_text(), [named, *to_scenario]))
        return run(copy, *arguments)


def longest(case, name):
    return task(case, name)["response"]["max_ns"]


def compared(what, paper, model, unit):
    error = model / paper - 1
    judged = "good" if abs(error) <= GOOD else "**bad**"
    return f"| {what} | {paper:.2f} {unit} | {model:.2f} {unit} | {error * 100:+.1f} % | {judged} |"


def scaling(cases):
    """Figure 1 and the execution times of table II."""
    def alone(cores):
        return task(cases[f"solo/dnn-{cores}"], f"dnn-{cores}")["response"]["median_ns"]

    def median(case, name):
        return task(cases[case], name)["response"]["median_ns"]

    yield one_core_row(alone(1))
    yield f"| 4 cores, average (Fig. 1a) | 22.86 ms | {ms(alone(4))} ms | given | |"
    for (board, cores), paper in ALONE.items():
        scenario = dnn_scenario(board, cores)
        found = longest(run(scenario, "--case", "solo/dnn")["solo/dnn"], "dnn")
        title = BOARDS[board][0]
        yield compared(f"{title}, {cores} cores, longest (Table II)", paper, found / 1e6, "ms")
    dnn = median("dnn-beside-bw-write", "dnn-2") / alone(2)
    yield compared("network beside BwWrite (Fig. 1b)", 10.33, dnn, "x")
    bww = median("bw-write-beside-dnn", "bw-write") / median("solo/bw-write", "bw-write")
    yield compared("BwWrite beside the network (Fig. 1b)", 1.05, bww, "x")


def beside_bw_write(name, to_scenario, to_platform):
    cases = run_changed(
        SCALING, "raspberry-pi-3", to_scenario, to_platform, "-d", "200ms",
        "--case", "solo/dnn-2", "--case", "dnn-beside-bw-write",
    )
    alone = longest(cases["solo/dnn-2"], "dnn-2")
    beside = longest(cases["dnn-beside-bw-write"], "dnn-2")
    return f"| {name} | {ms(alone)} | {ms(beside)} | {beside / alone:.2f} |"


def variants():
    for name, changes in SETTINGS.items():
        yield beside_bw_write(name, [], changes)
    yield beside_bw_write("without the framework's accesses", NO_FRAMEWORK, [])


def tolerances():
    for board, (title, platform) in BOARDS.items():
        found = []
        for tolerance in TOLERANCES:
            change = (r'^tolerance = "5 MB/s"', f'tolerance = "{tolerance} MB/s"')
            arguments = ("-d", "300ms", "--case", "solo/dnn", "--case", "rt-gang")
            cases = run_changed(dnn_scenario(board, 2), platform, [change], [], *arguments)
            alone = longest(cases["solo/dnn"], "dnn")
            found.append(f"{(longest(cases['rt-gang'], 'dnn') / alone - 1) * 100:+.1f} %")
        yield f"| {title} | {' | '.join(found)} |"


def preemptions_ns(board, cases, cores):
    """What preemptions may add to BwWrite's longest job: the network's jobs that fit its
    response, and the whole last-level cache again after each."""
    platform = BOARDS[board][1]
    size = re.search(
        r'\[memory\.llc\]\nsize = "(\d+) (KiB|MiB)"', (HOUSE / f"platforms/{platform}.toml").read_text()
    )
    llc_lines = int(size[1]) * {"KiB": 1 << 10, "MiB": 1 << 20}[size[2]] / 64
    dram_ns = ringfence("bench", "platform", platform)["dram_ns"]
    network, writes = (longest(cases[f"solo/{name}"], name) for name in ("dnn", "bww"))
    each = network + llc_lines * dram_ns
    period = re.search(r'period = "(\d+) ms"', dnn_scenario(board, cores).read_text())
    response, before = writes, 0
    while response != before:
        before = response
        response = writes + -(-before // (int(period[1]) * 1_000_000)) * each
    return response - writes


def figure_6(board):
    for cores in (2, 3, 4):
        cases = run(dnn_scenario(board, cores))
        for name in ("dnn", "bww"):
            alone = task(cases[f"solo/{name}"], name)["response"]
            allowed = 1.05 * alone["max_ns"]
            if name == "bww":
                allowed += preemptions_ns(board, cases, cores)
            for case in (f"solo/{name}", "co-run", "rt-gang"):
                response = task(cases[case], name)["response"]
                slower = response["max_ns"] / alone["max_ns"]
                bound = ""
                if case == "rt-gang":
                    held = "held" if response["max_ns"] <= allowed else "**not held**"
                    bound = f"{ms(allowed)}: {held}"
                yield (
                    f"| {cores} | {name} | {case} | {response['count']} "
                    f"| {ms(response['min_ns'])} | {ms(response['median_ns'])} "
                    f"| {ms(response['max_ns'])} | {slower:.2f} | {bound} |"
                )
        for case in ("co-run", "rt-gang"):
            done = {}
            for found in cases[case]["statistics"]["best_effort"]:
                name = found["thread"].split("/")[0]
                done[name] = done.get(name, 0) + found["accesses"]
            duration = cases[case]["duration_ns"] / 1e9
            rates = ", ".join(f"{name} {count / 1e6 / duration:.2f}" for name, count in done.items())
            yield f"| {cores} | best effort | {case} | {rates} million accesses/s | | | | | |"


def table_3():
    for cost, whose in SWITCHES.items():
        cases = run_changed(
            dnn_scenario("tx2", 4), "jetson-tx2", [],
            [(r'^context_switch = "6.81 us"', f'context_switch = "{cost} us"')],
            "-d", "200ms", "--case", "solo/dnn", "--case", "rt-gang",
        )
        alone, held = (longest(cases[case], "dnn") for case in ("solo/dnn", "rt-gang"))
        yield f"| {cost} | {whose} | {ms(alone)} | {ms(held)} |"


def quick_parts():
    """What of the page can be had in seconds: what it was made from, and one figure."""
    one_core = run(SCALING, "--case", "solo/dnn-1")["solo/dnn-1"]
    figure = task(one_core, "dnn-1")["response"]["median_ns"]
    return [inputs(), one_core_row(figure)]


def one_core_row(nanoseconds):
    return f"| 1 core, average (Fig. 1a) | 46.30 ms | {ms(nanoseconds)} ms | given | |"


def inputs():
    """The files that the page was made from, by their hashes."""
    files = [SCALING]
    files += [dnn_scenario(board, cores) for board in BOARDS for cores in (2, 3, 4)]
    files += [HOUSE / f"platforms/{platform}.toml" for _, platform in BOARDS.values()]
    return lines(
        f"| `{file.relative_to(HOUSE)}` | `{hashlib.sha256(file.read_bytes()).hexdigest()[:16]}` |"
        for file in files
    )


def page():
    fig1 = run(SCALING)
    figures = "\n\n".join(
        f"""### {title}

| cores | task | case | jobs | shortest | median | longest | to solo | allowed under RT-Gang |
|--:|---|---|--:|--:|--:|--:|--:|---|
{lines(figure_6(board))}"""
        for board, (title, _) in BOARDS.items()
    )
    return f"""# RT-Gang: the steering network

Written by `make results`, which takes a quarter of an hour for this page; do not edit. Paper:
W. Ali and H. Yun, "RT-Gang: Real-Time Gang Scheduling Framework for Safety-Critical
Systems", RTAS 2019. The network is DAVE-2 with the layers that DeepPicar gives it, computed
as blocked matrix products ([neural_network](../scenario-reference.md)), after a serial part
with the accesses that [the framework adds](framework.md). Two figures of each board, alone,
were given to the model: they set the time of a multiplication and the computation of the
serial part. BwWrite's passes give it the paper's time alone. The network's tolerance was
chosen, as below. All else is predicted. Times are in milliseconds; "good" is within {GOOD * 100:.0f} %.

## Core scaling and one neighbour (Fig. 1)

`scenarios/rt-gang/core-scaling.toml`, Raspberry Pi 3, and the solo cases of figure 6.
Table II has the longest execution times of a board, figure 1 averages: on four cores of the
Raspberry Pi 3 24.81 and 22.86 ms. The model's jobs hardly differ, so that a part of the
error is in what is compared.

| figure | paper | model | error | |
|---|--:|--:|--:|---|
{lines(scaling(fig1))}

The model says too little about what BwWrite does to the network. Settings that no
document gives were tried, to see whether one of them explains it (none was adopted):

| setting | alone, longest | beside BwWrite, longest | slowdown |
|---|--:|--:|--:|
{lines(variants())}

What the model leaves out is on the list of suspects: page walks; instructions of the
products; what the elementwise steps between the layers read; what else ran on the board; and
a memory controller that serves reads beside writes worse than an ideal one.

## Beside a gang and best-effort work (Table II, Fig. 6)

The network has the higher priority. The paper shows distributions without figures: beside
others its longest times are more than twice those alone on the Raspberry Pi 3 and less on
the TX2; under RT-Gang they are those alone. "Allowed" is 5 % above the longest alone,
and for BwWrite what preemptions by the network add, with the whole last-level cache to be
read again after each. Runs are short: the longest of so few jobs stands for the 99th
percentile.

{figures}

The network accepts 5 MB/s from each best-effort core, which was chosen so that it stays
within the 5 %; the paper does not give its tolerances. What best-effort work brings into
the last-level cache evicts the framework's lines. By how much the longest job under RT-Gang
exceeds the longest alone, on two cores and with larger tolerances of the network:

| board | {" | ".join(f"{tolerance} MB/s" for tolerance in TOLERANCES)} |
|---|{"--:|" * len(TOLERANCES)}
{lines(tolerances())}

## What a switch costs (Table III)

The model takes a switch's cost as a parameter. `scenarios/rt-gang/dnn-tx2-4.toml` with the
paper's costs, and with others to see how much depends on it:

| switch, us | of | network alone, longest | RT-Gang, longest |
|--:|---|--:|--:|
{lines(table_3())}

## Made from

| file | SHA-256 |
|---|---|
{inputs()}
"""
