# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The words of a schedule: threads, gangs, partitions, losses, and who is told about them."""

from .assignment import BEST_EFFORT, IDLE, KERNEL, MEMBER
from .units import from_trace

RUNNING, WAITING, SLEEPING, UNKNOWN = range(4)
KINDS = {IDLE: "idle", KERNEL: "kernel thread", BEST_EFFORT: "best-effort", MEMBER: "member"}


class Thread:
    """A thread and where it stands; `since`: when its state began; `ready_since`: when it
    woke, unless it sleeps."""

    __slots__ = "pid comm kind gang cpus state cpu since ready_since waited_ns".split()

    def __init__(self, pid, comm):
        self.pid, self.comm = pid, comm
        self.kind = self.gang = self.cpus = self.cpu = None
        self.state, self.since, self.ready_since = UNKNOWN, 0, None
        self.waited_ns = 0

    def __str__(self):
        return f"{from_trace(self.comm)}:{self.pid}"


class GangState:
    """The threads of one priority in a partition: `running` by CPU, `waiting` by thread id."""

    __slots__ = "name priority partition running waiting ready_since ready_line cpu_ns".split()

    def __init__(self, gang, partition):
        self.name, self.priority, self.partition = gang.name, gang.priority, partition
        self.running, self.waiting = {}, {}
        # Since it has had runnable threads, by the order of lines even within one time.
        self.ready_since, self.ready_line, self.cpu_ns = None, 0, 0

    def __str__(self):
        return f"{self.name} (priority {self.priority})"


class PartitionState:
    """Gangs with a runnable thread (`ready`, the most important of them `top`) and with a
    running one (`active`); `unknown`: CPUs of which is not known what they run."""

    __slots__ = "name cpus unknown ready active top gangs".split()

    def __init__(self, partition):
        self.name, self.cpus, self.unknown = partition.name, partition.cpus, partition.cpus
        self.ready, self.active, self.top, self.gangs = set(), set(), None, []


class Loss:
    """What the trace does not say, about a CPU; `partition`: that of an unwoken member."""

    def __init__(self, kind, cpu, from_ns, to_ns, line, why, partition=None):
        self.kind, self.cpu, self.from_ns, self.to_ns = kind, cpu, from_ns, to_ns
        self.line, self.why, self.partition = line, why, partition


class Observer:
    """What a schedule tells. It calls only those methods that a class has of its own."""

    def gangs_changed(self, schedule, partition, now, line):
        """A judged partition has other threads that run or wait, or other free CPUs."""

    def cpus_changed(self, schedule, now, line):
        """Other CPUs are idle, or best-effort work waits for other CPUs."""

    def member_starts(self, thread, before, last_switch, now, line):
        """A member was switched in, where `before` ran and which switched last then, if known."""

    def time_passes(self, now):
        """All events up to `now` have been told."""

    def doubt(self, loss):
        """What was told since `loss.from_ns` may be wrong; what is open has no known start."""

    def finish(self, now, line):
        """The trace ends."""
