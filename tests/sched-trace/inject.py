# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Faults put into the events of a legal schedule, each of a known size.

The generator's own faults change decisions; these change what was traced.
"""

from generator import Event


def _mentions(event, *threads):
    return event.thread in threads or event.to in threads


def extend(machine, by_ns, from_ns):
    """The first member that another gang follows runs on until `by_ns` after that one's start.

    `from_ns`: the first of those from then on.

    Returns the events, or None if no hand-over of the schedule can be changed like that.
    """
    events = machine.events
    for one, stop in enumerate(events):
        if stop.time < from_ns or stop.kind != "switch" or stop.thread.kind != "gang":
            continue
        for two in range(one + 1, len(events)):
            start = events[two]
            if (
                start.cpu == stop.cpu
                or start.kind == "switch"
                and _mentions(start, stop.thread, stop.to)
            ):
                break
            if start.kind != "switch" or start.to.partition != stop.thread.partition:
                continue
            if start.to.priority == stop.thread.priority:
                break
            late = stop._replace(time=start.time + by_ns)
            after = two + 1
            while after < len(events) and events[after].time < late.time:
                after += 1
            between = events[one + 1 : after]
            quiet = all(
                each.cpu != stop.cpu
                and not (each.kind == "switch" and _mentions(each, stop.thread, stop.to))
                and each.to not in (stop.thread,)
                for each in between
            )
            if quiet:
                return [*events[:one], *between, late, *events[after:]]
            break
    return None


def drop_switch(machine, draw, from_ns):
    """Without one switch of the time from then on, which another one of its CPU follows."""
    events = machine.events
    inner = [
        index
        for index, event in enumerate(events)
        if event.kind == "switch"
        and event.time >= from_ns
        and any(each.cpu == event.cpu and each.kind == "switch" for each in events[index + 1 :])
    ]
    index = draw.choice(inner)
    return events[:index] + events[index + 1 :]


def lose(machine, draw, count=7):
    """Without some events of a CPU in a row, and with the mark that a tracer leaves."""
    events = machine.events
    cpu = draw.randrange(len(machine.current))
    mine = [index for index, event in enumerate(events) if event.cpu == cpu]
    first = draw.randrange(1, len(mine) - count)
    gone, after = set(mine[first : first + count]), mine[first + count]
    mark = Event(events[after].time, "lost", cpu, events[after].thread)
    kept = [event for index, event in enumerate(events[:after]) if index not in gone]
    return [*kept, mark, *events[after:]]
