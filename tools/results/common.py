# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""How the pages run ringfence, and how they write figures."""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HOUSE = Path(__file__).resolve().parent.parent.parent
RINGFENCE = os.environ.get("RINGFENCE", HOUSE / "target/release/ringfence")
RT_GANG = HOUSE / "scenarios/rt-gang"
SCALING = RT_GANG / "core-scaling.toml"
# Takes the framework out of a scenario's networks.
NO_FRAMEWORK = [(r"^framework = .*\n", "")]


def ringfence(*arguments):
    """What a command that always succeeds prints as JSON."""
    return json.loads(subprocess.check_output([RINGFENCE, *arguments, "--json"]))


def run(scenario, *arguments):
    """The cases of a scenario by name."""
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder) / "record.rfr"
        command = [RINGFENCE, "run", "--quiet", "--json", "-o", record, *arguments, scenario]
        finished = subprocess.run(command, stdout=subprocess.PIPE, check=False)
    # 2: a bound was missed, which is what some of the cases are there to show.
    if finished.returncode not in (0, 2):
        sys.exit(f"tools/results: {scenario} did not run")
    return {case["name"]: case for case in json.loads(finished.stdout)["cases"]}


def changed(text, changes):
    """The text with every pattern replaced, each of which has to be there."""
    for pattern, replacement in changes:
        text, times = re.subn(pattern, replacement, text, flags=re.MULTILINE)
        if times == 0:
            raise ValueError(f"{pattern} is not there")
    return text


def task(case, name):
    return next(task for task in case["statistics"]["tasks"] if task["task"] == name)


def ms(nanoseconds):
    return f"{nanoseconds / 1e6:.2f}"


def lines(rows):
    return "\n".join(rows)
