# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Judges gang scheduling from the kernel's own trace; `../check` is the command.

It shares nothing with ringfence, on purpose: a checker that used the scheduler's rules,
log or names of states could only repeat its mistakes.

    lines       the text of a trace -> events
    order       events in order of time, from a known start
    assignment  who belongs to which gang
    state       threads, gangs, partitions, and who is told about them
    schedule    events -> what runs, what waits, and what is not known
    rules       what must hold; one class a rule, each with its definition
    share       stretches in which real-time work has to stand back
    activity    hand-overs, activations, run times
    report      the verdict, as text and as JSON
"""
