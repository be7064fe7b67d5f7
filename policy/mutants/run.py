#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Breaks the policy headers on purpose and shows what notices.

Every HEADER.toml beside this script lists mutants of HEADER.h:

    [[mutant]]
    name = "..."     # one line
    why = "..."      # what would go wrong in the field
    find = "..."     # text that occurs once in the header
    replace = "..."

Each is applied alone in a scratch copy; the header's tests run, the fast ones
first, and then its proofs, until something fails. The table goes to
docs/src/results/mutants.md. Exit status 1: a mutant survived; 2: nothing can be
said, because a mutant does not apply or compile, or the unbroken tree fails.

usage: run.py [HEADER...]   all headers by default; of other mutants that are still
                            listed the table keeps its rows
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:
    sys.exit("run.py: Python 3.11 or newer is needed (tomllib); this is " + sys.version.split()[0])

ROOT = Path(__file__).resolve().parents[2]
MUTANTS = ROOT / "policy/mutants"
PAGE = ROOT / "docs/src/results/mutants.md"
SURVIVED = "**survived**"
WORK = ROOT / "target/mutants"
TREE = WORK / "tree"
COPIED = ["Cargo.toml", "Cargo.lock", "rust-toolchain.toml", "policy", "crates/ringfence-policy"]
# A mutant can loop for ever; the slowest stage of the unbroken tree stays far below.
STAGE_TIMEOUT_S = 900
# Tests of a header that has none of its own.
TESTED_THROUGH = {
    "budget": "regulator",
    "reservation_budget": "reservation",
    "reservation_shares": "reservation",
    "share": "gang",
}


class Unusable(Exception):
    """Nothing can be said about the mutants."""


def copy_tree():
    """A workspace of the policy crate alone.

    Always at the same place, so that of all that is compiled only the C is compiled
    again; never with the real target folder, where Cargo would take a mutant for the
    real crate. Files are new, or Cargo would keep the last mutant of an earlier run.
    """
    shutil.rmtree(TREE, ignore_errors=True)
    for name in COPIED:
        source, copy = ROOT / name, TREE / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, copy_function=shutil.copy)
        else:
            shutil.copy(source, copy)


def run(command):
    """Exit status and output of a command in the scratch tree; status None after a timeout."""
    environment = dict(os.environ, CARGO_TARGET_DIR=str(WORK / "build"), RUST_BACKTRACE="0")
    process = subprocess.Popen(command, cwd=TREE, env=environment, text=True, errors="replace",
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    try:
        output, _ = process.communicate(timeout=STAGE_TIMEOUT_S)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.communicate()
        return None, ""


def cargo(*arguments):
    return ["cargo", "test", "--quiet", "--package", "ringfence-policy", *arguments]


def test_stage(header, *filters):
    """The name of the first test that fails, or None."""
    tests = TESTED_THROUGH.get(header, header)
    status, output = run(cargo("--test", tests, "--", *filters))
    if status == 0:
        return None
    if status is None:
        return "tests: never end"
    failed = re.search(r"^---- (\S+) stdout ----$", output, re.MULTILINE)
    return f"test `{failed[1]}`" if failed else "tests: aborted"


def proof_stage(header):
    """The first goal that is not proved, or None."""
    status, output = run(["policy/proofs/prove.sh", header])
    if status == 0:
        return None
    if status is None:
        return "proofs: never end"
    goal = re.search(r"Goal (?:typed_)?(\S+)", output)
    if not goal:
        raise Unusable(f"the proofs of {header}.h ended with status {status} and no goal:\n{output}")
    return f"proof goal `{goal[1]}`"


def caught_by(header):
    """What notices the tree as it is now, or None."""
    tests = TESTED_THROUGH.get(header, header)
    status, output = run(cargo("--test", tests, "--no-run"))
    if status != 0:
        raise Unusable(f"{header}.h does not compile:\n{output}")
    return (test_stage(header, "--skip", "exhaustive")
            or test_stage(header, "exhaustive")
            or proof_stage(header))


def listed(header):
    """The mutants of a header, as they are written down."""
    return tomllib.loads((MUTANTS / f"{header}.toml").read_text())["mutant"]


def mutants_of(header):
    """The mutants of a header with their mutated text."""
    text = (ROOT / f"policy/include/ringfence/{header}.h").read_text()
    for mutant in listed(header):
        found = text.count(mutant["find"])
        if found != 1:
            raise Unusable(f"{header}.toml: {mutant['name']}: expected `find` once in "
                           f"{header}.h, found it {found} times:\n{mutant['find']}")
        yield mutant, text.replace(mutant["find"], mutant["replace"])


def examine(header, mutants):
    """Rows (header, mutant, why, caught by or None) of a header's mutants."""
    print(f"{header}.h: unbroken", end=" ", file=sys.stderr, flush=True)
    if noticed := caught_by(header):
        raise Unusable(f"the unbroken {header}.h fails: {noticed}")
    print("passes", file=sys.stderr)
    target = TREE / f"policy/include/ringfence/{header}.h"
    original = target.read_text()
    rows = []
    for number, (mutant, text) in enumerate(mutants, 1):
        print(f"{header}.h {number}/{len(mutants)}: {mutant['name']}:",
              end=" ", file=sys.stderr, flush=True)
        target.write_text(text)
        try:
            noticed = caught_by(header)
        except Unusable as reason:
            raise Unusable(f"{mutant['name']}: {reason}") from None
        finally:
            target.write_text(original)
        print(noticed or "SURVIVED", file=sys.stderr)
        rows.append((header, mutant["name"], mutant["why"], noticed))
    return rows


def rows_of(text):
    """The rows of a page."""
    for line in text.splitlines():
        if row := re.match(r"\| `(\w+)\.h` \| (.+) \|$", line):
            name, why, noticed = (cell.replace("\\|", "|") for cell in re.split(r"(?<!\\) \| ", row[2]))
            yield row[1], name, why, None if noticed == SURVIVED else noticed


def kept(headers):
    """The rows that the page has of these headers' mutants, as they are listed now."""
    on_page = {row[:3]: row for row in rows_of(PAGE.read_text())}
    for header in headers:
        for mutant in listed(header):
            row = on_page.get((header, mutant["name"], mutant["why"]))
            if row is None:
                raise Unusable(f"{PAGE.relative_to(ROOT)} has no row of {header}.toml: {mutant['name']}; "
                               f"try {header} as well")
            yield row


def page(rows):
    """The page of the documentation."""
    lines = [
        "# Mutants of the policy headers",
        "",
        "Written by `make mutants`: each of these headers is broken on purpose, one mutant at a",
        "time, until a test or a proof notices. Fast tests run first, then the exhaustive",
        "exploration, then the proofs; the table names the first that failed.",
        "",
        "`policy/mutants/run.py HEADER...` tries some headers and keeps the rows of the others: rows",
        "of different headers may be of different days, and of different states of the tests.",
        "",
        "| Header | Mutant | Why it matters | Caught by |",
        "|---|---|---|---|",
    ]
    for header, name, why, noticed in rows:
        cells = (f"`{header}.h`", name, why, noticed or SURVIVED)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    lines.append("")
    for header in sorted({row[0] for row in rows}):
        of_header = [row for row in rows if row[0] == header]
        caught = sum(row[3] is not None for row in of_header)
        lines.append(f"- `{header}.h`: {caught} of {len(of_header)} mutants caught")
    return "\n".join(lines) + "\n"


def main():
    every = sorted(path.stem for path in MUTANTS.glob("*.toml"))
    headers = sys.argv[1:] or every
    try:
        # All before the first is tried, which takes minutes.
        mutants = {header: list(mutants_of(header)) for header in headers}
        others = list(kept(header for header in every if header not in headers))
        copy_tree()
        rows = [row for header in headers for row in examine(header, mutants[header])]
    except (Unusable, OSError, KeyError, tomllib.TOMLDecodeError) as reason:
        print(f"run.py: {reason}", file=sys.stderr)
        return 2
    PAGE.write_text(page(sorted([*rows, *others], key=lambda row: row[0])))
    survivors = [row for row in rows if row[3] is None]
    print(f"{len(rows) - len(survivors)} of {len(rows)} mutants caught", file=sys.stderr)
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
