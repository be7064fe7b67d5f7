# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What runs and what waits at every instant, and what of it is not known.

A thread runs from the switch to it until the switch away from it. It is runnable from its
sched_wakeup until it is switched out asleep or dead; while it runs it is runnable. At a
time t holds what holds after all events of time t, so what begins and ends at one time
does not last.

What the trace does not say is written down, not guessed:
  - lost      events of a CPU are missing: by the kernel's own mark; or an event finds
              another thread on the CPU than the event before left there; or a thread runs
              on two CPUs. After it nothing is known about threads that do not run.
  - unwoken   a thread runs that slept, and nothing woke it.
  - unknown   a CPU has no event for long after the start.
A partition is judged while all its CPUs are known. A loss shows late, so observers are
told to doubt what they saw since the last event that was good.
"""

from .assignment import BEST_EFFORT, IDLE, KERNEL, MEMBER
from .lines import DEAD, EXEC, FORK, LOST, NO_CPU, NO_PID, RUNNABLE, STARTED, SWITCH, WAKE
from .state import (
    RUNNING,
    SLEEPING,
    UNKNOWN,
    WAITING,
    GangState,
    Loss,
    Observer,
    PartitionState,
    Thread,
)
from .units import cpus_of, from_trace

# Losses that are kept with their details; all are counted.
MOST_LOSSES = 1000


class Schedule:
    """Replays events in order of time, and tells the observers."""

    def __init__(self, assignment, observers, from_ns=0):
        self.assignment = assignment
        self.partitions = [
            PartitionState(partition) for partition in assignment.partitions.values()
        ]
        self.cpus = sum(partition.cpus for partition in self.partitions)
        self._partition_of = {cpu: p for p in self.partitions for cpu in cpus_of(p.cpus)}
        self._gangs = {}
        by_name = {partition.name: partition for partition in self.partitions}
        for gang in assignment.gangs:
            state = self._gangs[gang] = GangState(gang, by_name[gang.partition.name])
            state.partition.gangs.append(state)
        self.threads, self.current, self._idle_threads = {}, {}, {}
        # What each CPU switched out last, and when its last event was.
        self._left, self._seen = {}, {}
        # Pairs of thread ids, see Reader.exchanges.
        self.exchanges = set()
        # CPUs that are idle; that are idle or have best-effort work; for which such work waits.
        self.idle = self.free = self.wanted = 0
        # Waiting best-effort threads by thread id, by the CPUs where they may run.
        self.best_waiting = {}
        self.start = self.now = None
        self.line = 0
        self.losses, self.loss_counts = [], {"lost": 0, "unwoken": 0, "unknown": 0}
        # (CPU, time): whose first events are not in the trace, and when its events begin.
        self.late_starts = []
        self.ready_at_start = 0
        self._open_losses, self._late = {}, set()
        self.from_ns, self.judging = from_ns, False
        self._boundaries = sorted({*assignment.boundaries(), from_ns})
        # Since the last event, and since the last time.
        self._gangs_of_event, self._gangs_touched = [], set()
        self._partitions_touched, self._cpus_touched = [], False
        self._observe(observers)

    def _observe(self, observers):
        def told(method):
            return [
                getattr(one, method)
                for one in observers
                if getattr(type(one), method) is not getattr(Observer, method)
            ]

        self._on_gangs, self._on_cpus = told("gangs_changed"), told("cpus_changed")
        self._on_start, self._on_time = told("member_starts"), told("time_passes")
        self._on_doubt, self._on_finish = told("doubt"), told("finish")

    def feed(self, event):
        """Replays one event; none is earlier than the one before."""
        time, line, kind, cpu, current, comm, state, pid, name = event
        if time != self.now:
            self._advance(time, line)
        self.line = line
        if kind == SWITCH:
            self._switch(cpu, current, comm, state, pid, name)
        elif kind in (LOST, STARTED):
            for one in list(self.current) if cpu == NO_CPU else [cpu]:
                if one in self._seen:
                    self._forget(one, "events were lost, says the trace")
                else:
                    self._starts_late(one)
        else:
            if kind == EXEC:
                self._exchange(state, pid)
            self._confirm(cpu, current, comm)
            if kind == WAKE:
                self._wake(self._thread(pid, name, cpu))
            elif kind == FORK:
                self._fork(state, comm, pid)
        if self._gangs_of_event:
            self._end_event()

    def finish(self, at_ns=None, stops_by_cpu=False):
        """Ends it with the last event, or later, at `at_ns`.

        perf stops CPU by CPU, so what is lost up to the end is no loss.
        """
        if self.now is None:
            return
        self._advance(self.now if at_ns is None else at_ns, self.line)
        self._settle()
        for loss in self._open_losses.values():
            loss.to_ns = self.now
            if not (stops_by_cpu and loss.kind == "lost"):
                self._note(loss)
        for told in self._on_finish:
            told(self.now, self.line)

    def _end_event(self):
        for gang in self._gangs_of_event:
            if not (gang.running or gang.waiting):
                gang.ready_since = None
            elif gang.ready_since is None:
                gang.ready_since, gang.ready_line = self.now, self.line
        self._gangs_touched.update(self._gangs_of_event)
        self._gangs_of_event.clear()

    def _advance(self, time, line):
        """Time goes on: what holds now is what all events of the time before made."""
        if self.now is None:
            self.start = time
            for cpu in cpus_of(self.cpus):
                why = "there is no event that says what runs there"
                self._open_losses[cpu] = Loss("unknown", cpu, time, None, line, why)
        else:
            self._settle()
        while self._boundaries and self._boundaries[0] <= time:
            self.now = max(self._boundaries.pop(0), self.start)
            for thread in list(self.threads.values()):
                self._classify(thread)
            self._end_event()
            if not self.judging and self.now >= self.from_ns:
                self._judge()
            self._settle()
        self.now = time

    def _judge(self):
        self.judging = self._cpus_touched = True
        self._partitions_touched = list(self.partitions)
        self._run_times_from_now()

    def _run_times_from_now(self):
        for thread in self.threads.values():
            thread.since = self.now
        for partition in self.partitions:
            for gang in partition.gangs:
                gang.cpu_ns = 0

    # Threads

    def _thread(self, pid, comm, cpu):
        """The thread with that id, known from now on by that name."""
        if pid == 0:
            thread = self._idle_threads.get(cpu)
            if thread is None:
                thread = self._idle_threads[cpu] = Thread(0, f"swapper/{cpu}")
                thread.kind, thread.cpu = IDLE, cpu
            return thread
        thread = self.threads.get(pid)
        if thread is None:
            thread = self.threads[pid] = Thread(pid, comm)
            self._role(thread)
        elif comm and thread.comm != comm:
            thread.comm = comm
            self._classify(thread)
        return thread

    def _role(self, thread):
        thread.kind, gang, thread.cpus = self.assignment.role(thread.pid, thread.comm, self.now)
        thread.gang = self._gangs.get(gang)

    def _classify(self, thread):
        """Its name, its id or the time may have given it another role."""
        state, cpu = thread.state, thread.cpu
        self._out(thread)
        self._role(thread)
        self._into(thread, state, cpu)

    def _out(self, thread):
        gang = thread.gang
        thread.waited_ns = self.now - thread.since if thread.state == WAITING else 0
        if thread.state == RUNNING:
            if gang:
                gang.cpu_ns += self.now - thread.since
                del gang.running[thread.cpu]
                self._gangs_of_event.append(gang)
        elif thread.state == WAITING:
            if gang:
                del gang.waiting[thread.pid]
                self._gangs_of_event.append(gang)
            elif thread.kind == BEST_EFFORT:
                self._best(thread).pop(thread.pid, None)
                self._recount()
        thread.state = UNKNOWN

    def _into(self, thread, state, cpu):
        gang = thread.gang
        thread.state, thread.cpu, thread.since = state, cpu, self.now
        if state == SLEEPING:
            thread.ready_since = None
        elif thread.ready_since is None:
            thread.ready_since = self.now
        if state == RUNNING:
            self._occupy(thread, cpu)
            if gang:
                gang.running[cpu] = thread
                self._gangs_of_event.append(gang)
        elif state == WAITING:
            if gang:
                gang.waiting[thread.pid] = thread
                self._gangs_of_event.append(gang)
            elif thread.kind == BEST_EFFORT:
                self._best(thread)[thread.pid] = thread
                self._recount()

    def _best(self, thread):
        return self.best_waiting.setdefault(thread.cpus & self.cpus, {})

    def _recount(self):
        wanted = 0
        for cpus, threads in self.best_waiting.items():
            if threads:
                wanted |= cpus
        if wanted != self.wanted:
            self.wanted = wanted
            self._cpus_touched = True

    def _occupy(self, thread, cpu):
        self.current[cpu] = thread
        bit = 1 << cpu
        idle = self.idle | bit if thread.kind == IDLE else self.idle & ~bit
        free = self.free | bit if thread.kind in (IDLE, BEST_EFFORT) else self.free & ~bit
        self._free(idle, free, cpu)

    def _free(self, idle, free, cpu):
        if idle != self.idle:
            self.idle = idle
            self._cpus_touched = True
        if free != self.free:
            self.free = free
            partition = self._partition_of.get(cpu)
            if partition and partition.top and partition.top.waiting:
                self._partitions_touched.append(partition)

    # Events

    def _switch(self, cpu, prev_pid, prev_comm, state, next_pid, next_comm):
        prev = self._there(cpu, prev_pid)
        if prev is None or prev.pid != prev_pid:
            if prev is not None:
                self._forget(
                    cpu, f"{prev} ran there, but {from_trace(prev_comm)}:{prev_pid} stopped"
                )
            prev = self._appears(cpu, prev_pid, prev_comm)
        elif prev_pid:
            self._thread(prev_pid, prev_comm, cpu)
        thread = self._thread(next_pid, next_comm, cpu)
        if thread.state == RUNNING and thread.cpu != cpu:
            thread = self._on_two_cpus(thread, cpu)
        self._can_start(thread, cpu)
        self._out(prev)
        if prev_pid:
            if state == DEAD:
                self.threads.pop(prev_pid, None)
            else:
                self._into(prev, WAITING if state == RUNNABLE else SLEEPING, cpu)
        if thread is not prev or state != DEAD:
            self._out(thread)
        self._into(thread, RUNNING, cpu)
        self._left[cpu] = prev_pid
        last_switch, self._seen[cpu] = self._seen.get(cpu), self.now
        if thread.kind == MEMBER and self.judging:
            for told in self._on_start:
                told(thread, prev, last_switch, self.now, self.line)

    def _can_start(self, thread, cpu):
        """What is switched in was runnable, or something is missing."""
        if thread.kind in (IDLE, KERNEL):
            return
        if thread.state == SLEEPING:
            why = f"{thread} ran, but nothing had woken it"
            partition = thread.gang and thread.gang.partition.name
            loss = Loss("unwoken", cpu, thread.since, self.now, self.line, why, partition)
            self._note(loss)
            self._lose(loss)
        elif thread.state == UNKNOWN and thread.kind == MEMBER:
            self.ready_at_start += 1

    def _on_two_cpus(self, thread, cpu):
        """A thread starts, and ran elsewhere: exec gave its id to another one, or a loss."""
        for pair in list(self.exchanges):
            if thread.pid in pair:
                pid = thread.pid
                self._exchange(*pair)
                return self._thread(pid, "", cpu)
        self._forget(thread.cpu, f"{thread} ran there, but started on CPU {cpu}")
        return thread

    def _wake(self, thread):
        if thread.kind != IDLE and thread.state in (SLEEPING, UNKNOWN):
            self._into(thread, WAITING, thread.cpu)

    def _fork(self, parent, comm, child):
        self.assignment.fork(parent, comm, child, self.now)
        thread = self.threads.get(child)
        if thread:
            self._classify(thread)

    def _exchange(self, one, two):
        """Exec by a second thread of a process: it and the first one exchange their ids.

        That is so before the kernel's event of it, so we do it when the trace contradicts
        what we know, or else with that event; and once.
        """
        pair = frozenset((one, two))
        if pair not in self.exchanges:
            return
        self.exchanges.discard(pair)
        threads = [(self.threads.pop(one, None), two), (self.threads.pop(two, None), one)]
        self.assignment.exchange(one, two)
        for thread, pid in threads:
            if thread:
                state, cpu = thread.state, thread.cpu
                self._out(thread)
                thread.pid, self.threads[pid] = pid, thread
                self._role(thread)
                self._into(thread, state, cpu)

    def _there(self, cpu, pid):
        """The thread that we know on a CPU where an event finds `pid`."""
        here = self.current.get(cpu)
        if here is not None and here.pid != pid:
            self._exchange(here.pid, pid)
        return here

    def _confirm(self, cpu, pid, comm):
        """An event says that a thread runs there: it should be the one we know."""
        if pid == NO_PID:
            return
        here = self._there(cpu, pid)
        if here is None:
            if comm or pid == 0:
                self._appears(cpu, pid, comm)
        elif here.pid != pid:
            # Between the event of a switch and the switch the old thread still has the CPU.
            if pid == self._left.get(cpu):
                return
            self._forget(cpu, f"{here} ran there, but an event finds {from_trace(comm)}:{pid}")
            self._appears(cpu, pid, comm)
        self._seen[cpu] = self.now

    # What is not known

    def _appears(self, cpu, pid, comm):
        """A CPU of which was not known what it runs."""
        thread = self._thread(pid, comm, cpu)
        if thread.state == RUNNING and thread.cpu != cpu:
            self._forget(thread.cpu, f"{thread} ran there, but appears on CPU {cpu}")
        self._out(thread)
        self._into(thread, RUNNING, cpu)
        partition = self._partition_of.get(cpu)
        if partition:
            partition.unknown &= ~(1 << cpu)
            self._partitions_touched.append(partition)
        self._cpus_touched = True
        loss = self._open_losses.pop(cpu, None)
        if loss:
            loss.to_ns = self.now
            if loss.kind == "lost" or loss.to_ns > loss.from_ns:
                self._note(loss)
        return thread

    def _forget(self, cpu, why):
        """Nothing is known about a CPU until its next event."""
        loss = Loss("lost", cpu, self._seen.get(cpu, self.start), None, self.line, why)
        thread = self.current.pop(cpu, None)
        if thread:
            # Not counted as run time.
            thread.since = self.now
            self._out(thread)
        self._free(self.idle & ~(1 << cpu), self.free & ~(1 << cpu), cpu)
        partition = self._partition_of.get(cpu)
        if partition:
            partition.unknown |= 1 << cpu
        if cpu not in self._open_losses:
            self._open_losses[cpu] = loss
        self._know_only_running(loss)

    def _starts_late(self, cpu):
        """Its first event, but not the first there was: up to now it may have woken anybody."""
        self._late.add(cpu)
        why = "its first events are not in the trace"
        self._know_only_running(Loss("lost", cpu, self.start, self.now, self.line, why))
        # All that counts begins here, so what was missing before does not count either.
        self.losses.clear()
        self.loss_counts = dict.fromkeys(self.loss_counts, 0)
        self._run_times_from_now()

    def _know_only_running(self, loss):
        for thread in self.threads.values():
            if thread.state != RUNNING:
                self._out(thread)
        self._lose(loss)

    def _lose(self, loss):
        for told in self._on_doubt:
            told(loss)
        self._partitions_touched.extend(self.partitions)
        self._cpus_touched = True

    def _note(self, loss):
        if not self.judging:
            return
        if loss.kind == "unknown" and loss.cpu in self._late:
            self.late_starts.append((loss.cpu, loss.to_ns))
            return
        self.loss_counts[loss.kind] += 1
        if len(self.losses) < MOST_LOSSES:
            self.losses.append(loss)

    # Telling

    def _settle(self):
        """Works out what the events of one time changed together, and tells it."""
        partitions = self._partitions_touched
        for gang in self._gangs_touched:
            self._update(gang)
            if gang.partition not in partitions:
                partitions.append(gang.partition)
        if self.judging:
            for partition in partitions:
                if not partition.unknown:
                    for told in self._on_gangs:
                        told(self, partition, self.now, self.line)
            if self._cpus_touched:
                for told in self._on_cpus:
                    told(self, self.now, self.line)
            for told in self._on_time:
                told(self.now)
        self._gangs_touched.clear()
        partitions.clear()
        self._cpus_touched = False

    def _update(self, gang):
        partition = gang.partition
        if gang.running:
            partition.active.add(gang)
        else:
            partition.active.discard(gang)
        ready = gang.ready_since is not None
        if ready != (gang in partition.ready):
            if ready:
                partition.ready.add(gang)
            else:
                partition.ready.discard(gang)
            partition.top = max(partition.ready, key=lambda one: one.priority, default=None)
