# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Events of the generator as text, the way each tool prints them, one character a byte.

After samples/, which the tools themselves wrote. Tools pad names by bytes, so a name that
is not ASCII shows whether columns are read as bytes.
"""

from typing import NamedTuple

from sched_trace.units import as_in_trace

START_S = 41


class Format(NamedTuple):
    """How a tool prints: fraction digits, header, body, and the mark of a loss."""

    digits: int
    header: str
    body: str
    lost: str
    first_lines: str = ""


TRACEFS_HEAD = (
    "# tracer: nop\n#\n# entries-in-buffer/entries-written: 7283/7283   #P:4\n#\n"
    "#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
)
FTRACE = "{comm:>16}-{pid:<7} [{cpu:03}] d..2. {time}: {event}: "
TRACE_CMD = "{comm:>16}-{pid:<5} [{cpu:03}] {time}: {event:22}"
LATENCY = "{comm:>8.8}-{pid:<5} {cpu:3}d..2. {time}: {event:22}"
PERF = "{comm:>16} {pid:>5} [{cpu:03}] {time}: {event:>23}: "
FORMATS = {
    "tracefs": Format(6, FTRACE, "kernel", "CPU:{cpu} [LOST 7 EVENTS]\n", TRACEFS_HEAD),
    "trace-cmd": Format(6, TRACE_CMD, "plug-in", "CPU:{cpu} [7 EVENTS DROPPED]\n", "cpus=4\n"),
    "trace-cmd -t": Format(9, TRACE_CMD, "plug-in", "CPU:{cpu} [EVENTS DROPPED]\n", "cpus=4\n"),
    "trace-cmd -l": Format(6, LATENCY, "plug-in", "CPU:{cpu} [7 EVENTS DROPPED]\n", "cpus=4\n"),
    "trace-cmd -R": Format(6, TRACE_CMD, "raw", "CPU:{cpu} [7 EVENTS DROPPED]\n", "cpus=4\n"),
    "perf": Format(6, PERF, "kernel", PERF[:-2] + " lost 7\n"),
    "perf --ns": Format(9, PERF, "kernel", PERF[:-2] + " lost 7\n"),
}


def unit_ns(name):
    """The shortest time that a format shows."""
    return 10 ** (9 - FORMATS[name].digits)


def text_of(events, name):
    """A whole trace in a format."""
    how = FORMATS[name]
    return how.first_lines + "".join(_line(event, how, name) for event in events)


def _line(event, how, name):
    comm, pid = (event.thread.comm, event.thread.pid) if event.thread else ("", 0)
    if pid == 0:
        comm = "swapper" if name.startswith("perf") else "<idle>"
    ns = START_S * 10**9 + event.time
    known = {
        "comm": as_in_trace(comm),
        "pid": pid,
        "cpu": event.cpu,
        "time": f"{ns // 10**9:>6}." + f"{ns % 10**9:09}"[: how.digits],
    }
    if event.kind == "lost":
        return how.lost.format(event="PERF_RECORD_LOST", **known)
    label = "sched_switch" if event.kind == "switch" else "sched_wakeup"
    label = "sched:" + label if name.startswith("perf") else label + ":" * (how.body != "kernel")
    body = BODIES[how.body, event.kind](event)
    return how.header.format(event=label, **known) + as_in_trace(body) + "\n"


def _priority(thread):
    return 99 - thread.priority if thread.kind == "gang" else 120


def _kernel_switch(event):
    one, to = event.thread, event.to
    return (
        f"prev_comm={one.comm} prev_pid={one.pid} prev_prio={_priority(one)} prev_state={event.state} ==> "
        f"next_comm={to.comm} next_pid={to.pid} next_prio={_priority(to)}"
    )


def _raw_switch(event):
    number = {"R": 0, "R+": 256, "S": 1, "D": 2, "I": 128}[event.state]
    kernel = _kernel_switch(event).replace(
        f"prev_state={event.state} ==> ", f"prev_state={number} "
    )
    return " " + kernel


def _plug_in_switch(event):
    one, to, state = event.thread, event.to, {"R+": "R", "I": "W"}.get(event.state, event.state)
    return (
        f"{one.comm}:{one.pid} [{_priority(one)}] {state} ==> {to.comm}:{to.pid} [{_priority(to)}]"
    )


def _kernel_wake(event):
    to = event.to
    return f"comm={to.comm} pid={to.pid} prio={_priority(to)} target_cpu={to.cpus[0]:03}"


def _plug_in_wake(event):
    to = event.to
    return f"{to.comm}:{to.pid} [{_priority(to)}] CPU:{to.cpus[0]:03}"


BODIES = {
    ("kernel", "switch"): _kernel_switch,
    ("kernel", "wake"): _kernel_wake,
    ("raw", "switch"): _raw_switch,
    ("raw", "wake"): _kernel_wake,
    ("plug-in", "switch"): _plug_in_switch,
    ("plug-in", "wake"): _plug_in_wake,
}
