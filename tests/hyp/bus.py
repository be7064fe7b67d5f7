#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Measures reservations that count bus traffic, of a plugin of QEMU's, and writes the page.

A guest walks over a buffer and tells nobody. What it does to the bus is counted by a model of each
core's L1 data cache (tests/hyp/plugin), read by the hypervisor, and traced by it.
"""

import itertools
import re
import struct
import subprocess
from dataclasses import dataclass

from machine import QEMU, ROOT, Machine, MachineError, built
from throughput import shares_of

PAGE = ROOT / "docs/src/results/hyp-bus-events.md"
PLUGIN = ROOT / "tests/hyp/plugin"
# Later versions of QEMU refuse a plugin for version 1 of the interface.
LAST_QEMU = 8
# As hyp/platform/qemu-virt-bus, hyp/config/walkers.c, hyp/core/trace.h and bus_monitor.h have them.
RAM, RAM_BYTES = 0x40000000, 1 << 30
MONITOR, TRACE, TRACE_HEADER_BYTES = 0x7FE00000, 0x7FC00000, 4096
GUEST, GUEST_END = 0x44000000, 0x45000000
ENTRY, COUNTS = struct.Struct("<8Q"), struct.Struct("<8Q")
ON, OFF, REFILL, THROTTLE = 1, 2, 3, 4
FIRST_CORE = 1

# Between two branches of the walker: lines, each filled and written back.
ROW_EVENTS = 4 * 2
BUDGETS = (30, 300, 1000)
PERIODS_US = (50, 200, 1000)
PERIODS = 10
WAYS = {
    "one core": (1, ()),
    "three cores, equal shares": (3, ()),
    "three cores, shares of 1:2:3": (3, (1, 2, 3)),
}
# On one core: bytes, and whether it writes.
LARGE, SMALL = 1 << 20, 16 << 10
SETS = {"writes 1 MiB": (LARGE, 1), "reads 1 MiB": (LARGE, 0), "writes 16 KiB": (SMALL, 1), "reads 16 KiB": (SMALL, 0)}
SET_BUDGET, SET_PERIOD_US = 600, 100
TEXT = """# Bus traffic as the event

Written by `make hyp-bus-events`; do not edit. A bare-metal guest walks over a buffer, a line of 64 bytes after the
other, and tells nobody. Its reservation counts the lines that it moves: **fills** of its core's L1 data cache
and **write-backs** out of it.

QEMU ({version}) has no caches, and its PMU does not count BUS_ACCESS (0x19), which is the event on a chip. A plugin
for QEMU stands in for both (`tests/hyp/plugin/bus_monitor.c`). It models a cache of 32 KiB for each core, as a
Cortex-A53 has it: 4 ways, write-back, write-allocate. To the machine it is a device with counts, a limit and an
interrupt for each core (`hyp/core/bus_monitor.h`). The platform `qemu-virt-bus` counts with that instead of the PMU.

**This says nothing about time**: a line that is moved costs nothing here. Nor is there anything behind the
cache: on a chip with an L2, less than this goes on to the memory. Accesses of the hypervisor are not
counted, as a PMU that is told to leave out EL2 does not count them; nor do they put a guest's lines out.

## Overshoot

The interrupt comes with the last event of the budget. The core takes it at the end of the block of instructions
that QEMU has translated together: at the next branch, at the end of a page, or after 512 instructions. This guest
has four lines between two branches, each of them up to a fill and a write-back, so that up to {row_events} events
can follow the one that was the last. What is over is a debt, and paid back in the next period: after each of
{periods} periods, and on each core, the events so far are all its shares so far and an overshoot. The tables have the
most that it was on any core. A core starts within a period; where less than a share of that was left, the next
one is its first. It is never below 0, and **{worst} events at most**.
{tables}
## What is counted

On one core, with {set_budget} events in each {set_us} us:

| the guest | steps | fills | write-backs | periods in which it stood still |
|---|--:|--:|--:|--:|
{sets}

A line that was only read is not written back; the few are of the guest's own variables. What fits into
the cache is filled once, and never makes its core stand still, however often it is walked over.

In all {machines} machines and on each core, what the hypervisor has counted and traced is what the plugin has
counted, to the event. Each ran twice with the same bytes: what was printed, trace and counts; else this
page would not have been written.
"""


class Wrong(Exception):
    """A run that cannot be believed: counts that do not agree, or a second run that differs."""


def qemu_version():
    printed = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"version (\S+)", printed)[1]


def plugin():
    """Built once a process."""
    library = f"{built.name}/libbus_monitor.so"
    flags = ["-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared", "-fvisibility=hidden"]
    command = ["gcc", *flags, "-Wl,-z,now", "-o", library, PLUGIN / "bus_monitor.c"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise MachineError(f"the plugin is not built:\n{made.stderr}")
    return library


@dataclass
class Core:
    """What the plugin has counted of a core, and the hypervisor's trace of it: time in ns, kind, events so far."""

    fills: int
    write_backs: int
    trace: list

    def uses(self, share):
        """Events in each of its periods, in order. It starts within the first, which is not one of them
        if too little of it was left for a share."""
        begun = next(n for n, (_, kind, _) in enumerate(self.trace) if kind == ON)
        marks = [0, *(events for _, kind, events in self.trace[begun:] if kind == REFILL)]
        if marks[1] < share:
            del marks[0]
        return [after - before for before, after in itertools.pairwise(marks)][:PERIODS]

    def throttled(self):
        return sum(kind == THROTTLE for _, kind, _ in self.trace)

    def overshoots(self, share):
        """After each period: by how much all its events are above all its shares."""
        return [total - n * share for n, total in enumerate(itertools.accumulate(self.uses(share)), 1)]


@dataclass
class Run:
    """What a machine printed, and its cores that are vCPUs."""

    console: str
    cores: list

    def steps(self):
        return [int(steps) for steps in re.findall(r"vCPU \d: (\d+) steps", self.console)]


class BusMachine(Machine):
    """A machine with the plugin, whose RAM is a file."""

    def __init__(self, settings):
        super().__init__("walkers", settings, platform="qemu-virt-bus", trace=True)
        self.ram = self.folder / "ram"
        self.library = plugin()
        self.with_guest("walker")

    def command(self):
        options = f"ram={self.ram},start={RAM},page={MONITOR},guests={GUEST},end={GUEST_END}"
        memory = f"memory-backend-file,id=ram,size={RAM_BYTES},share=on,mem-path={self.ram}"
        added = ["-machine", "memory-backend=ram", "-object", memory, "-plugin", f"{self.library},{options}"]
        return [*super().command(), *added]

    def run(self, **how):
        self.ram.unlink(missing_ok=True)
        with self.ram.open("xb") as file:
            file.truncate(RAM_BYTES)
        return super().run(**how)

    def core(self, core):
        with self.ram.open("rb") as file:
            file.seek(MONITOR - RAM + core * COUNTS.size)
            fills, write_backs, *_ = COUNTS.unpack(file.read(COUNTS.size))
            file.seek(TRACE - RAM)
            _, cores, entries = struct.unpack("<3Q", file.read(24))
            if core >= cores:
                raise Wrong(f"the trace has {cores} cores")
            file.seek(TRACE - RAM + TRACE_HEADER_BYTES + core * entries * ENTRY.size)
            trace = [ENTRY.unpack(file.read(ENTRY.size)) for _ in range(entries)]
        trace = [entry for entry in trace if entry[0]]
        if [entry[0] for entry in trace] != list(range(1, len(trace) + 1)):
            raise Wrong(f"the trace of core {core} is not whole")
        found = Core(fills, write_backs, [entry[1:4] for entry in trace])
        _, kind, events = found.trace[-1]
        if kind != OFF or events != fills + write_backs:
            raise Wrong(f"core {core}: the hypervisor has {events} events, the plugin {fills} + {write_backs}")
        return found


def measure(budget, period_us, vcpus, weights=(), *, bytes_each=LARGE, writes=1, runs=1):
    """Walks a little longer than the periods that are looked at; an error if runs are not alike."""
    settings = {
        "BUDGET": budget, "PERIOD_NS": period_us * 1000, "VCPUS": vcpus, "BYTES": bytes_each, "WRITES": writes,
        "DURATION_NS": (PERIODS + 1) * period_us * 1000,
    }
    settings |= {"WEIGHTS": ",".join(map(str, weights))} if weights else {}
    machine = BusMachine(settings)
    try:
        found = [Run(machine.run(), [machine.core(FIRST_CORE + vcpu) for vcpu in range(vcpus)]) for _ in range(runs)]
    finally:
        machine.close()
    if any(other != found[0] for other in found):
        raise Wrong(f"{settings}: {runs} runs are not alike")
    return found[0]


def overshoot(budget, period_us, vcpus, weights, *, runs=1):
    """The largest; an error if a core had less than its shares, or not all periods."""
    found = measure(budget, period_us, vcpus, weights, runs=runs)
    worst = 0
    for core, share in zip(found.cores, shares_of(budget, vcpus, weights), strict=True):
        overshoots = core.overshoots(share)
        if len(overshoots) != PERIODS or min(overshoots) < 0:
            where = f"{budget} events in {period_us} us on {vcpus} cores"
            raise Wrong(f"{where}: a share of {share}, and used were {core.uses(share)}")
        worst = max(worst, *overshoots)
    return worst


def grid(vcpus, weights, *, runs=1):
    return {(b, us): overshoot(b, us, vcpus, weights, runs=runs) for b in BUDGETS for us in PERIODS_US}


def table(cells):
    head = "| budget | " + " | ".join(f"{period_us} us" for period_us in PERIODS_US) + " |"
    rows = [f"| {budget} | " + " | ".join(str(cells[budget, us]) for us in PERIODS_US) + " |" for budget in BUDGETS]
    return "\n".join([head, "|--:" * (len(PERIODS_US) + 1) + "|", *rows])


def set_row(name, *, runs=1):
    bytes_each, writes = SETS[name]
    found = measure(SET_BUDGET, SET_PERIOD_US, 1, bytes_each=bytes_each, writes=writes, runs=runs)
    core = found.cores[0]
    return f"| {name} | {found.steps()[0]:,} | {core.fills:,} | {core.write_backs:,} | {core.throttled()} |"


def main():
    tables, worst = "", 0
    for name, (vcpus, weights) in WAYS.items():
        cells = grid(vcpus, weights, runs=2)
        worst = max(worst, *cells.values())
        tables += f"\n### On {name}\n\n{table(cells)}\n"
    PAGE.write_text(
        TEXT.format(
            version=qemu_version(), periods=PERIODS, row_events=ROW_EVENTS - 1, worst=worst, tables=tables,
            set_budget=SET_BUDGET, set_us=SET_PERIOD_US, sets="\n".join(set_row(name, runs=2) for name in SETS),
            machines=len(WAYS) * len(BUDGETS) * len(PERIODS_US) + len(SETS),
        ),
        encoding="utf-8",
    )
    print(PAGE.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
