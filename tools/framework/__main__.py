# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Counts what a framework adds to a network; writes docs/src/results/framework.md.

Installs TensorFlow below .cache/framework and needs valgrind, with its headers, and a
C compiler.
"""

import collections
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "results"))

from common import HOUSE, NO_FRAMEWORK, SCALING, changed, run

CACHE = HOUSE / ".cache/framework"
PAGE = HOUSE / "docs/src/results/framework.md"
PACKAGES = ["tensorflow-cpu==2.21.0", "numpy==2.4.6"]
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
    print(f"{', '.join(PACKAGES)} below {CACHE.relative_to(HOUSE)}")
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
    subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
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
        finished = subprocess.run(
            command, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=os.environ | {"PYTHONHASHSEED": "0"},
        )
        if finished.returncode != 0:
            sys.exit(f"tools/framework: valgrind failed:\n{finished.stdout}")
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


def modelled(changes):
    """LLC accesses and misses of the model's inference on one core of the Raspberry Pi 3."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = Path(folder) / "scenario.toml"
        scenario.write_text(changed(SCALING.read_text(), changes))
        case = run(scenario, "--case", "solo/dnn-1", "-d", "100ms")["solo/dnn-1"]
    cores = case["statistics"]["cores"]
    return [sum(core[name] for core in cores) for name in ("llc_accesses", "llc_misses")]


def beside_the_model(parts):
    """The model's counts by part, beside callgrind's."""
    def misses(part, *events):
        return sum(parts[part][event] for event in events)

    rest = modelled(NO_FRAMEWORK)
    framework = [of_all - of_rest for of_all, of_rest in zip(modelled([]), rest, strict=True)]
    yield "| part | L1 misses counted | LLC accesses modelled | LLC misses counted | LLC misses modelled |"
    yield "|---|--:|--:|--:|--:|"
    for part, (accesses, llc_misses) in (("products", rest), ("framework", framework)):
        l1 = misses(part, "D1mr", "D1mw") + (misses(part, "I1mr") if part == "framework" else 0)
        llc = misses(part, "ILmr", "DLmr", "DLmw")
        yield f"| {part} | {l1:,} | {accesses:,} | {llc:,} | {llc_misses:,} |"


def sections(python, hook):
    for number, (core, (instructions, data, last_level)) in enumerate(CORES.items()):
        _, warm = inferences(python, hook, instructions, data, last_level)
        cold, _ = inferences(python, hook, instructions, data, EVERYTHING)
        framework = cold["framework"]
        lines = framework["ILmr"] + framework["DLmr"] + framework["DLmw"]
        accesses = sum(warm["framework"][event] for event in ("I1mr", "D1mr", "D1mw"))
        yield f"## {core}\n"
        yield from table(warm)
        yield (
            f"\nThe framework misses the L1 {accesses:,} times, and touches {lines:,} lines, "
            f"{lines * 64 // 1024} KiB.\nRounded to two digits these are its `accesses` and "
            "its `working_set`.\n"
        )
        if number == 0:
            yield "The model beside it:\n"
            yield from beside_the_model(warm)
            yield ""


def main():
    python = install()
    hook = CACHE / "hook.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", hook, HERE / "hook.c"], check=True)
    found = "\n".join(sections(python, hook))
    PAGE.write_text(f"""# What a framework adds to a network

Written by `make framework`; do not edit. One inference of DAVE-2, batch of one, on one
thread of {PACKAGES[0].replace("==", " ")}, called from Python, counted by callgrind with
caches of the sizes of the boards; they are LRU and have no prefetcher. "Products" are matrix
products and the gathering of their blocks, "elementwise" what goes over all values once,
"framework" the rest: Python, and how TensorFlow finds, allocates and starts its kernels.

{found}
The boards ran another version of TensorFlow, compiled for Arm: these counts are the
nearest that can be had without them. [The steering network](rt-gang-network.md) shows what
they do to a network beside BwWrite. What the model makes of them:

- The products' accesses come from its own loops, which gather larger blocks than this
  TensorFlow does; the prefetcher's are among them. Instructions of the products and the
  elementwise part are left out.
- The framework's accesses all come before the first layer, in random order over its
  footprint, and hold up the core until each has come: right for instructions without a
  prefetcher of their own, pessimistic for data, on an out-of-order core most of all.
""")
    print(f"wrote {PAGE.relative_to(HOUSE)}")


if __name__ == "__main__":
    main()
