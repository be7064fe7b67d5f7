# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What must hold. Each class states its rule; source: RT-Gang (RTAS 2019), section III-B.

A rule measures stretches of time in which something is so that should not last. Without
a bound it only measures. With a bound, a stretch longer than it is a finding. Stretches
are half-open: what ends at the time at which it began has length 0 and breaks no bound.
"""

from array import array

from .schedule import KINDS, RUNNING, Observer
from .units import cpus_of, from_trace

# Findings that are kept with their details; all are counted.
MOST_FINDINGS = 10_000


class Finding:
    """One breach: what was so from when to when, by which lines, on which CPUs."""

    def __init__(self, rule, partition, began, ended, cpus, threads, text):
        self.rule, self.partition, self.cpus, self.threads, self.text = rule, partition, cpus, threads, text
        self.from_ns, self.from_line = began
        self.to_ns, self.to_line = ended
        # False if events are missing in that stretch.
        self.certain = True


class Findings:
    """All breaches, in order of their ends."""

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
            if finding.to_ns <= loss.from_ns:
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

    def begin(self, key, now, line, evidence):
        """Something is so from now on; evidence: (partition, CPUs, threads, text)."""
        self.open[key] = (now, line, evidence)

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
        self.findings.add(Finding(
            self.name, partition, (began, began_line), (now, line), cpus, threads,
            f"{text} for {length / 1000:g} us",
        ))

    def doubt(self, loss):
        for key, (_, _, (partition, cpus, _, _)) in list(self.open.items()):
            if self.concerns(loss, partition, cpus):
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
                self.begin(partition, now, line, self._evidence(partition))
        elif partition in self.open:
            self.end(partition, now, line, "overlap")

    @staticmethod
    def _evidence(partition):
        gangs = sorted(partition.active, key=lambda gang: -gang.priority)
        runs = [(cpu, thread) for gang in gangs for cpu, thread in gang.running.items()]
        names = " and ".join(str(gang) for gang in gangs)
        return (
            partition.name, [cpu for cpu, _ in runs],
            [person(thread, cpu) for cpu, thread in runs], f"{names} ran at once",
        )

    def concerns(self, loss, partition, cpus):
        return loss.kind == "lost" and loss.cpu in cpus


class Placement(Rule):
    """A member runs only on CPUs of its partition, and on those that the assignment gives it."""

    name = "placement"
    needs_wakes = False

    def member_starts(self, thread, before, now, line):
        if not thread.cpus >> thread.cpu & 1:
            self.findings.add(Finding(
                self.name, thread.gang.partition.name, (now, line), (now, line), [thread.cpu],
                [person(thread, thread.cpu)],
                f"{thread} of {thread.gang} started on CPU {thread.cpu}, which is not its own",
            ))

    def concerns(self, loss, partition, cpus):
        return False


class Start(Rule):
    """A lower gang starts on no CPU while a thread of a higher one is runnable.

    Starts: a member is switched in where no member of its gang ran. Measured is for how
    long the higher gang had been runnable. Bound: --late-start-us; a scheduler decides
    before the switch is in the trace, so a decision can be under way when another gang
    wakes up.
    """

    name = "start"

    def __init__(self, findings, bound_ns):
        super().__init__(findings, bound_ns)
        self._pending = []

    def member_starts(self, thread, before, now, line):
        gang = thread.gang
        if before.gang is gang or gang.partition.unknown:
            return
        higher = [
            one for one in gang.partition.gangs
            if one.priority > gang.priority and (one.running or one.waiting)
        ]
        if higher:
            self._pending.append((thread, thread.cpu, gang, now, line, higher))

    def time_passes(self, now):
        for thread, cpu, gang, started, line, higher in self._pending:
            # Of what happened at one time the order of lines is no proof: both must hold,
            # what was so at this line and what is so in the end.
            ready = [one for one in higher if one.ready_since is not None and one.ready_since < started]
            if gang.running.get(cpu) is not thread or not ready:
                continue
            first = min(ready, key=lambda one: one.ready_since)
            late = started - first.ready_since
            self.measured.setdefault("late start", array("q")).append(late)
            if self.bound_ns is not None and late > self.bound_ns:
                self._report(thread, cpu, gang, started, line, first, late)
        self._pending.clear()

    def _report(self, thread, cpu, gang, started, line, higher, late):
        others = list(higher.running.values()) or list(higher.waiting.values())
        other = others[0]
        self.findings.add(Finding(
            self.name, gang.partition.name, (higher.ready_since, higher.ready_line), (started, line),
            [cpu], [person(thread, cpu), person(other, other.cpu)],
            f"{thread} of {gang} started on CPU {cpu}, {late / 1000:g} us after {higher} was runnable",
        ))

    def doubt(self, loss):
        self._pending.clear()
        super().doubt(loss)


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
                self.begin(partition, now, line, self._evidence(partition, lower))
        elif partition in self.open:
            self.end(partition, now, line, "run-on")

    @staticmethod
    def _evidence(partition, lower):
        top = partition.top
        runs = list(lower.running.items())
        other = next(iter(top.waiting.values()), None) or next(iter(top.running.values()))
        return (
            partition.name, [cpu for cpu, _ in runs],
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
                self.begin(partition, now, line, self._evidence(partition, top))
        elif partition in self.open:
            self.end(partition, now, line, self._what[partition][1])
        self._top[partition] = top

    @staticmethod
    def _cause(top, before):
        if before is top:
            return "displaced"
        return "end" if before is not None and before.priority > top.priority else "wake"

    @staticmethod
    def _evidence(partition, top):
        thread = next(iter(top.waiting.values()))
        lower = [(cpu, one) for gang in partition.active for cpu, one in gang.running.items()]
        return (
            partition.name, cpus_of(partition.cpus),
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
                self.begin((partition, thread), now, line, self._evidence(partition, thread, schedule))

    @staticmethod
    def _evidence(partition, thread, schedule):
        cpus = cpus_of(thread.cpus & schedule.free)
        there = [person(schedule.current[cpu], cpu) for cpu in cpus]
        return (
            partition.name, cpus, [person(thread)] + there,
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
                self.begin(cpu, now, line, self._evidence(schedule, cpu))
            else:
                self.end(cpu, now, line, "idle")

    @staticmethod
    def _evidence(schedule, cpu):
        waiting = [
            thread for cpus, threads in schedule.best_waiting.items() if cpus >> cpu & 1
            for thread in threads.values()
        ]
        first = min(waiting, key=lambda thread: thread.since)
        partition = next(one for one in schedule.partitions if one.cpus >> cpu & 1)
        return (
            partition.name, [cpu], [person(first)],
            f"CPU {cpu} was idle while best-effort {first} was runnable",
        )

    def length(self, cpu, began, ended):
        longest, at = 0, began
        for from_ns, to_ns in self.throttled.get(cpu, ()):
            if to_ns > began and from_ns < ended:
                longest, at = max(longest, from_ns - at), to_ns
        return max(longest, ended - at)

    def doubt(self, loss):
        super().doubt(loss)
        self._mask = sum(1 << cpu for cpu in self.open)

    def concerns(self, loss, partition, cpus):
        return loss.kind == "lost" or loss.partition is None
