# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Counts what a framework adds to a network; writes docs/src/results/framework.md.

Installs TensorFlow below .cache/framework and needs valgrind, with its headers, and a
C compiler.
"""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent.parent
HERE = HOUSE / "tools/framework"
CACHE = HOUSE / ".cache/framework"
PAGE = HOUSE / "docs/src/results/framework.md"
TENSORFLOW = "tensorflow-cpu==2.21.0"
# Bytes, ways and bytes of a line: instructions, data, last level.
CORES = {
    "Cortex-A53 of the Raspberry Pi 3": ("32768,2,64", "32768,4,64", "524288,16,64"),
    "Cortex-A57 of the Jetson TX2": ("49152,3,64", "32768,2,64", "2097152,16,64"),
}
EVENTS = ["Ir", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw"]
# Functions by what they do; code made at run time, which has no name, is oneDNN's products.
PRODUCTS = re.compile(r"\?\?\?:0x|gebp|sgemm|gemm_pack|matrix_vector|SubMapper|nocopy")
ELEMENTWISE = re.compile(r"TensorEvaluator|TensorExecutor|memcpy|memmove|memset")
# Larger than everything: its misses are the lines that are touched at all.
EVERYTHING = "67108864,16,64"


def install():
    python = CACHE / "bin/python"
    if not python.exists():
        print(f"installing {TENSORFLOW} below {CACHE.relative_to(HOUSE)}")
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", TENSORFLOW], check=True)
    return python


def part_of(function):
    if PRODUCTS.search(function):
        return "products"
    return "elementwise" if ELEMENTWISE.search(function) else "framework"


def counts(path):
    """Events of one file of callgrind by part."""
    command = ["callgrind_annotate", "--threshold=100", f"--show={','.join(EVENTS)}", path]
    rows = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout
    parts = collections.defaultdict(collections.Counter)
    row = re.compile(rf"\s*((?:(?:[\d,]+|\.)\s+(?:\([ \d.]+%\)\s+)?){{{len(EVENTS)}}})(\S.*)")
    for line in rows.splitlines():
        found = row.match(line)
        if not found or "PROGRAM TOTALS" in line:
            continue
        numbers = re.sub(r"\([ \d.]+%\)", "", found[1]).split()
        for event, number in zip(EVENTS, numbers, strict=True):
            parts[part_of(found[2])][event] += int(number.replace(",", "").replace(".", "0"))
    return parts


def inferences(python, hook, instructions, data, last_level):
    """Counts of an inference with cold caches, and of the one after it."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "callgrind.out"
        command = [
            "valgrind", "-q", "--tool=callgrind", "--instr-atstart=no", "--cache-sim=yes",
            f"--I1={instructions}", f"--D1={data}", f"--LL={last_level}",
            f"--callgrind-out-file={out}", python, HERE / "inference.py", hook,
        ]
        subprocess.run(
            command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
        return counts(f"{out}.1"), counts(f"{out}.2")


def table(parts):
    yield "| part | instructions | L1I misses | L1D misses | LLC misses |"
    yield "|---|--:|--:|--:|--:|"
    for part in ("products", "elementwise", "framework"):
        found = parts[part]
        yield (
            f"| {part} | {found['Ir']:,} | {found['I1mr']:,} "
            f"| {found['D1mr'] + found['D1mw']:,} "
            f"| {found['ILmr'] + found['DLmr'] + found['DLmw']:,} |"
        )


def modelled():
    """What the model counts in an inference on one core of the Raspberry Pi 3."""
    command = [
        HOUSE / "target/release/ringfence", "run", "--quiet", "--json",
        HOUSE / "scenarios/rt-gang/core-scaling.toml", "--case", "solo/dnn-1", "-d", "100ms",
    ]
    with tempfile.TemporaryDirectory() as folder:
        command += ["-o", Path(folder) / "record.rfr"]
        run = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    cores = run["cases"][0]["statistics"]["cores"]
    return tuple(sum(core[name] for core in cores) for name in ("llc_accesses", "llc_misses"))


def sections(python, hook):
    for core, (instructions, data, last_level) in CORES.items():
        _, warm = inferences(python, hook, instructions, data, last_level)
        cold, _ = inferences(python, hook, instructions, data, EVERYTHING)
        framework = cold["framework"]
        lines = framework["ILmr"] + framework["DLmr"] + framework["DLmw"]
        accesses = sum(warm["framework"][event] for event in ("I1mr", "D1mr", "D1mw"))
        yield f"## {core}\n"
        yield from table(warm)
        yield (
            f"\nThe framework's misses of the L1, {accesses:,}, are `serial_accesses`; the\n"
            f"{lines:,} lines that it touches at all, {lines * 64 // 1024} KiB, are "
            f"`serial_working_set`.\n"
        )


def main():
    python = install()
    hook = CACHE / "hook.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", hook, HERE / "hook.c"], check=True)
    found = "\n".join(sections(python, hook))
    accesses, misses = modelled()
    PAGE.write_text(f"""# What a framework adds to a network

Written by `make framework`; do not edit. One inference of DAVE-2, batch of one, on one
thread of {TENSORFLOW.replace("==", " ")} called from Python, counted by callgrind with caches of the sizes of
the boards; its caches are LRU and have no prefetcher. "Products" are matrix products and
the gathering of their blocks, "elementwise" what goes over all values once, "framework"
the rest: Python, and how TensorFlow finds, allocates and starts its kernels.

{found}
The boards ran another version of TensorFlow, compiled for Arm: these counts are the
nearest that can be had without them. That one thread of the framework misses so often is
why contention slows a network down that computes most of its time. The model has the
products' misses from its own loops, leaves the elementwise ones out, and spreads the
framework's over its footprint in random order. On one core of the Raspberry Pi 3 its
inference has {accesses:,} lines that come to the L1, those of the prefetcher included, and
{misses:,} LLC misses; it leaves instructions of the products out.

Two runs differ by about 2 %: the scenarios have rounded figures.
""")
    print(f"wrote {PAGE.relative_to(HOUSE)}")


if __name__ == "__main__":
    main()
