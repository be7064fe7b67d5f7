#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Runs Z3 on a goal, telling it when to use the definitions of our predicates.

Why3 writes the definition of a predicate P as `forall x. P(x) = ...` and leaves to Z3
which terms in it call for an instance. Z3 then takes reads of memory too, finds P
wherever anything of that offset is read, and unfolds definitions that no goal names,
which read more. Here each gets its own left side as the only trigger. A trigger is a
hint: it says when to instantiate what is known, and neither assumes nor drops anything.

usage: z3_definitions.py Z3 GOAL.smt2 [OPTION...]
"""

import os
import re
import sys

DEFINITION = re.compile(r";; ((?:P|L|shift)_\w+)'def\n\(assert\s*\(forall\s*")


def end_of(text, start):
    """The index after the expression in parentheses that begins at `start`."""
    depth = 0
    for index in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index + 1
    raise ValueError(f"an expression does not end: {text[start : start + 60]!r}")


def with_triggers(goal):
    done = 0
    parts = []
    for definition in DEFINITION.finditer(goal):
        variables_end = end_of(goal, definition.end())
        variables = re.findall(r"\((\w+)\s", goal[definition.end() + 1 : variables_end])
        variables = [name for name in variables if name != "Array"]
        body = goal.index("(", variables_end)
        body_end = end_of(goal, body)
        trigger = f"({definition[1]} {' '.join(variables)})"
        parts += [goal[done:body], f"(! {goal[body:body_end]} :pattern ({trigger}))"]
        done = body_end
    return "".join([*parts, goal[done:]])


def main():
    z3, path, *options = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        goal = with_triggers(file.read())
    with open(os.memfd_create("goal"), "w+", encoding="utf-8") as file:
        file.write(goal)
        file.seek(0)
        os.dup2(file.fileno(), 0)
        os.execv(z3, [z3, "-in", *options])


main()
