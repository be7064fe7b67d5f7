# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Times and sets of CPUs, as they are written in files and options."""

import re
from decimal import Decimal, InvalidOperation
from functools import lru_cache

NS_PER_S = 1_000_000_000
NS_PER_US = 1_000
# Linux's own limit is 8192 (CONFIG_NR_CPUS on amd64); a bigger number is a slip.
MAX_CPUS = 8192


class Unusable(Exception):
    """Nothing can be said: the input is not what it should be."""


def nanoseconds(value, ns_per_unit, where):
    """A number of seconds or microseconds as whole nanoseconds; never rounded."""
    try:
        exact = Decimal(str(value)) * ns_per_unit
        if isinstance(value, bool) or not exact.is_finite() or exact < 0 or exact != int(exact):
            raise InvalidOperation
    except InvalidOperation:
        raise Unusable(
            f"{where}: found {value!r}, expected a time of whole nanoseconds from 0"
        ) from None
    return int(exact)


def cpu_mask(text, where):
    """`0-2,5` as a set of bits."""
    mask = 0
    for part in str(text).split(","):
        ends = re.fullmatch(r"\s*(\d{1,4})(?:-(\d{1,4}))?\s*", part)
        first, last = (int(ends[1]), int(ends[2] or ends[1])) if ends else (1, 0)
        if not first <= last < MAX_CPUS:
            raise Unusable(f"{where}: found {text!r}, expected CPUs as in '0-2,5'")
        mask |= (1 << last + 1) - (1 << first)
    return mask


def cpus_of(mask):
    """The CPUs of a set, lowest first."""
    return [cpu for cpu in range(mask.bit_length()) if mask >> cpu & 1]


def cpu_list(mask):
    """The inverse of `cpu_mask`."""
    ranges = []
    for cpu in cpus_of(mask):
        if ranges and ranges[-1][1] == cpu - 1:
            ranges[-1][1] = cpu
        else:
            ranges.append([cpu, cpu])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def seconds_text(time_ns):
    """The way traces write times, with all digits."""
    return f"{time_ns // NS_PER_S}.{time_ns % NS_PER_S:09d}"


@lru_cache(maxsize=10_000)
def from_trace(text):
    """A name of a trace, which is read one character a byte, as it may be shown."""
    name = text.encode("latin-1").decode("utf-8", "replace")
    return "".join(letter if letter.isprintable() else "?" for letter in name)


def as_in_trace(text):
    """The inverse, for patterns."""
    return text.encode("utf-8").decode("latin-1")
