# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Lines of tracefs written by hand; times in microseconds, threads as COMM-PID."""

import harness
from story import gangs

HEAD = "# tracer: nop\n#\n"


def line(us, cpu, current, event, body):
    """A line of tracefs; `current` as COMM-PID."""
    comm, pid = current.rsplit("-", 1)
    return f"{comm:>16}-{pid:<7} [{cpu:03}] d..2. {10 + us / 1e6:12.6f}: {event}: {body}\n"


def switch(us, cpu, prev, state, to):
    """Both threads as COMM-PID."""
    (prev_comm, prev_pid), (comm, pid) = prev.rsplit("-", 1), to.rsplit("-", 1)
    header = "<idle>-0" if prev_pid == "0" else prev
    return line(
        us,
        cpu,
        header,
        "sched_switch",
        f"prev_comm={prev_comm} prev_pid={prev_pid} prev_prio=120 prev_state={state} ==> "
        f"next_comm={comm} next_pid={pid} next_prio=120",
    )


def wake(us, cpu, current, thread, event="sched_wakeup"):
    """The thread as COMM-PID."""
    comm, pid = thread.rsplit("-", 1)
    return line(us, cpu, current, event, f"comm={comm} pid={pid} prio=120 target_cpu={cpu:03}")


def fork(us, cpu, parent, child):
    """Both as COMM-PID."""
    (comm, pid), (child_comm, child_pid) = parent.rsplit("-", 1), child.rsplit("-", 1)
    return line(
        us,
        cpu,
        parent,
        "sched_process_fork",
        f"comm={comm} pid={pid} child_comm={child_comm} child_pid={child_pid}",
    )


def execute(us, cpu, thread, old_pid):
    """The thread as COMM-PID, as it is after exec."""
    pid = thread.rsplit("-", 1)[1]
    body = f"filename=/bin/a b pid={pid} old_pid={old_pid}"
    return line(us, cpu, thread, "sched_process_exec", body)


def start(*cpus):
    """The first event of some CPUs."""
    return HEAD + "".join(wake(0, cpu, "<idle>-0", f"kworker/{cpu}:1-{900 + cpu}") for cpu in cpus)


def two_cpus(*rows, **more):
    """An assignment of CPUs 0-1."""
    return {**gangs(*rows, **more), "partitions": [{"name": "main", "cpus": "0-1"}]}


def judge(text, table, *options):
    """Verdict and findings' rules; a trace without hand-overs is fine here."""
    status, told = harness.judge(text, table, "--hand-overs-at-least", "0", *options)
    return status, [one["rule"] for one in told.get("findings", [])], told
