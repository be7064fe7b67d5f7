# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Random schedules of gangs, legal ones and ones with a fault, as lists of events.

A small model of a machine that obeys the rules: a CPU starts a member of the highest
runnable gang, and only when no CPU of its partition runs another gang; CPUs that no gang
needs run best-effort work. Everything that changes makes all CPUs decide again, each
after a short random time, as reschedule interrupts do. Members and kernel threads are
pinned to a CPU; best-effort threads may run on several.

Times are multiples of `unit_ns`. Some delays are 0, so that events have equal times.
"""

import heapq
import itertools
import random
from typing import NamedTuple, Optional

US = 1000
# What decides again does so by then; and the most that kernel threads take of a CPU.
DELAY_NS = 20 * US
KERNEL_WORK_NS = 50 * US
# No legal schedule leaves a CPU or a gang waiting for longer; a fault lasts longer.
BOUND_NS = 400 * US
FAULT_NS = 2000 * US
NAMES = [
    "steer",
    "plan",
    "a:1 [2] R ==> b",
    "x-7 [001] d.",
    "=> prev_pid=3",
    "(deleted) 1.0:",
    "Web Content",
    "ü",
]


class Thread:
    """A thread of the model."""

    def __init__(self, pid, comm, kind, cpus, priority=0, partition=None):
        self.pid, self.comm, self.kind, self.cpus = pid, comm, kind, cpus
        self.priority, self.partition = priority, partition
        self.running_on, self.runnable, self.work_ns, self.round = None, False, 0, 0


class Event(NamedTuple):
    """A switch (`thread` to `to`), a wake-up of `to` beside `thread`, or a loss."""

    time: int
    kind: str
    cpu: int
    thread: Optional[Thread] = None
    state: str = ""
    to: Optional[Thread] = None


class Machine:
    """Runs for a while; `events` is what a kernel would have traced.

    fault: None, "overlap" (the new gang does not wait for the old one to stop), "beside"
    (a lower gang starts beside a higher one), "run-on" (a lower gang does not give way),
    "blocked" (after a gang ended the next one waits), "left-out" (one member does) or
    "idle" (best-effort work does). It strikes once, if there is an opportunity, and other
    threads may make up for it: whether a rule is broken is for the oracle to say.
    """

    def __init__(self, seed, cpus=4, partitions=1, gangs=4, unit_ns=1, share=None, fault=None):
        self.random = random.Random(seed)
        self.unit_ns, self.share, self.fault = unit_ns, share, fault
        self.pids = itertools.count(100)
        self.idle = [Thread(0, f"swapper/{cpu}", "idle", [cpu]) for cpu in range(cpus)]
        self.current = list(self.idle)
        self.partitions = [list(range(cpus))[part::partitions] for part in range(partitions)]
        self.threads = self._threads(cpus, gangs)
        self.now, self.events = 0, []
        self.queue, self.order = [], itertools.count()
        self.poked = [False] * cpus
        # What a fault holds up: CPU or partition, until when.
        self.deaf, self.held_up = {}, {}
        self.fault_from_ns = None
        self.used_ns = [0] * partitions
        self.exhausted = [False] * partitions
        self.seen_ns = [0] * partitions

    def _threads(self, cpus, gangs):
        draw, threads = self.random, []
        for index, partition in enumerate(self.partitions):
            for priority in draw.sample(range(1, 60), gangs):
                where = draw.sample(partition, draw.randint(1, len(partition)))
                for cpu in where + draw.sample(where, draw.randint(0, 1)):
                    threads.append(
                        Thread(next(self.pids), draw.choice(NAMES), "gang", [cpu], priority, index)
                    )
        for cpu in range(cpus):
            threads.append(Thread(next(self.pids), f"kworker/{cpu}:1-x", "kernel", [cpu]))
        for _ in range(cpus + 1):
            where = draw.sample(range(cpus), draw.randint(1, cpus))
            threads.append(Thread(next(self.pids), "hog " + draw.choice("ab-"), "best", where))
        return threads

    def at(self, delay_ns, function, *arguments):
        units = delay_ns // self.unit_ns
        entry = (self.now + units * self.unit_ns, next(self.order), function, arguments)
        heapq.heappush(self.queue, entry)

    def run(self, duration_ns):
        """The events of that time; a fault, if any, is not before a third of it."""
        self.fault_from_ns = duration_ns // 3 if self.fault else None
        for thread in self.threads:
            self.at(self.random.randint(0, 2000 * US), self._wake, thread)
        if self.share:
            self.at(self.share[1], self._renew)
        while self.queue and self.queue[0][0] < duration_ns:
            self.now, _, function, arguments = heapq.heappop(self.queue)
            function(*arguments)
        return self.events

    def _sleep_ns(self, thread):
        most = {"gang": 3000, "kernel": 4000, "best": 1500}[thread.kind]
        return self.random.randint(100, most) * US + self.random.randint(0, US)

    def _work_ns(self, thread):
        if thread.kind == "kernel":
            return self.random.randint(1, KERNEL_WORK_NS)
        return self.random.randint(10 * US, 900 * US)

    def _wake(self, thread):
        if thread.kind == "idle" or thread.runnable:
            return
        thread.runnable, thread.work_ns = True, max(self._work_ns(thread), self.unit_ns)
        cpu = self.random.choice(thread.cpus)
        self.events.append(Event(self.now, "wake", cpu, self.current[cpu], "", thread))
        self._changed()

    def _changed(self):
        for cpu, poked in enumerate(self.poked):
            if not poked:
                self.poked[cpu] = True
                self.at(
                    self.random.choice([0, self.random.randint(0, DELAY_NS)]), self._decide, cpu
                )

    def _decide(self, cpu):
        self.poked[cpu] = False
        if self.deaf.get(cpu, 0) > self.now:
            self.at(self.deaf[cpu] - self.now, self._changed)
            return
        chosen = self._choose(cpu)
        if chosen is not self.current[cpu]:
            self._switch(cpu, self.random.choice(["R", "R+"]), chosen)

    def _done(self, cpu, thread, round_number):
        if self.current[cpu] is not thread or thread.round != round_number:
            return
        thread.runnable = False
        self.at(self._sleep_ns(thread), self._wake, thread)
        self._switch(cpu, self.random.choice("SSSDI"), None)

    def _switch(self, cpu, state, chosen):
        before = self.current[cpu]
        self._count_share()
        before.running_on = None
        before.work_ns -= self.now - getattr(before, "started", self.now)
        chosen = chosen or self._choose(cpu)
        if chosen is before:
            # The fault made it its own successor.
            chosen = self.idle[cpu]
        self.events.append(
            Event(self.now, "switch", cpu, before, state if before.pid else "R", chosen)
        )
        self.current[cpu] = chosen
        chosen.running_on, chosen.started, chosen.round = cpu, self.now, chosen.round + 1
        if chosen.kind != "idle":
            self.at(max(chosen.work_ns, self.unit_ns), self._done, cpu, chosen, chosen.round)
        self._changed()

    # Decisions

    def _choose(self, cpu):
        here = self.current[cpu]
        for kind in ("kernel", "gang", "best"):
            if kind == "gang":
                thread = self._gang_thread(cpu, here)
            else:
                thread = here if here.kind == kind and here.runnable else self._waiting(kind, cpu)
            if thread:
                return thread
        return self.idle[cpu]

    def _waiting(self, kind, cpu):
        if self.held_up.get(("idle", cpu), 0) > self.now and kind == "best":
            return None
        for thread in self.threads:
            waits = thread.runnable and thread.running_on is None
            if waits and thread.kind == kind and cpu in thread.cpus:
                if kind == "best" and self._strikes("idle") and self.current[cpu].kind == "idle":
                    self.held_up["idle", cpu] = self.now + FAULT_NS
                    self.at(FAULT_NS, self._changed)
                    return None
                return thread
        return None

    def _gang_thread(self, cpu, here):
        index = next(part for part, cpus in enumerate(self.partitions) if cpu in cpus)
        members = [one for one in self.threads if one.partition == index and one.runnable]
        self._count_share()
        if (
            not members
            or self.exhausted[index]
            or self.held_up.get(("blocked", index), 0) > self.now
        ):
            return None
        top = max(one.priority for one in members)
        running = {one.priority for one in members if one.running_on not in (None, cpu)}
        mine = [one for one in members if cpu in one.cpus and one.running_on in (None, cpu)]
        if self.held_up.get(("left-out", cpu), 0) > self.now:
            return None
        faulty = self._faulty(cpu, here, index, top, running, mine)
        if faulty != "none":
            return faulty
        if running - {top}:
            return None
        mine = [one for one in mine if one.priority == top]
        return here if here in mine else next(iter(mine), None)

    def _faulty(self, cpu, here, index, top, running, mine):
        """What a fault makes of the decision; "none": nothing."""
        lower = [one for one in mine if one.priority < top]
        if here in lower and running <= {here.priority} and self._strikes("run-on"):
            self.deaf[cpu] = self.now + FAULT_NS
            self.at(FAULT_NS, self._changed)
            return here
        if lower and running == {top} and self._strikes("beside"):
            return lower[0]
        highest = [one for one in mine if one.priority == top]
        if highest and running and top not in running and self._strikes("overlap"):
            return highest[0]
        if highest and not running and here not in mine:
            for kind, where in (("blocked", index), ("left-out", cpu)):
                if self._strikes(kind):
                    self.held_up[kind, where] = self.now + FAULT_NS
                    self.at(FAULT_NS, self._changed)
                    return None
        return "none"

    def _strikes(self, fault):
        """Once, at the first opportunity after a third of the run."""
        if self.fault != fault or self.fault_from_ns is None or self.now < self.fault_from_ns:
            return False
        self.fault_from_ns = None
        return True

    # The share limit

    def _count_share(self):
        for index, cpus in enumerate(self.partitions):
            if any(self.current[cpu].kind == "gang" for cpu in cpus):
                self.used_ns[index] += self.now - self.seen_ns[index]
                if self.share and not self.exhausted[index]:
                    rest = self.share[0] - self.used_ns[index]
                    if rest <= 0:
                        self.exhausted[index] = True
                        self._changed()
            self.seen_ns[index] = self.now

    def _tick(self):
        self._count_share()

    def _renew(self):
        self._count_share()
        self.used_ns = [0] * len(self.used_ns)
        self.exhausted = [False] * len(self.exhausted)
        for part in range(1, 20):
            self.at(self.share[1] * part // 20, self._tick)
        self.at(self.share[1], self._renew)
        self._changed()

    def assignment(self):
        """The gangs, as the checker wants them."""
        gangs = {}
        for thread in self.threads:
            if thread.kind == "gang":
                gangs.setdefault((thread.partition, thread.priority), []).append(thread)
        return {
            "partitions": [
                {"name": f"part{index}", "cpus": ",".join(map(str, cpus))}
                for index, cpus in enumerate(self.partitions)
            ],
            "gangs": [
                {
                    "name": f"gang{priority}",
                    "partition": f"part{index}",
                    "priority": priority,
                    "members": [{"pids": [one.pid], "cpus": str(one.cpus[0])} for one in threads],
                }
                for (index, priority), threads in gangs.items()
            ],
            "best_effort": [
                {"pids": [one.pid], "cpus": ",".join(map(str, one.cpus))}
                for one in self.threads
                if one.kind == "best"
            ],
        }
