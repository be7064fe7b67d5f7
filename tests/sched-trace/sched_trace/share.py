# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Stretches in which real-time work has to stand back, because its share is used up.

The rule: of every window of `window_ns`, real-time work of a partition runs at most
`limit_ns`; windows lie back to back. Where they begin is not in the trace. So excused is
what some position of the windows excuses: when real-time work stopped at time t, and ran
for the limit between s and t with s as late as possible, a window that holds both ends by
s + window_ns, and until then all may stand back. What ran before the trace, or while
events were lost, is not known either, and may have been real-time work all the time.
"""

from collections import deque

from .state import Observer


class NoShare:
    """Real-time work never stands back."""

    def excused(self, partition, began, ended):
        return 0


class Share(Observer):
    """Keeps when real-time work of each partition ran, over the last window."""

    def __init__(self, limit_ns, window_ns):
        self.limit_ns, self.window_ns = limit_ns, window_ns
        self._busy = {}
        self._since = {}

    def gangs_changed(self, schedule, partition, now, line):
        since = self._since.get(partition)
        if partition not in self._busy:
            self._busy[partition] = deque([(now - self.window_ns, now)])
        if partition.active:
            if since is None:
                self._since[partition] = now
        elif since is not None:
            del self._since[partition]
            stretches = self._busy[partition]
            stretches.append((since, now))
            while stretches[0][1] < now - self.window_ns:
                stretches.popleft()

    def doubt(self, loss):
        if loss.kind == "lost":
            self._busy.clear()
            self._since.clear()

    def excused(self, partition, began, ended):
        """How much of a stretch real-time work stood back and was allowed to."""
        stretches = self._busy[partition]
        missing, stopped = self.limit_ns, stretches[-1][1]
        ended = min(ended, self._since.get(partition, ended))
        for from_ns, to_ns in reversed(stretches):
            if to_ns - from_ns >= missing:
                until = to_ns - missing + self.window_ns
                return max(0, min(until, ended) - max(stopped, began))
            missing -= to_ns - from_ns
        return 0
