# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What must hold. Each class states its rule; source: RT-Gang (RTAS 2019), section III-B.

A rule measures stretches of time in which something is so that should not last. Without
a bound it only measures. With a bound, a stretch longer than it is a finding. Stretches
are half-open: what ends at the time at which it began has length 0 and breaks no bound.
"""

from array import array

from .state import KINDS, RUNNING, Observer
from .units import cpus_of, from_trace

# Findings that are kept with their details; all are counted.
MOST_FINDINGS = 10_000


class Finding:
    """One breach: what was so from when to when, by which lines, on which CPUs."""

    def __init__(self, rule, partition, began, ended, cpus, threads, text):
        self.rule, self.partition, self.text = rule, partition, text
        self.cpus, self.threads = cpus, threads
        self.from_ns, self.from_line = began
        self.to_ns, self.to_line = ended
        # When it was found; False if events are missing in that stretch.
        self.seen_ns, self.certain = self.to_ns, True


class Findings:
    """All breaches, in the order in which they were found."""

    def __init__(self):
        self.kept = []
        self.counts, self.doubtful = {}, {}

    def add(self, finding):
        self.counts[finding.rule] = self.counts.get(finding.rule, 0) + 1
        if len(self.kept) < MOST_FINDINGS:
            self.kept.append(finding)

    def doubt(self, rule, loss):
        """Those of a rule that a loss may have made."""
        for finding in reversed(self.kept):
            if finding.seen_ns <= loss.from_ns:
                break
            concerned = rule.concerns(loss, finding.partition, finding.cpus)
            if finding.rule == rule.name and finding.certain and concerned:
                finding.certain = False
                self.counts[rule.name] -= 1
                self.doubtful[rule.name] = self.doubtful.get(rule.name, 0) + 1


def person(thread, cpu=None):
    """A thread as findings name it."""
    gang = thread.gang
    return {
        "pid": thread.pid,
        "comm": from_trace(thread.comm),
        "kind": KINDS[thread.kind],
        "gang": gang.name if gang else None,
        "priority": gang.priority if gang else None,
        "cpu": cpu,
    }


class Rule(Observer):
    """A rule with its bound (ns, None: only measure) and what it measured (ns)."""

    name = ""
    # Whether it needs to know who is runnable, or only who runs.
    needs_wakes = True

    def __init__(self, findings, bound_ns):
        self.findings, self.bound_ns = findings, bound_ns
        self.measured = {}
        self.open = {}

    def begin(self, key, now, line, *what):
        """Something is so from now on; `evidence` of it is only taken if it can be needed."""
        self.open[key] = (now, line, None if self.bound_ns is None else self.evidence(*what))

    def evidence(self, *what):
        """(partition, CPUs, threads, text) of a finding."""
        raise NotImplementedError

    def end(self, key, now, line, label=None):
        """It is no longer so; it was measured under a label, or not at all."""
        began, began_line, evidence = self.open.pop(key)
        length = self.length(key, began, now)
        if label:
            self.measured.setdefault(label, array("q")).append(length)
        if self.bound_ns is not None and length > self.bound_ns:
            self.report(began, began_line, now, line, evidence, length)

    def length(self, key, began, ended):
        """The time that counts."""
        return ended - began

    def report(self, began, began_line, now, line, evidence, length):
        partition, cpus, threads, text = evidence
        self.findings.add(
            Finding(
                self.name,
                partition,
                (began, began_line),
                (now, line),
                cpus,
                threads,
                f"{text} for {length / 1000:g} us",
            )
        )

    def doubt(self, loss):
        for key, (_, _, evidence) in list(self.open.items()):
            if evidence is None or self.concerns(loss, *evidence[:2]):
                del self.open[key]
        self.findings.doubt(self, loss)

    def concerns(self, loss, partition, cpus):
        """Whether a loss can make this rule wrong about a partition and some of its CPUs."""
        return loss.kind == "lost" or loss.partition == partition

    def finish(self, now, line):
        for key in list(self.open):
            self.end(key, now, line)


class OneGang(Rule):
    """One gang at a time: at no instant do threads of two priorities of a partition run.

    Bound: --overlap-us. Threads of one priority are one (virtual) gang.
    """

    name = "one-gang"
    needs_wakes = False

    def gangs_changed(self, schedule, partition, now, line):
        if len(partition.active) > 1:
            if partition not in self.open:
                self.begin(partition, now, line, partition)
        elif partition in self.open:
            self.end(partition, now, line, "overlap")

    def evidence(self, partition):
        gangs = sorted(partition.active, key=lambda gang: -gang.priority)
        runs = [(cpu, thread) for gang in gangs for cpu, thread in gang.running.items()]
        names = " and ".join(str(gang) for gang in gangs)
        return (
            partition.name,
            [cpu for cpu, _ in runs],
            [person(thread, cpu) for cpu, thread in runs],
            f"{names} ran at once",
        )

    def concerns(self, loss, partition, cpus):
        return loss.kind == "lost" and loss.cpu in cpus


class Placement(Rule):
    """A member runs only on CPUs of its partition, and of those that the assignment gives it."""

    name = "placement"
    needs_wakes = False

    def gangs_changed(self, schedule, partition, now, line):
        wrong = [
            (partition, thread, cpu)
            for gang in partition.active
            for cpu, thread in gang.running.items()
            if not thread.cpus >> cpu & 1
        ]
        for key in [key for key in self.open if key[0] is partition and key not in wrong]:
            self.end(key, now, line, "elsewhere")
        for key in wrong:
            if key not in self.open:
                self.begin(key, now, line, *key)

    def evidence(self, partition, thread, cpu):
        return (
            partition.name,
            [cpu],
            [person(thread, cpu)],
            f"{thread} of {thread.gang} ran on CPU {cpu}, which is not its own,",
        )

    def concerns(self, loss, partition, cpus):
        return loss.kind == "lost" and loss.cpu in cpus


class LateStart:
    """A start beside higher gangs, runnable since when, until it is known how late it is."""

    def __init__(self, started, higher, finding, in_flight):
        self.started, self.higher, self.finding, self.late = started, higher, finding, 0
        # When the CPU switched last no thread of those gangs was runnable that is now.
        self.in_flight = in_flight


class Start(Rule):
    """A lower gang starts on no CPU while a thread of a higher one is runnable.

    Starts: a member is switched in where no member of its gang ran. Measured is how far
    from the edge of the stretch in which the higher gang is runnable that is, the nearer
    one. Bound: --late-start-us; a scheduler decides before the switch is in the trace, so
    the decision may be older than the wake-up of the higher gang, or newer than its end.
    A virtual CPU may be held up for long in between. So --in-flight-us allows more to a
    switch before which all runnable higher threads but the one that it ends were asleep,
    when the CPU switched last: the decision may be older than they. If one was runnable
    then, it is not.
    A thread that waited as long as --instant-after-us may start where no other gang runs: the
    kernel ends a scheduler under which one waits for ever. For how long is "run-on"'s to judge.
    Of events of one time the order of lines is no proof: the higher gang has to be
    runnable at this line and when all of that time has happened.
    """

    name = "start"

    def __init__(self, findings, bound_ns, in_flight_ns=0, instant_after_ns=None):
        super().__init__(findings, bound_ns)
        self._in_flight_ns, self._instant_after_ns = in_flight_ns, instant_after_ns
        self._fresh, self._waiting = [], []

    def member_starts(self, thread, before, last_switch, now, line):
        gang = thread.gang
        if before.gang is gang or gang.partition.unknown or self._is_instant(thread, before):
            return
        higher = [
            one
            for one in gang.partition.gangs
            if one.priority > gang.priority and (one.running or one.waiting)
        ]
        if higher:
            others = [
                other
                for one in higher
                for other in (*one.running.values(), *one.waiting.values())
                if other is not before
            ]
            in_flight = last_switch is not None and all(
                other.ready_since >= last_switch for other in others
            )
            self._fresh.append((thread, thread.cpu, gang, in_flight, line, higher))

    def _is_instant(self, thread, before):
        after_ns, gang = self._instant_after_ns, thread.gang
        if after_ns is None or thread.waited_ns < after_ns:
            return False
        others = (one for one in gang.partition.gangs if one is not gang)
        if any(other is not before for one in others for other in one.running.values()):
            return False
        self.measured.setdefault("wait for an instant", array("q")).append(thread.waited_ns)
        return True

    def time_passes(self, now):
        for thread, cpu, gang, in_flight, line, higher in self._fresh:
            higher = [
                one for one in higher if one.ready_since is not None and one.ready_since < now
            ]
            if higher and gang.running.get(cpu) is thread:
                first = min(higher, key=lambda one: one.ready_since)
                self._waiting.append(
                    LateStart(
                        now,
                        {one: one.ready_since for one in higher},
                        self._finding(thread, cpu, gang, now, line, first),
                        in_flight,
                    )
                )
        self._fresh.clear()
        if self._waiting:
            self._waiting = [start for start in self._waiting if not self._measure(start, now)]

    def _measure(self, start, now, ends=False):
        """Whether the nearer edges are known by now; if so, or if the trace ends, that is it."""
        for gang, began in list(start.higher.items()):
            before, after = start.started - began, now - start.started
            if gang.ready_since != began or after >= before or ends:
                start.late = max(start.late, min(before, after))
                del start.higher[gang]
        if start.higher:
            return False
        self.measured.setdefault("late start", array("q")).append(start.late)
        allowed_ns = self.bound_ns
        if start.in_flight and allowed_ns is not None:
            allowed_ns = max(allowed_ns, self._in_flight_ns)
        if allowed_ns is not None and start.late > allowed_ns:
            start.finding.seen_ns = now
            self.findings.add(start.finding)
        return True

    def _finding(self, thread, cpu, gang, started, line, higher):
        other = next(iter([*higher.running.values(), *higher.waiting.values()]))
        return Finding(
            self.name,
            gang.partition.name,
            (higher.ready_since, higher.ready_line),
            (started, line),
            [cpu],
            [person(thread, cpu), person(other, other.cpu)],
            f"{thread} of {gang} started on CPU {cpu}, "
            f"{(started - higher.ready_since) / 1000:g} us after {higher} was runnable",
        )

    def doubt(self, loss):
        self._fresh.clear()
        self._waiting = [
            start
            for start in self._waiting
            if not self.concerns(loss, start.finding.partition, start.finding.cpus)
        ]
        super().doubt(loss)

    def finish(self, now, line):
        for start in self._waiting:
            self._measure(start, now, ends=True)


class RunOn(Rule):
    """A lower gang does not run on after a higher one became runnable.

    Measured is from then until no lower thread runs. Bound: --hand-over-us.
    """

    name = "run-on"

    def gangs_changed(self, schedule, partition, now, line):
        lower = None
        for gang in partition.active:
            if gang is not partition.top and gang.priority < partition.top.priority:
                lower = gang
        if lower:
            if partition not in self.open:
                self.begin(partition, now, line, partition, lower)
        elif partition in self.open:
            self.end(partition, now, line, "run-on")

    def evidence(self, partition, lower):
        top = partition.top
        runs = list(lower.running.items())
        other = next(iter(top.waiting.values()), None) or next(iter(top.running.values()))
        return (
            partition.name,
            [cpu for cpu, _ in runs],
            [person(thread, cpu) for cpu, thread in runs] + [person(other, other.cpu)],
            f"{lower} ran on while {top} was runnable",
        )


class Blocked(Rule):
    """The highest gang with a runnable thread runs.

    Measured is how long it does not, from when it became the highest: because it woke up
    ("wake"), because a higher one ended ("end"), or because none of its threads runs any
    longer though one is runnable ("displaced": kernel threads, share limit). What a share
    limit excuses does not count. Bound: --blocked-us.
    """

    name = "blocked"

    def __init__(self, findings, bound_ns, share):
        super().__init__(findings, bound_ns)
        self.share = share
        self._top = {}
        self._what = {}

    def gangs_changed(self, schedule, partition, now, line):
        top = partition.top
        if partition in self.open and self._what[partition][0] is not top:
            self.end(partition, now, line)
        if top is not None and top not in partition.active:
            if partition not in self.open:
                self._what[partition] = (top, self._cause(top, self._top.get(partition)))
                self.begin(partition, now, line, partition, top)
        elif partition in self.open:
            self.end(partition, now, line, self._what[partition][1])
        self._top[partition] = top

    @staticmethod
    def _cause(top, before):
        if before is top:
            return "displaced"
        return "end" if before is not None and before.priority > top.priority else "wake"

    def evidence(self, partition, top):
        thread = next(iter(top.waiting.values()))
        lower = [(cpu, one) for gang in partition.active for cpu, one in gang.running.items()]
        return (
            partition.name,
            cpus_of(partition.cpus),
            [person(thread)] + [person(one, cpu) for cpu, one in lower],
            f"{top} was the highest runnable and did not run",
        )

    def length(self, key, began, ended):
        return ended - began - self.share.excused(key, began, ended)

    def doubt(self, loss):
        self._top.clear()
        super().doubt(loss)


class LeftOut(Rule):
    """When a gang runs, all its runnable threads do, as far as there are CPUs.

    Measured is how long a runnable thread of the highest gang waits, while that gang and no
    other runs and a CPU on which the thread may run is idle or has best-effort work. What
    a share limit excuses does not count. Bound: --blocked-us.
    """

    name = "left-out"

    def __init__(self, findings, bound_ns, share):
        super().__init__(findings, bound_ns)
        self.share = share

    def gangs_changed(self, schedule, partition, now, line):
        top = partition.top
        waiting = top.waiting if top else ()
        if not waiting and not self.open:
            return
        left_out, free = [], schedule.free
        if top and partition.active == {top}:
            left_out = [thread for thread in waiting.values() if thread.cpus & free]
        for key in [key for key in self.open if key[0] is partition and key[1] not in left_out]:
            self.end(key, now, line, "left out" if key[1].state == RUNNING else None)
        for thread in left_out:
            if (partition, thread) not in self.open:
                self.begin((partition, thread), now, line, partition, thread, schedule)

    def evidence(self, partition, thread, schedule):
        cpus = cpus_of(thread.cpus & schedule.free)
        there = [person(schedule.current[cpu], cpu) for cpu in cpus]
        return (
            partition.name,
            cpus,
            [person(thread)] + there,
            f"{thread} of {thread.gang} waited beside CPUs that no gang used",
        )

    def length(self, key, began, ended):
        return ended - began - self.share.excused(key[0], began, ended)


class Idle(Rule):
    """No CPU of a partition is idle while best-effort work waits that may run there.

    Measured is per CPU, and whichever thread it is that waits. Stretches in which the CPU
    was throttled (--throttled) do not count; then the longest rest does. Bound: --idle-us.
    """

    name = "idle"

    def __init__(self, findings, bound_ns, throttled):
        super().__init__(findings, bound_ns)
        self.throttled = throttled
        self._mask = 0

    def cpus_changed(self, schedule, now, line):
        mask = schedule.idle & schedule.wanted
        changed = mask ^ self._mask
        self._mask = mask
        while changed:
            bit = changed & -changed
            changed ^= bit
            cpu = bit.bit_length() - 1
            if mask & bit:
                self.begin(cpu, now, line, schedule, cpu)
            else:
                self.end(cpu, now, line, "idle")

    def evidence(self, schedule, cpu):
        waiting = [
            thread
            for cpus, threads in schedule.best_waiting.items()
            if cpus >> cpu & 1
            for thread in threads.values()
        ]
        first = min(waiting, key=lambda thread: thread.since)
        partition = next(one for one in schedule.partitions if one.cpus >> cpu & 1)
        return (
            partition.name,
            [cpu],
            [person(first)],
            f"CPU {cpu} was idle while best-effort {first} was runnable",
        )

    def length(self, cpu, began, ended):
        longest, at = 0, began
        for from_ns, to_ns in self.throttled.get(cpu, ()):
            if to_ns > began and from_ns < ended:
                longest, at = max(longest, from_ns - at), max(at, to_ns)
        return max(longest, ended - at)

    def doubt(self, loss):
        super().doubt(loss)
        self._mask = sum(1 << cpu for cpu in self.open)

    def concerns(self, loss, partition, cpus):
        return loss.kind == "lost" or loss.partition is None
