# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Schedules written by hand, a line an event; times in microseconds."""

import json

import harness
from generator import US, Event, Thread
from writers import text_of


class Story:
    """A trace of some CPUs, idle at first, with a wake-up of a bystander on each."""

    def __init__(self, cpus=2, form="trace-cmd -t"):
        self.form = form
        self.idle = [Thread(0, f"swapper/{cpu}", "idle", [cpu]) for cpu in range(cpus)]
        self.current = list(self.idle)
        self.events = []
        self.table = {
            "partitions": [{"name": "main", "cpus": f"0-{cpus - 1}"}],
            "gangs": [],
            "best_effort": [],
        }
        self.pid = 100
        for cpu in range(cpus):
            self.wake(0, cpu, self.thread("kworker/x", "kernel"))

    def thread(self, comm, kind="best", priority=0):
        """A thread that no gang lists."""
        self.pid += 1
        return Thread(self.pid, comm, kind, [0], priority)

    def gang(self, name, priority, threads=1, partition="main", **more):
        """Threads of a new gang; `more` goes to its members in the assignment."""
        made = [self.thread(name, "gang", priority) for _ in range(threads)]
        self.table["gangs"].append(
            {
                "name": name,
                "partition": partition,
                "priority": priority,
                "members": [{"pids": [one.pid for one in made], **more}],
            }
        )
        return made

    def wake(self, us, cpu, *threads):
        for thread in threads:
            self.events.append(Event(round(us * US), "wake", cpu, self.current[cpu], "", thread))

    def switch(self, us, cpu, state, to=None):
        """What runs there stops in that state, and `to` (None: nothing) starts."""
        to = to or self.idle[cpu]
        self.events.append(Event(round(us * US), "switch", cpu, self.current[cpu], state, to))
        self.current[cpu] = to

    def lost(self, us, cpu):
        self.events.append(Event(round(us * US), "lost", cpu, self.current[cpu]))

    def swap_last(self):
        """The last two events in the other order: of equal times either may come first."""
        self.events[-2:] = self.events[:-3:-1]

    def text(self):
        return text_of(self.events, self.form)

    def judge(self, *options):
        """(exit status, JSON); a trace without hand-overs is fine here."""
        return harness.judge(self.text(), self.table, "--hand-overs-at-least", "0", *options)

    def found(self, *options):
        """(rule, length in us) of all findings."""
        _, table = self.judge(*options)
        return findings(table)


def findings(table):
    """(rule, length in us) of all certain findings of a JSON verdict."""
    return [
        (one["rule"], round((float(one["to_s"]) - float(one["from_s"])) * 1e6, 3))
        for one in table["findings"]
        if one["certain"]
    ]


def gangs(*rows, **more):
    """An assignment with one partition of CPUs 0-3: rows of (name, priority, members)."""
    return {
        "partitions": [{"name": "main", "cpus": "0-3"}],
        "gangs": [
            {"name": name, "partition": "main", "priority": priority, "members": members}
            for name, priority, members in rows
        ],
        **more,
    }


def as_json(table):
    return json.dumps(table)
