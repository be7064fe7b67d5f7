import re
from bisect import bisect_right
from collections import Counter
from itertools import pairwise

from waits import time_us

SWITCH = re.compile(
    r"\[(?P<cpu>\d+)\] .*? (?P<s>\d+)\.(?P<us>\d{6}): sched_switch: .* ==> next_comm=(?P<comm>.*) next_pid=\d+ "
)
EXPIRY = re.compile(
    r"\[(?P<cpu>\d+)\] .*? (?P<s>\d+)\.(?P<us>\d{6}): hrtimer_expire_entry: "
    r"hrtimer=(?P<timer>\S+) function=(?P<function>\S+) "
)
REFILL = "bpf_timer_cb"
COUNTED = "perf_swevent_hrtimer"
# What has these events traced, where tracefs is $tracing.
TRACE = f"""
    event=$tracing/events/timer/hrtimer_expire_entry
    echo 'function.function == {REFILL} || function.function == {COUNTED}' >$event/filter
    echo 1 >$event/enable
"""


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
        cpu, last = int(found["cpu"]), time_us(found)
        if cpu in since:
            stretches.setdefault(cpu, []).append((since.pop(cpu), last))
        if found["comm"] == comm:
            since[cpu] = last
    for cpu, begin in since.items():
        stretches.setdefault(cpu, []).append((begin, last))
    return {cpu: Use(found) for cpu, found in stretches.items()}


def periods(trace):
    """From-to pairs; the scheduler's other timers expire less often than the one of refills."""
    expiries = [found for found in EXPIRY.finditer(trace) if found["function"] == REFILL]
    ((refills, _),) = Counter(found["timer"] for found in expiries).most_common(1)
    return list(pairwise(time_us(found) for found in expiries if found["timer"] == refills))


def uncounted(trace, us):
    """By CPU, when its counter did not interrupt it for longer than that."""
    interrupts = {}
    for found in EXPIRY.finditer(trace):
        if found["function"] == COUNTED:
            interrupts.setdefault(int(found["cpu"]), []).append(time_us(found))
    return {
        cpu: Use([(begin, end) for begin, end in pairwise(times) if end - begin > us])
        for cpu, times in interrupts.items()
    }
