# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Counts what the loops of triad, lbm and cutcp execute on a Cortex-A53; prints tables.

The numbers behind the programs of docs/src/adding-a-program.md. Needs GCC for AArch64 and
its binutils; nothing is executed, so the target's C library is not.
"""

import collections
import dataclasses
import math
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
COMPILER = "aarch64-linux-gnu-gcc"
DISASSEMBLER = "aarch64-linux-gnu-objdump"
# ISO C keeps a product and a sum apart unless told otherwise, and sqrtf sets errno.
FLAGS = [
    "-std=c11", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
    "-O2", "-mcpu=cortex-a53", "-ffp-contract=fast", "-fno-math-errno",
]

CLASSES = {
    "arithmetic": r"f(n?m)?(add|sub)|fn?mul",
    "other fp": r"fcmpe?|fmov|fneg|fabs",
    "divisions": r"fdiv",
    "roots": r"fsqrt",
    "loads": r"ldu?r|ldp",
    "stores": r"stu?r|stp",
    "integer": r"add|sub|cmp|mov[kn]?|lsl",
    "branches": r"b(\.\w+)?|cbn?z|tbn?z",
}
# Loads and stores of what the compiler has no register for.
STACK = "stack"
# Cycles for which one in single precision keeps the unit busy: LLVM, AArch64SchedA53.td,
# A53WriteFDivSP and A53WriteFSqrtSP (latencies: 18 and 17).
BUSY = {"divisions": 14, "roots": 13}
# A Cortex-A53 issues two instructions a cycle; these are often the second.
BESIDE = ("integer", "branches")

LINE_BYTES = 64
FLOATS_OF_LINE = LINE_BYTES // 4
DOUBLES_OF_LINE = LINE_BYTES // 8
VALUES_OF_CELL = 19
# Parboil's cutoff and distance of lattice points, in angstrom.
CUTOFF, SPACING = 12.0, 0.5


@dataclasses.dataclass(frozen=True)
class Instruction:
    address: int
    mnemonic: str
    operands: str

    def target(self):
        """Where a branch goes, None for anything else."""
        if not re.fullmatch(CLASSES["branches"], self.mnemonic):
            return None
        return int(re.search(r"([0-9a-f]+) <", self.operands)[1], 16)


def disassembly(source):
    with tempfile.TemporaryDirectory() as folder:
        compiled = Path(folder) / "kernel.o"
        subprocess.run([COMPILER, *FLAGS, "-c", HERE / source, "-o", compiled], check=True)
        text = subprocess.check_output(
            [DISASSEMBLER, "-d", "--no-show-raw-insn", compiled], text=True
        )
    rows = re.findall(r"^\s*([0-9a-f]+):\t(\S+)(?:\t(.*))?$", text, re.MULTILINE)
    return [Instruction(int(address, 16), *rest) for address, *rest in rows]


def loop(source):
    """The only loop of a file: its instructions, and those that are left when it skips some."""
    instructions = disassembly(source)
    back = [i for i in instructions if i.target() is not None and i.target() <= i.address]
    if len(back) != 1:
        sys.exit(f"operation-counts: {source}: expected one loop, found {len(back)}")
    first, last = back[0].target(), back[0].address
    body = [i for i in instructions if first <= i.address <= last]
    skips = [i for i in body if i.target() is not None and i is not back[0]]
    if len(skips) > 1 or any(i.target() > last for i in skips):
        sys.exit(f"operation-counts: {source}: expected a loop with at most one branch forward")
    left = [i for i in body if not any(s.address < i.address < s.target() for s in skips)]
    return body, left


def class_of(instruction):
    found = [name for name, those in CLASSES.items() if re.fullmatch(those, instruction.mnemonic)]
    if len(found) != 1:
        sys.exit(f"operation-counts: {instruction.mnemonic} is not in one class; see CLASSES")
    if found[0] in ("loads", "stores") and "[sp" in instruction.operands:
        return STACK
    return found[0]


def loops(source):
    """Instructions by class of a round of the loop, and of one that skips what it can."""
    return [collections.Counter(map(class_of, path)) for path in loop(source)]


def cycles(found):
    """Cycles to issue instructions: integer ones and branches beside others, and one at a time.

    What else can be issued in pairs is left out, and that one waits for another one's result.
    """
    one_at_a_time = found.total() + sum((cost - 1) * found[name] for name, cost in BUSY.items())
    alone = one_at_a_time - sum(found[name] for name in BESIDE)
    return max(alone, one_at_a_time / 2), one_at_a_time


def cycles_of_line(accesses, *rounds):
    """Cycles of `rounds`, pairs of a count and what a round executes, without the `accesses`
    that the model makes for a line of every array."""
    bounds = zip(*([times * bound for bound in cycles(found)] for times, found in rounds))
    return " to ".join(f"{sum(bound) - accesses:.0f}" for bound in bounds)


def row(name, found):
    counts = " | ".join(str(found[kind]) for kind in (*CLASSES, STACK))
    return f"| {name} | {counts} | {' to '.join(f'{bound:g}' for bound in cycles(found))} |"


def bare_lbm(cell):
    """Cycles of a line without what the compiler adds to the formula."""
    computed = cell["arithmetic"] + BUSY["divisions"] * cell["divisions"]
    return FLOATS_OF_LINE * computed + (FLOATS_OF_LINE - 1) * 2 * VALUES_OF_CELL


def sphere():
    """Lattice points within the cutoff of an atom that lies anywhere, on average, their rows and
    lines, and the other points of these rows between the first and the last of the longest."""
    radius = CUTOFF / SPACING
    points, rows = 4 / 3 * math.pi * radius**3, math.pi * radius**2
    lines = rows + (points - rows) / FLOATS_OF_LINE
    others = 2 * radius * rows - points
    return points, rows, lines, others


def main():
    for program in (COMPILER, DISASSEMBLER):
        if not shutil.which(program):
            sys.exit(
                f"operation-counts: {program} is not there; install Debian's gcc-aarch64-linux-gnu"
            )
    triad, _ = loops("triad.c")
    cell, _ = loops("lattice_boltzmann.c")
    within, beyond = loops("coulomb.c")
    points, rows, lines, others = sphere()
    version = subprocess.check_output([COMPILER, "-dumpfullversion"], text=True).strip()

    print(f"GCC {version} {' '.join(FLAGS)}")
    print("\nInstructions of one round of the loop; a pair of values is one load or store.\n")
    print(f"| | {' | '.join(CLASSES)} | {STACK} | cycles |")
    print("|---|" + "--:|" * (len(CLASSES) + 2))
    print(row("triad, element", triad))
    print(row("lbm, cell", cell))
    print(row("cutcp, point within the cutoff", within))
    print(row("cutcp, point beyond", beyond))
    print(f"""
Cycles: integer instructions and branches beside others, to one at a time; {BUSY['divisions']} for a division,
{BUSY['roots']} for a root. For a line of every array, without the first access to each:

| | cycles |
|---|--:|
| triad | {cycles_of_line(3, (DOUBLES_OF_LINE, triad))} |
| lbm | {cycles_of_line(2 * VALUES_OF_CELL, (FLOATS_OF_LINE, cell))} |
| cutcp | {cycles_of_line(1, (points / lines, within), (others / lines, beyond))} |

lbm, arithmetic, divisions and each value read and written once: {bare_lbm(cell)} cycles.
cutcp: {points:.0f} points in {rows:.0f} rows of {lines / rows:.2f} lines, \
{lines * LINE_BYTES / 1024:.0f} KiB; of a line {points / lines:.1f} points
are within the cutoff and {others / lines:.1f} beyond.""")


if __name__ == "__main__":
    main()
