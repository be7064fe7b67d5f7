# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What in a kernel's log says that something went wrong."""

import re

# The time that the kernel puts before its own lines; what programs print on the console has none.
STAMP = re.compile(r"\[ *\d+\.\d{6}\](?:\[ *[TC]\d+\])? ")

FAILURES = re.compile(
    "|".join(
        (
            r"Kernel panic - not syncing",
            r"\bBUG:|kernel BUG at",  # soft lockups and KASAN among them
            r"\bOops\b|Internal error:|Unable to handle kernel|general protection fault",
            r"\bWARNING:|UBSAN:",
            r"rcu: INFO: .* detected .*stall|self-detected stall",
            r"hard LOCKUP|blocked for more than \d+ seconds",
            r"invoked oom-killer",
            # A scheduler that its own loader takes away is unregistered; all else is an error.
            r"sched_ext: .* disabled \((?!unregistered from )",
        )
    )
)


def failures(log, allow=()):
    """Lines that tell of a failure, without those that match a regular expression of `allow`."""
    allowed = [re.compile(pattern) for pattern in allow]
    found = []
    for line in log.splitlines():
        stamp = STAMP.search(line)
        if stamp is None:
            continue
        message = line[stamp.start() :].rstrip()
        if FAILURES.search(message) and not any(pattern.search(message) for pattern in allowed):
            found.append(message)
    return found
