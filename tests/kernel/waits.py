# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""How long threads waited for a CPU, by the kernel's trace."""

import re

WOKEN = re.compile(r" (?P<s>\d+)\.(?P<us>\d{6}): sched_wakeup(?:_new)?: comm=(?P<comm>.*) pid=(?P<pid>\d+) ")
SWITCH = re.compile(
    r" (?P<s>\d+)\.(?P<us>\d{6}): sched_switch: prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev>\d+) prev_prio=\d+ "
    r"prev_state=(?P<state>\S+) ==> next_comm=.* next_pid=(?P<pid>\d+) "
)


def waits_us(trace, comm):
    """Each wait of the threads of a name, in the order of their ends; `trace` is the text of tracefs.

    From when one is woken or stopped while it could run, to when it runs."""
    since, waits = {}, []
    for line in trace.splitlines():
        if woken := WOKEN.search(line):
            if woken["comm"] == comm:
                since.setdefault(woken["pid"], time_us(woken))
        elif switch := SWITCH.search(line):
            if switch["pid"] in since:
                waits.append(time_us(switch) - since.pop(switch["pid"]))
            if switch["prev_comm"] == comm and switch["state"].startswith("R"):
                since[switch["prev"]] = time_us(switch)
    return waits


def time_us(found):
    return int(found["s"]) * 1_000_000 + int(found["us"])
