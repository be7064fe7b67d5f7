# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""How much time threads used of each period, by the kernel's own trace.

When periods begin is not in the trace. So those of the phase are told in which the fewest are over
the limit: a regulator that keeps a budget has such a phase, and one that does not has none. (The
phase with the least most use is not it: one period in which QEMU was late would choose it.)

Now and then QEMU runs one CPU for up to 100 ms without a timer on any, as if it had lost the kick
that ends a turn. Then nothing at all is traced, so such times are left out. While CPUs do what
they should, throttled or not, they switch more often than that.
"""

import re
from bisect import bisect_right

EVENT = re.compile(r" (?P<s>\d+)\.(?P<us>\d{6}): sched_")
SWITCH = re.compile(
    r"\[(?P<cpu>\d+)\] .*? (?P<s>\d+)\.(?P<us>\d{6}): sched_switch: .* ==> next_comm=(?P<comm>.*) next_pid=\d+ "
)
STEP_US = 100
SILENCE_US = 20_000


class Use:
    """When threads of a name ran, on one CPU: from-to pairs in microseconds, in order."""

    def __init__(self, stretches):
        self.begins = [begin for begin, _ in stretches]
        self.stretches = stretches
        self.before = [0]
        for begin, end in stretches:
            self.before.append(self.before[-1] + end - begin)

    def until(self, us):
        """How long they ran before a time."""
        index = bisect_right(self.begins, us)
        if index == 0:
            return 0
        begin, end = self.stretches[index - 1]
        return self.before[index - 1] + min(us, end) - begin

    def within(self, begin, end):
        return self.until(end) - self.until(begin)


def uses(trace, comm):
    """Use by CPU of the threads of a name; `trace` is the text of tracefs."""
    stretches, since, last = {}, {}, 0
    for line in trace.splitlines():
        found = SWITCH.search(line)
        if not found:
            continue
        cpu, last = int(found["cpu"]), int(found["s"]) * 1_000_000 + int(found["us"])
        if cpu in since:
            stretches.setdefault(cpu, []).append((since.pop(cpu), last))
        if found["comm"] == comm:
            since[cpu] = last
    for cpu, begin in since.items():
        stretches.setdefault(cpu, []).append((begin, last))
    return {cpu: Use(found) for cpu, found in stretches.items()}


def silences(trace):
    """When nothing was traced for long."""
    times = [int(found["s"]) * 1_000_000 + int(found["us"]) for found in EVENT.finditer(trace)]
    return Use([(begin, end) for begin, end in zip(times, times[1:], strict=False) if end - begin > SILENCE_US])


def in_periods(used, regulating, silent, period_us, limit_us):
    """Use of each period throughout which there is regulation, in the best phase; the first three are Uses."""
    end = max(used.stretches[-1][1], regulating.stretches[-1][1])
    phases = []
    for phase in range(0, period_us, STEP_US):
        begins = range(phase, end, period_us)
        found = [
            used.within(begin, begin + period_us)
            for begin in begins
            if regulating.within(begin, begin + period_us) > period_us * 99 // 100
            and not silent.within(begin, begin + period_us)
        ]
        phases.append(found)
    return min(phases, key=lambda found: (sum(used > limit_us for used in found), max(found, default=0)))
