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

from typing import NamedTuple

from .state import Observer


class Activation(NamedTuple):
    """A gang starts; `before`: the other gang that ran last, if any; `preempts` it or not."""

    time_ns: int
    gang: object
    before: object
    preempts: bool


class PartitionActivity:
    """Of one partition."""

    def __init__(self):
        # None stands for events that are missing.
        self.sequence = []
        self.judged_ns, self.judged_since, self.first_ns = 0, None, None
        self.last, self.active, self.ready = None, set(), set()
        self.ended, self.running_since, self.run_ns = set(), {}, {}

    @property
    def activations(self):
        return [one for one in self.sequence if one is not None]

    @property
    def hand_overs(self):
        return sum(one.before is not None for one in self.activations)


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
                self._starts(one, gang, now)
            one.active = set(partition.active)

    @staticmethod
    def _stops(one, gang, now):
        one.run_ns[gang] = one.run_ns.get(gang, 0) + now - one.running_since.pop(gang)

    @staticmethod
    def _starts(one, gang, now):
        last = one.last
        if last is gang and gang not in one.ended:
            return
        before = last if last is not gang else None
        preempts = before is not None and before in one.ready and before.priority < gang.priority
        one.sequence.append(Activation(now, gang, before, preempts))
        one.last = gang
        one.ended.discard(gang)

    def doubt(self, loss):
        if loss.kind != "lost":
            return
        for one in self.partitions.values():
            self._close(one, loss.from_ns)
            one.last, one.active, one.ready = None, set(), set()
            one.ended.clear()
            while one.sequence and (
                one.sequence[-1] is None or one.sequence[-1].time_ns > loss.from_ns
            ):
                one.sequence.pop()
            if one.judged_ns:
                one.sequence.append(None)
            else:
                one.first_ns, one.run_ns = None, {}

    def finish(self, now, line):
        for one in self.partitions.values():
            self._close(one, now)

    def _close(self, one, now):
        for gang in list(one.running_since):
            self._stops(one, gang, max(now, one.running_since[gang]))
        if one.judged_since is not None:
            one.judged_ns += max(0, now - one.judged_since)
            one.judged_since = None
