# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What the gangs did: activations, hand-overs, pre-emptions, run times.

activation    A gang starts to run and, since it ran last, another gang of the partition
              has run or none of its own threads was runnable. So a gang is activated once
              a job, and again after each pre-emption, but not when one of its threads
              hands over to another.
hand-over     An activation of another gang than the last one.
pre-emption   A hand-over to a higher gang while the last one still had a runnable thread.
run time      Of a gang: while a thread of it runs. CPU time: summed over its threads.
"""

from .schedule import Observer

# In the sequence of activations: events are missing here.
MISSING = "?"


class PartitionActivity:
    """Of one partition."""

    def __init__(self):
        self.sequence = []
        self.hand_overs = 0
        self.judged_ns, self.judged_since, self.first_ns = 0, None, None
        self.last, self.active, self.ready = None, set(), set()
        self.ended, self.running_since = set(), {}
        self.activations, self.preempted, self.run_ns = {}, {}, {}


class Activity(Observer):
    """Of all partitions."""

    def __init__(self):
        self.partitions = {}

    def of(self, partition):
        if partition not in self.partitions:
            self.partitions[partition] = PartitionActivity()
        return self.partitions[partition]

    @property
    def hand_overs(self):
        return sum(one.hand_overs for one in self.partitions.values())

    def gangs_changed(self, schedule, partition, now, line):
        one = self.of(partition)
        if one.judged_since is None:
            one.judged_since = now
            one.first_ns = now if one.first_ns is None else one.first_ns
        if partition.ready != one.ready:
            one.ended |= one.ready - partition.ready
            one.ready = set(partition.ready)
        if partition.active != one.active:
            for gang in one.active - partition.active:
                self._stops(one, gang, now)
            for gang in sorted(partition.active - one.active, key=lambda gang: gang.priority):
                one.running_since[gang] = now
                self._starts(one, gang)
            one.active = set(partition.active)

    @staticmethod
    def _stops(one, gang, now):
        one.run_ns[gang] = one.run_ns.get(gang, 0) + now - one.running_since.pop(gang)

    @staticmethod
    def _starts(one, gang):
        last = one.last
        if last is gang and gang not in one.ended:
            return
        if last is not None and last is not gang:
            one.hand_overs += 1
            if last in one.ready and last.priority < gang.priority:
                one.preempted[last] = one.preempted.get(last, 0) + 1
        one.activations[gang] = one.activations.get(gang, 0) + 1
        one.sequence.append(gang.name)
        one.last = gang
        one.ended.discard(gang)

    def doubt(self, loss):
        if loss.kind != "lost":
            return
        for one in self.partitions.values():
            self._close(one, loss.from_ns)
            one.last, one.active, one.ready = None, set(), set()
            one.ended.clear()
            if one.sequence and one.sequence[-1] is not MISSING:
                one.sequence.append(MISSING)

    def finish(self, now, line):
        for one in self.partitions.values():
            self._close(one, now)

    def _close(self, one, now):
        for gang in list(one.running_since):
            self._stops(one, gang, max(now, one.running_since[gang]))
        if one.judged_since is not None:
            one.judged_ns += max(0, now - one.judged_since)
            one.judged_since = None
