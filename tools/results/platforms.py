# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The built-in platforms, alone, and beside what was measured on boards."""

import json
import tempfile
from pathlib import Path

from common import lines, ringfence

# What others measured on the boards, with nothing else running: tinymembench 0.4.9 in the
# logs of sbc-bench. `above_l1_..._ns`: "single random read" in 128 KiB and in 64 MiB, time
# beyond a hit of the L1, with huge pages where the log has them; `read_mb_s`: "NEON read";
# `fill_mb_s`: "C fill".
MEASURED = Path(__file__).parent / "measured.json"
PLATFORMS = Path(__file__).parents[2] / "platforms"


def model_row(found):
    latencies = [f"{found[key]:.1f}" for key in ("l1_ns", "llc_ns", "dram_ns")]
    bandwidths = [
        f"{found[key] / 1e9:.2f}"
        for key in (
            "read_bytes_per_s",
            "write_bytes_per_s",
            "read_all_bytes_per_s",
            "write_all_bytes_per_s",
        )
    ]
    return f"| {found['platform']} | " + " | ".join(latencies + bandwidths) + " |"


def comparison(found, measured):
    """What the model says, what was measured, and how far apart they are."""
    l1_ns = found["l1_ns"]
    # In 128 KiB the part that fits the L1 costs nothing more.
    llc_ns = l1_ns + measured["above_l1_128k_ns"] / (1 - found["l1_bytes"] / (128 << 10))
    pages = "huge pages" if measured["huge_pages"] else "4 KiB pages, with TLB misses"
    rows = [
        ("LLC hit, ns", found["llc_ns"], llc_ns),
        (f"DRAM, ns ({pages})", found["dram_ns"], l1_ns + measured["above_l1_64m_ns"]),
    ]
    if "read_mb_s" in measured:
        rows.append(("one core reads, GB/s", found["read_bytes_per_s"] / 1e9, measured["read_mb_s"] / 1e3))
    rows.append(("one core writes, GB/s", found["write_bytes_per_s"] / 1e9, measured["fill_mb_s"] / 1e3))
    for name, model, board in rows:
        digits = 1 if "ns" in name else 2
        yield (
            f"| {found['platform']} | {name} | {model:.{digits}f} | {board:.{digits}f} "
            f"| {(model / board - 1) * 100:+.0f} % |"
        )


def with_lru(name):
    """What the platform gives when its LLC replaces the least recently used line."""
    text = (PLATFORMS / f"{name}.toml").read_text()
    random = 'replacement = "random"'
    assert text.count(random) == 1, name
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as file:
        file.write(text.replace(random, 'replacement = "lru"'))
        file.flush()
        return ringfence("bench", "platform", file.name)


def page():
    found = {
        platform["name"]: ringfence("bench", "platform", platform["name"])
        for platform in ringfence("platforms")
    }
    measured = json.loads(MEASURED.read_text())
    compared = [
        row
        for name, board in measured.items()
        for row in comparison(found[name], board)
    ]
    logs = [f"| {name} | {board['board']} | `{board['log']}` |" for name, board in measured.items()]
    nano = with_lru("jetson-nano")
    lru = [nano[f"write{who}_bytes_per_s"] / 1e9 for who in ("", "_all")]
    missing = ", ".join(name for name in found if name not in measured)
    return f"""# Platforms: latency and bandwidth

Written by `make results`; do not edit. What the built-in platforms give to programs that
have them alone, by `ringfence bench platform NAME`, and how far that is from what was
measured on boards.

## The model

Latencies in nanoseconds from load to load of a random list that fits half of the L1, a
quarter of the last-level cache (LLC), and eight times the LLC. Bandwidths in GB/s of walks
in address order over eight times the LLC: what programs read or write. A written line is
fetched first and written back later, so the memory moves twice as much.

| platform | L1 hit | LLC hit | DRAM | one core reads | one core writes | all read | all write |
|---|---|---|---|---|---|---|---|
{lines(model_row(figures) for figures in found.values())}

## Beside boards

| platform | figure | model | board | model to board |
|---|---|---|---|---|
{lines(compared)}

How to read it:

- The **LLC latency** of the Raspberry Pi 4, the Jetson Nano and the Celeron J3455 was taken
  from these very logs, so it has to agree; that of the Raspberry Pi 3 was not.
- The **DRAM latency** was not: 60 ns for the way to the controller and back is the same
  assumption on every platform, and the rest is the memory's timings. The model has no TLB;
  where the board used 4 KiB pages, its figure has page walks in it.
- **Reads**: a program of the model touches a line once, a real one loads all of it, and
  nothing between the cores and the controller bounds the model's bandwidth. A single core
  is held back by how many lines it may prefetch at a time, which for the Cortex-A57 and A72
  is taken from the manual of the Cortex-A15.
- **Writes**: the boards' figure is a fill of whole lines. Arm cores stop fetching lines in
  a long run of such stores, the model never does, so the figures are of two different
  things there; the Celeron fetches as the model does. That the LLC of the
  Cortex-A57 replaces at random is assumed, and it costs write bandwidth: with
  `replacement = "lru"` the Jetson Nano would write {lru[0]:.2f} GB/s from one core and
  {lru[1]:.2f} GB/s from all.

The boards, with tinymembench 0.4.9 in the logs of
[sbc-bench](https://github.com/ThomasKaiser/sbc-bench):

| platform | board | log |
|---|---|---|
{lines(logs)}

No such log was found for {missing}. None of these measurements has programs side by side;
what the model says about those is a prediction.
"""
