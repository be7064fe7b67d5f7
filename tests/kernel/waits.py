# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""How long threads waited for a CPU, by the kernel's trace."""

import re

WOKEN = re.compile(r" (?P<s>\d+)\.(?P<us>\d{6}): sched_wakeup(?:_new)?: comm=(?P<comm>.*) pid=(?P<pid>\d+) ")
SWITCH = re.compile(
    r" (?P<s>\d+)\.(?P<us>\d{6}): sched_switch: prev_comm=(?P<prev_comm>.*) prev_pid=(?P<prev>\d+) prev_prio=\d+ "
    r"prev_state=(?P<state>\S+) ==> next_comm=.* next_pid=(?P<pid>\d+) "
)


def waits_us(trace, names):
    """Each wait of the threads of some names, in the order of their ends; `trace` is the text of tracefs.

    From when one is woken or stopped while it could run, to when it runs. Another CPU's wakeup of a thread
    may be recorded only after the switch to it: one of a thread that runs begins no wait."""
    since, running, waits = {}, set(), []
    for line in trace.splitlines():
        if woken := WOKEN.search(line):
            if woken["comm"] in names and woken["pid"] not in running:
                since.setdefault(woken["pid"], time_us(woken))
        elif switch := SWITCH.search(line):
            running.discard(switch["prev"])
            if switch["prev_comm"] in names and switch["state"].startswith("R"):
                since[switch["prev"]] = time_us(switch)
            running.add(switch["pid"])
            if switch["pid"] in since:
                waits.append(time_us(switch) - since.pop(switch["pid"]))
    return waits


def time_us(found):
    return int(found["s"]) * 1_000_000 + int(found["us"])
