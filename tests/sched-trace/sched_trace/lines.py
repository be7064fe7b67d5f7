# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""The text of a trace, as events.

Read are the files `trace` and `trace_pipe` of tracefs, the output of `trace-cmd report`
(also with -t, -l, -R) and that of `perf script` and `perf sched script`. A line has a
header: who runs on which CPU at what time; and a body, which the kernel's format string
or a plug-in of trace-cmd's library wrote. Every header goes with every body. The first
event of a file says which header it has.

An event is the tuple

    (time_ns, line, kind, cpu, current, comm, state, pid, name)

    kind      current, comm              state                 pid, name
    SWITCH    thread switched out        RUNNABLE, ASLEEP or   thread switched in
                                         DEAD, the one out
    WAKE      thread that runs there     -                     thread woken, or new
    FORK      "                          pid of the parent     its child
    EXEC      "                          pid before exec       pid after it, -
    RUNS      "                          -                     -
    STARTED   -                          -                     -
    LOST      -                          -                     -

RUNS stands for the first event of a CPU if it is none of the above: it still says who
runs. STARTED: what was before on this CPU was overwritten, or it was recorded only from
here on, as perf starts CPU by CPU. LOST: events between the one before on this CPU and
this one are missing; without a CPU (-1) it can be any. A comm is ""
and a pid -1 where the trace does not know them; and those of headers are no more than a
hint, because tracefs prints there what the thread was called last. Names can hold any
byte but NUL, and have at most 15, which is what makes lines with names such as
"a:1 [2] R ==> b" readable.
"""

import re

from .units import Unusable, from_trace

SWITCH, WAKE, FORK, EXEC, RUNS, STARTED, LOST = range(7)
RUNNABLE, ASLEEP, DEAD = range(3)
NO_PID = -1
NO_CPU = -1

_TIME = r"(\d+)\.(\d{3,9}): +"
_FLAGS = r"(?:[^\d\s]\S* +)?"
_FTRACE_TAIL, _PERF_TAIL = r"(\w+):\s", r"(?:\d+ +)?[\w.-]+:(\w+): "
# Columns where they are fixed: names can hold anything, even what looks like a header.
HEADERS = {
    "ftrace": [
        re.compile(
            r"(.{16})-(\d+) +(?:\([ \d-]+\) +)?\[(\d+)\]\s+" + _FLAGS + _TIME + _FTRACE_TAIL
        ),
        re.compile(
            r"\s*(.{1,16}?)-(\d+) +(?:\([ \d-]+\) +)?\[(\d+)\]\s+" + _FLAGS + _TIME + _FTRACE_TAIL
        ),
    ],
    "trace-cmd -l": [
        re.compile(r"(.{8})-(\d+) +(\d+)" + r"[^\d\s]\S* +" + _TIME + _FTRACE_TAIL),
    ],
    "perf": [
        re.compile(r"(.{16}) +(?:-?\d+/)?(-?\d+) +\[(\d+)\] +" + _FLAGS + _TIME + _PERF_TAIL),
        re.compile(r"\s*(.{1,16}?) +(?:-?\d+/)?(-?\d+) +\[(\d+)\] +" + _FLAGS + _TIME + _PERF_TAIL),
    ],
}
_NAME = r"(.{0,15})"
SWITCH_BODIES = [
    re.compile(
        rf"\s*prev_comm={_NAME} prev_pid=(\d+) prev_prio=-?\d+ prev_state=(\S+) "
        rf"(?:==> )?next_comm={_NAME} next_pid=(\d+) next_prio=-?\d+"
    ),
    re.compile(rf"\s*{_NAME}:(\d+) \[-?\d+\] (\S+) ==> {_NAME}:(\d+) \[-?\d+\]"),
]
WAKE_BODIES = [
    re.compile(rf"\s*comm={_NAME} pid=(\d+) prio=-?\d+(?: success=(\d))? target_cpu=\d+"),
    re.compile(rf"\s*{_NAME}:(\d+) \[-?\d+\](?: success=(\d))? CPU:\d+"),
]
FORK_BODY = re.compile(
    rf"\s*(?:parent_)?comm={_NAME} (?:parent_)?pid=(\d+) child_comm={_NAME} child_pid=(\d+)"
)
EXEC_BODY = re.compile(r"\s*filename=.* pid=(\d+) old_pid=(\d+)")
LOST_LINE = re.compile(r"CPU:(\d+) \[(?:LOST )?(?:\d+ )?EVENTS(?: DROPPED)?\]")
STARTED_LINE = re.compile(r"##### CPU (\d+) buffer started ####")
# perf says how many, but of which CPU only if the sample has its header.
PERF_LOST_LINE = re.compile(r".*?(?:\[(\d+)\] +[^\[]*)?PERF_RECORD_LOST")
# Of fractions of a second with so many digits.
NS_PER_DIGIT = [10 ** (9 - digits) for digits in range(10)]
UNREADABLE = -1
# include/linux/sched.h: EXIT_DEAD and EXIT_ZOMBIE; all states that are traced. The bit
# above them says that the thread was pre-empted (4.14 on).
EXIT_BITS, STATE_BITS = 0x30, 0xFF
LOOKS_READ = re.compile(r"\bsched_(?:switch|wakeup|wakeup_new|process_fork|process_exec):")
# A line of the tracer `latency-format`, or of a clock that does not count seconds.
NO_SECONDS = re.compile(r".{8,16}-\d+ .*? \d+(?:us.?)? ?: sched_\w+:")


def state_of(text):
    """What a thread is that was switched out, from its letters or its number."""
    if text[0] == "R":
        return RUNNABLE
    if text[0] in "XxZ":
        return DEAD
    if not re.fullmatch(r"\d+|0x[0-9a-f]+", text):
        return ASLEEP
    number = int(text, 0)
    if number & EXIT_BITS:
        return DEAD
    return ASLEEP if number & STATE_BITS else RUNNABLE


class Reader:
    """Events of one trace. Everything it could not use is counted, never passed over."""

    def __init__(self, file):
        self.file = file
        self.format = None
        self.header = None
        self.lines = 0
        self.events = 0
        self.ignored_events = 0
        self.other_lines = 0
        # (line, text) of lines that hold an event which had to be read.
        self.unreadable = []
        self.cut_off = None
        self.digits = 0
        self.wakes = 0
        # Pairs of ids that threads exchanged by exec: the trace shows it before it says so.
        self.exchanges = set()
        # CPUs with an event, and those of which one has said who runs there.
        self._seen, self._named = set(), set()
        self._lost, self._started = set(), set()
        self._states = {}
        self._switch, self._wake = SWITCH_BODIES[0], WAKE_BODIES[0]
        self._readers = {
            "sched_switch": self._read_switch,
            "sched_wakeup": self._read_wake,
            "sched_wakeup_new": self._read_wake,
            "sched_process_fork": self._read_fork,
            "sched_process_exec": self._read_exec,
        }

    def __iter__(self):
        header, time = None, 0
        for text in self.file:
            self.lines += 1
            match = header.match(text) if header else None
            if match is None:
                match = self._without_match(text)
                header = self.header
                if match is None:
                    continue
            comm, current, cpu, seconds, fraction, name = match.groups()
            digits = len(fraction)
            if digits > self.digits:
                self.digits = digits
            time = int(seconds + fraction) * NS_PER_DIGIT[digits]
            cpu = int(cpu)
            if cpu not in self._seen:
                self._seen.add(cpu)
                if self.format == "perf":
                    self._started.add(cpu)
            if self._lost or self._started:
                yield from self._marks(time, (NO_CPU, cpu))
            comm = comm.strip()
            if comm == "<...>":
                comm = ""
            event = self._event(time, cpu, int(current), comm, name, text, match.end())
            if event:
                self.events += event[2] != RUNS
                yield event
        yield from self._marks(time, sorted(self._lost))

    def _event(self, time, cpu, current, comm, name, text, at):
        read = self._readers.get(name)
        if read is None:
            self.ignored_events += 1
            if cpu in self._named or not comm:
                return None
            self._named.add(cpu)
            return time, self.lines, RUNS, cpu, current, comm, None, NO_PID, ""
        kind, rest = read(text, at, current, comm)
        if kind is UNREADABLE:
            self._unreadable(text)
        if rest is None:
            return None
        return (time, self.lines, kind, cpu, *rest)

    def _read_switch(self, text, at, current, _):
        body = self._switch.match(text, at) or self._other_switch(text, at)
        # Both name the thread switched out; perf's header does not know an exiting one.
        if not body or current not in (int(body[2]), NO_PID):
            return UNREADABLE, None
        state = self._states.get(body[3])
        if state is None:
            state = self._states[body[3]] = state_of(body[3])
        return SWITCH, (int(body[2]), body[1], state, int(body[5]), body[4])

    def _read_wake(self, text, at, current, comm):
        body = self._wake.match(text, at) or self._other_wake(text, at)
        if not body:
            return UNREADABLE, None
        # Of kernels that traced wake-ups of threads that were awake.
        if body[3] == "0":
            return WAKE, None
        self.wakes += 1
        return WAKE, (current, comm, None, int(body[2]), body[1])

    def _read_fork(self, text, at, current, _):
        body = FORK_BODY.match(text, at)
        if not body:
            return UNREADABLE, None
        return FORK, (current, body[1], int(body[2]), int(body[4]), body[3])

    def _read_exec(self, text, at, current, comm):
        body = EXEC_BODY.match(text, at)
        if not body:
            return UNREADABLE, None
        old, new = int(body[2]), int(body[1])
        if old != new:
            self.exchanges.add(frozenset((old, new)))
        return EXEC, (current, comm, old, new, "")

    def _other_switch(self, text, at):
        for body in SWITCH_BODIES:
            match = body.match(text, at)
            if match:
                self._switch = body
                return match
        return None

    def _other_wake(self, text, at):
        for body in WAKE_BODIES:
            match = body.match(text, at)
            if match:
                self._wake = body
                return match
        return None

    def _without_match(self, text):
        """Anything but an event with the header of this file: that header, or a mark."""
        lost = LOST_LINE.match(text) or PERF_LOST_LINE.match(text)
        if lost:
            self._lost.add(int(lost[1]) if lost[1] else NO_CPU)
        elif STARTED_LINE.match(text):
            self._started.add(int(STARTED_LINE.match(text)[1]))
        elif text.startswith("#"):
            self.other_lines += 1
        elif self.header is None and self._find_header(text):
            return self.header.match(text)
        elif LOOKS_READ.search(text):
            self._unreadable(text)
        else:
            self.other_lines += 1
        return None

    def _find_header(self, text):
        for name, headers in HEADERS.items():
            for header in headers:
                if header.match(text):
                    self.format, self.header = name, header
                    return True
        if NO_SECONDS.match(text):
            raise Unusable(
                f"line {self.lines}: the time is not in seconds; record with a clock that is "
                "(echo mono > trace_clock) and without the option latency-format"
            )
        return False

    def _marks(self, time, cpus):
        """LOST or STARTED, just before the next event of that CPU or at the end."""
        for kind, marked in ((LOST, self._lost), (STARTED, self._started)):
            for cpu in cpus:
                if cpu in marked:
                    marked.discard(cpu)
                    yield time, self.lines, kind, cpu, NO_PID, "", None, NO_PID, ""

    def _unreadable(self, text):
        if text.endswith("\n"):
            self.unreadable.append((self.lines, from_trace(text.rstrip("\n")[:200])))
        else:
            self.cut_off = self.lines
