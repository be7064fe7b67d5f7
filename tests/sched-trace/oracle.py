# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The rules once more, straight from their definitions and as slow as they are.

Works on the events of the generator, not on text: cuts time wherever an event is, works
out from scratch what holds in each piece, and joins pieces in which the same holds. Only
the tests use it, to compare with what the checker finds.
"""

from typing import NamedTuple


class Piece(NamedTuple):
    """From `from_ns` to `to_ns`: what each CPU runs, and which threads wait since when."""

    from_ns: int
    to_ns: int
    running: list
    waiting: dict


def pieces(events, idle):
    """Time from the first to the last event, in pieces in which nothing changes."""
    running, waiting, result = list(idle), {}, []
    times = sorted({event.time for event in events})
    by_time = {}
    for event in events:
        by_time.setdefault(event.time, []).append(event)
    for time, end in zip(times, [*times[1:], times[-1]]):
        for event in by_time[time]:
            if event.kind == "wake":
                if event.to not in running:
                    waiting.setdefault(event.to, time)
            elif event.kind == "switch":
                if event.thread.pid and event.state.startswith("R"):
                    waiting[event.thread] = time
                waiting.pop(event.to, None)
                running[event.cpu] = event.to
        result.append(Piece(time, end, list(running), dict(waiting)))
    return result


def stretches(parts, holding):
    """(key, from, to) of everything that `holding(piece)` names, as long as it names it."""
    since, result = {}, []
    for part in parts:
        now = set(holding(part))
        for key in [key for key in since if key not in now]:
            result.append((key, since.pop(key), part.from_ns))
        for key in now:
            since.setdefault(key, part.from_ns)
    return result + [(key, begun, parts[-1].to_ns) for key, begun in since.items()]


def priorities(part, index):
    """Of one partition: (those that run, all runnable ones)."""
    running = {one.priority for one in part.running if one.partition == index}
    return running, running | {one.priority for one in part.waiting if one.partition == index}


def holding(rule, machine):
    """What breaks a rule in a piece, as keys; a key that goes on is one stretch."""
    indexes = range(len(machine.partitions))

    def one_gang(part):
        return [index for index in indexes if len(priorities(part, index)[0]) > 1]

    def run_on(part):
        for index in indexes:
            running, ready = priorities(part, index)
            if running and min(running) < max(ready):
                yield index

    def blocked(part):
        for index in indexes:
            running, ready = priorities(part, index)
            if ready and max(ready) not in running:
                yield index, max(ready)

    def left_out(part):
        for thread in part.waiting:
            if thread.kind != "gang":
                continue
            running, ready = priorities(part, thread.partition)
            free = [part.running[cpu].kind in ("idle", "best") for cpu in thread.cpus]
            if thread.priority == max(ready) and running == {thread.priority} and any(free):
                yield thread.pid

    def idle(part):
        for cpu, thread in enumerate(part.running):
            if thread.kind == "idle" and any(
                one.kind == "best" and cpu in one.cpus for one in part.waiting
            ):
                yield cpu

    return {
        "one-gang": one_gang,
        "run-on": run_on,
        "blocked": blocked,
        "left-out": left_out,
        "idle": idle,
    }[rule]


def findings(machine, bound_ns):
    """(rule, from, to) of all stretches longer than the bound; for starts, of all late ones."""
    parts = pieces(machine.events, machine.idle)
    found = [
        (rule, begun, ended)
        for rule in ("one-gang", "run-on", "blocked", "left-out", "idle")
        for _, begun, ended in stretches(parts, holding(rule, machine))
        if ended - begun > (0 if rule == "one-gang" else bound_ns)
    ]
    return sorted([*found, *late_starts(machine)])


def late_starts(machine):
    """Starts of a gang on a CPU while a higher one had been runnable before.

    Of events of one time their order counts as well: a higher gang is one that is runnable
    at the start and at the end of that time, and was all the time since.
    """
    running, waiting, since = list(machine.idle), set(), {}
    starts, in_the_end = [], {}
    events = machine.events
    for event in events:
        to, time = event.to, event.time
        if event.kind == "wake":
            waiting |= {to} - set(running)
        else:
            waiting |= {event.thread} if event.thread.pid and event.state.startswith("R") else set()
            waiting.discard(to)
            running[event.cpu] = to
        ready = {
            (one.partition, one.priority) for one in [*running, *waiting] if one.kind == "gang"
        }
        since = {key: since.get(key, time) for key in ready}
        in_the_end[time] = since, list(running)
        mine = (to.partition, to.priority)
        if event.kind == "switch" and to.kind == "gang":
            if (event.thread.partition, event.thread.priority) != mine:
                starts.append((time, event.cpu, to, set(ready)))
    for time, cpu, to, ready in starts:
        since, running = in_the_end[time]
        late = [
            since[index, priority]
            for index, priority in ready & set(since)
            if index == to.partition and priority > to.priority and since[index, priority] < time
        ]
        # How long that goes on after the last event is not known.
        if late and running[cpu] is to and time < events[-1].time:
            yield "start", min(late), time
