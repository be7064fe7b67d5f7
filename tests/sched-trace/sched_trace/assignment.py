# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Who belongs to which gang: a JSON file.

    {
      "partitions": [{"name": "main", "cpus": "0-3"}],
      "gangs": [
        {"name": "steer", "partition": "main", "priority": 20,
         "members": [{"pids": [811, 812], "cpus": "0-1"},
                     {"comm": "steer-*", "from_s": 12.5, "to_s": 80}]}],
      "best_effort": [{"comm": "hog*", "cpus": "2-3"}],
      "kernel_threads": [{"pids": [2]}, {"comm": "my_kthread*"}]
    }

partitions   no CPU in two of them.
gangs        Bigger priorities are more important. Gangs of equal priority in a partition
             are one virtual gang. A name may occur more than once: a gang whose priority
             changes at run time is listed with both, and its members with times.
members      Chosen by `pids` (thread ids) or by `comm`, a pattern of the shell on the
             thread's name (`*`, `?`, `[a-z]`; `[[]` for a bracket). `from_s` and `to_s`:
             when, on the clock of the trace; without them always. `cpus`: where its
             threads may run; without it on every CPU of the partition.
             Children inherit, if the trace has sched_process_fork, unless they are
             listed themselves. Before pids, then names, then inheritance decide.
best_effort  Only needed to say where best-effort threads may run. Who is neither idle,
             nor a kernel thread, nor a member, is best-effort work, and may run anywhere.
kernel_threads  In addition to those with the usual names, see KERNEL_NAMES.
"""

import fnmatch
import json
import re
from decimal import Decimal

from .units import (
    NS_PER_S,
    Unusable,
    as_in_trace,
    cpu_list,
    cpu_mask,
    from_trace,
    nanoseconds,
)

IDLE, KERNEL, BEST_EFFORT, MEMBER = range(4)
ALL_CPUS = -1
# Priorities are those of SCHED_FIFO.
MAX_PRIORITY = 99
# Names that kernel/, mm/, block/, fs/ and drivers/ give to their threads.
KERNEL_NAMES = (
    "kthreadd kworker/* ksoftirqd/* ktimers/* migration/* cpuhp/* idle_inject/* irq/* irq_work/* "
    "rcu_* rcub/* rcuc/* rcuo[gps]/* pool_workqueue_* kdevtmpfs "
    "kdamond.* khungtaskd oom_reaper writeback kcompactd[0-9]* kswapd[0-9]* khugepaged ksmd kauditd "
    "watchdogd watchdog/* kthrotld kblockd kintegrityd jbd2/* ext4-* xfsaild/* scsi_eh_* scsi_tmf_* "
    "ata_sff md edac-poller devfreq_wq hwrng psimon spi[0-9]* mmcqd/* nvme-* cfg80211 zswap* "
    "vballoon stopper/* posixcputmr/* pr/* sched_ext_* scx_*_helper backlog_napi/* napi/* "
    "inet_frag_wq ipv6_addrconf mld netns kstrp acpi_thermal_pm slub_flushwq tpm_dev_wq"
).split()


class Partition:
    """A fixed set of CPUs inside which one gang runs at a time."""

    def __init__(self, name, cpus):
        self.name, self.cpus, self.gangs = name, cpus, {}


class Gang:
    """All members of a partition that have one priority."""

    def __init__(self, partition, priority):
        self.partition, self.priority, self.names = partition, priority, []

    @property
    def name(self):
        return "+".join(self.names)


class Choice:
    """Some threads: by id or by name, for some time."""

    def __init__(self, pids, comm, cpus, from_ns=0, to_ns=None, gang=None):
        self.pids, self.comm, self.cpus, self.gang = pids, comm, cpus, gang
        self.from_ns, self.to_ns = from_ns, to_ns
        self.matches = _pattern([comm]) if comm is not None else None

    def holds(self, time):
        return self.from_ns <= time and (self.to_ns is None or time < self.to_ns)

    def __str__(self):
        return f"comm {self.comm!r}" if self.comm is not None else f"pids {self.pids}"


class Assignment:
    """The role of every thread at every time."""

    def __init__(self, text, kernel_threads=()):
        try:
            table = json.loads(text, parse_float=Decimal)
        except ValueError as error:
            raise Unusable(f"gangs: not JSON: {error}") from None
        fields = _fields(
            table, "gangs file", {"partitions", "gangs"}, {"best_effort", "kernel_threads"}
        )
        self.partitions = _partitions(fields["partitions"])
        self.gangs = []
        self._members, self._best = [], []
        for where, gang in _rows(fields["gangs"], "gangs"):
            self._members += self._gang(gang, where)
        for where, row in _rows(fields.get("best_effort", []), "best_effort"):
            self._best.append(_choice(row, where, {"cpus"}))
        kernel = [
            _choice(row, where)
            for where, row in _rows(fields.get("kernel_threads", []), "kernel_threads")
        ]
        kernel += kernel_threads
        self._kernel_pids = {pid for choice in kernel for pid in choice.pids}
        names = KERNEL_NAMES + [choice.comm for choice in kernel if choice.comm is not None]
        self._kernel_name = _pattern(names)
        self._by_pid = {}
        for choice in self._members:
            for pid in choice.pids:
                self._by_pid.setdefault(pid, []).append(choice)
        self._by_comm = [choice for choice in self._members if choice.comm is not None]
        self._inherited = {}
        _check_overlaps(self._by_pid)

    def _gang(self, row, where):
        fields = _fields(row, where, {"name", "partition", "priority", "members"}, {"cpus"})
        name = _name(fields["name"], f"{where}.name")
        partition = self.partitions.get(fields["partition"])
        if partition is None:
            raise Unusable(
                f"{where}.partition: found {fields['partition']!r}, expected one of {', '.join(self.partitions)}"
            )
        priority = _whole(fields["priority"], f"{where}.priority", MAX_PRIORITY)
        gang = partition.gangs.get(priority)
        if gang is None:
            gang = partition.gangs[priority] = Gang(partition, priority)
            self.gangs.append(gang)
        if name not in gang.names:
            gang.names.append(name)
            gang.names.sort()
        common = fields.get("cpus")
        members = []
        for place, member in _rows(fields["members"], f"{where}.members"):
            if common is not None and isinstance(member, dict):
                member = {"cpus": common, **member}
            choice = _choice(member, place, {"cpus", "from_s", "to_s"})
            choice.gang = gang
            if (
                choice.cpus & partition.cpus == 0
                or choice.cpus != ALL_CPUS
                and choice.cpus & ~partition.cpus
            ):
                raise Unusable(
                    f"{place}.cpus: found {cpu_list(choice.cpus)}, expected CPUs of partition "
                    f"{partition.name}, {cpu_list(partition.cpus)}"
                )
            choice.cpus &= partition.cpus
            members.append(choice)
        return members

    def boundaries(self):
        """The times at which membership changes."""
        times = {choice.from_ns for choice in self._members} | {
            choice.to_ns for choice in self._members
        }
        return sorted(times - {0, None})

    def role(self, pid, comm, time):
        """(IDLE | KERNEL | BEST_EFFORT | MEMBER, its gang or None, CPUs where it may run)."""
        if pid == 0:
            return IDLE, None, ALL_CPUS
        member = self._member(pid, comm, time)
        if member:
            return MEMBER, member.gang, member.cpus
        if pid in self._kernel_pids or self._kernel_name(comm):
            return KERNEL, None, ALL_CPUS
        for choice in self._best:
            if pid in choice.pids or choice.comm is not None and choice.matches(comm):
                return BEST_EFFORT, None, choice.cpus
        return BEST_EFFORT, None, ALL_CPUS

    def _member(self, pid, comm, time):
        for choice in self._by_pid.get(pid, ()):
            if choice.holds(time):
                return choice
        found = None
        for choice in self._by_comm:
            if choice.holds(time) and choice.matches(comm):
                if found and found.gang is not choice.gang:
                    raise Unusable(
                        f"gangs: thread {from_trace(comm)}:{pid} is in gang {found.gang.name} ({found}) and in "
                        f"gang {choice.gang.name} ({choice}) at once"
                    )
                found = found or choice
        if found:
            return found
        inherited = self._inherited.get(pid)
        return inherited if inherited and inherited.holds(time) else None

    def fork(self, parent, comm, child, time):
        """A child belongs where its parent does, whoever had its id before."""
        self._inherited[child] = self._member(parent, comm, time)

    def exchange(self, one, two):
        """Two threads have each other's id from now on."""
        inherited = self._inherited
        inherited[one], inherited[two] = inherited.get(two), inherited.get(one)


def _pattern(names):
    return re.compile("|".join(fnmatch.translate(as_in_trace(name)) for name in names)).match


def kernel_thread_list(text, name):
    """A file with a thread id or a pattern for names in each line."""
    choices = []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        if line.isdigit():
            choices.append(_choice({"pids": [int(line)]}, f"{name}, line {number}"))
        elif line:
            choices.append(_choice({"comm": line}, f"{name}, line {number}"))
    return choices


def _partitions(rows):
    partitions, used = {}, 0
    for where, row in _rows(rows, "partitions"):
        fields = _fields(row, where, {"name", "cpus"})
        name = _name(fields["name"], f"{where}.name")
        cpus = cpu_mask(fields["cpus"], f"{where}.cpus")
        if name in partitions or cpus & used:
            raise Unusable(
                f"{where}: its name or CPU {cpu_list(cpus & used)} is another partition's too"
            )
        partitions[name] = Partition(name, cpus)
        used |= cpus
    if not partitions:
        raise Unusable("partitions: found none, expected one at least")
    return partitions


def _choice(row, where, optional=frozenset()):
    fields = _fields(row, where, set(), {"pids", "comm"} | optional)
    if ("pids" in fields) == ("comm" in fields):
        raise Unusable(f"{where}: expected either pids or comm")
    pids = fields.get("pids", [])
    if not isinstance(pids, list):
        raise Unusable(f"{where}.pids: found {pids!r}, expected a list of thread ids")
    for pid in pids:
        _whole(pid, f"{where}.pids", 1 << 22)
    comm = fields.get("comm")
    if comm is not None:
        _name(comm, f"{where}.comm")
    cpus = cpu_mask(fields["cpus"], f"{where}.cpus") if "cpus" in fields else ALL_CPUS
    from_ns = nanoseconds(fields.get("from_s", 0), NS_PER_S, f"{where}.from_s")
    to_ns = nanoseconds(fields["to_s"], NS_PER_S, f"{where}.to_s") if "to_s" in fields else None
    if to_ns is not None and to_ns <= from_ns:
        raise Unusable(f"{where}: to_s must be later than from_s")
    return Choice(pids, comm, cpus, from_ns, to_ns)


def _check_overlaps(by_pid):
    for pid, choices in by_pid.items():
        choices.sort(key=lambda choice: choice.from_ns)
        for one, next_one in zip(choices, choices[1:]):
            if one.to_ns is None or next_one.from_ns < one.to_ns:
                raise Unusable(f"gangs: thread {pid} is listed twice for the same time")


def _rows(value, where):
    if not isinstance(value, list):
        raise Unusable(f"{where}: found {value!r}, expected a list")
    return [(f"{where}[{index}]", row) for index, row in enumerate(value)]


def _fields(value, where, required, optional=frozenset()):
    if not isinstance(value, dict):
        raise Unusable(f"{where}: found {value!r}, expected an object")
    for name in sorted(required - set(value)):
        raise Unusable(f"{where}: {name} is missing")
    for name in sorted(set(value) - required - optional):
        raise Unusable(
            f"{where}: found {name!r}, expected {', '.join(sorted(required | optional))}"
        )
    return value


def _name(value, where):
    if not isinstance(value, str) or not value:
        raise Unusable(f"{where}: found {value!r}, expected a text")
    return value


def _whole(value, where, most):
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
        raise Unusable(f"{where}: found {value!r}, expected a whole number from 1 to {most}")
    return value
