# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Runs the command in this process, on text made by a test."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLES = HERE / "samples"


def _load_check():
    loader = importlib.machinery.SourceFileLoader("check", str(HERE / "check"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check", loader))
    loader.exec_module(module)
    return module


check = _load_check()


def judge(trace, gangs, *options):
    """(exit status, JSON) for a trace (one character a byte) and an assignment (table, or text)."""
    with tempfile.TemporaryDirectory() as folder:
        trace_file, gangs_file = Path(folder) / "trace", Path(folder) / "gangs.json"
        trace_file.write_bytes(trace.encode("latin-1"))
        gangs_file.write_text(
            gangs if isinstance(gangs, str) else json.dumps(gangs), encoding="utf-8"
        )
        return command(str(trace_file), "--gangs", str(gangs_file), *options)


def command(*arguments):
    """(exit status, JSON) of `check --json ARGUMENTS`."""
    status, text = plain(*arguments, "--json")
    return status, json.loads(text)


def plain(*arguments):
    """(exit status, text) of `check ARGUMENTS`."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = check.main(list(arguments))
    return status, output.getvalue()


def found(table):
    """Names of the rules with findings."""
    return {rule["name"] for rule in table["rules"] if rule["findings"]}


@contextlib.contextmanager
def file_of(text):
    """The path of a file with that text."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_text(text, encoding="utf-8")
        yield str(path)
