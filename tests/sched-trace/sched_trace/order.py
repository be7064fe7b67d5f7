# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Events in order of time, from a known start."""

from operator import itemgetter

from .lines import LOST, NO_PID, RUNS, STARTED
from .units import Unusable, cpus_of, seconds_text

# Events that are held back until every CPU of interest has had one.
START_EVENTS = 100_000


def in_time_order(events, window):
    """Sorts by time, in chunks: an event may come up to `window` events late.

    Events of equal time keep the order of their lines: the kernel merges its buffers by
    times that are finer than those it prints.
    """
    held, last = [], 0
    for event in events:
        held.append(event)
        if len(held) >= 2 * window:
            held.sort(key=itemgetter(0))
            last = _check_order(held[0], last)
            yield from held[:window]
            last = held[window - 1][0]
            del held[:window]
    held.sort(key=itemgetter(0))
    if held:
        _check_order(held[0], last)
    yield from held


def _check_order(event, last):
    if event[0] < last:
        raise Unusable(
            f"line {event[1]}: its time {seconds_text(event[0])} lies before {seconds_text(last)}, "
            "which was checked already; raise --reorder-events"
        )
    return last


def from_the_start(events, cpus, idle):
    """Tells at the first event who runs on each CPU, as its own first event will say.

    Nothing was switched before the first event of a CPU, so the thread that this event
    finds there has been there all the time; unless older events were overwritten. Both
    sets of CPUs are bits; `idle` is what the user knows.
    """
    held, missing, started = [], set(cpus_of(cpus & ~idle)), {}
    events = iter(events)
    for event in events:
        held.append(event)
        _, _, kind, cpu, current, comm, _, _, _ = event
        if cpu not in started:
            if kind in (LOST, STARTED):
                started[cpu] = None
            elif current != NO_PID and (comm or current == 0):
                started[cpu] = (current, comm)
            missing.discard(cpu)
        if not missing or len(held) == START_EVENTS:
            break
    if held:
        time, line = held[0][:2]
        for cpu in cpus_of(idle):
            started.setdefault(cpu, (0, ""))
        for cpu, thread in started.items():
            if thread:
                yield time, line, RUNS, cpu, thread[0], thread[1], None, NO_PID, ""
    yield from held
    yield from events
