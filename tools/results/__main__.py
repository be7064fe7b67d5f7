# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Writes the pages of docs/src/results that hold figures of the simulator.

With --check it writes nothing and fails when a page says something else; of the page
that takes long only one figure and the files that it was made from are compared.
"""

import sys

import colours
import h_mbr
import network
import platforms
import schedules
from common import HOUSE

PAGES = HOUSE / "docs/src/results"


def main():
    is_check = "--check" in sys.argv[1:]
    for file, source in (
        ("rt-gang.md", schedules),
        ("platforms.md", platforms),
        ("h-mbr.md", h_mbr),
        ("colours.md", colours),
        ("rt-gang-network.md", network),
    ):
        path = PAGES / file
        name = path.relative_to(HOUSE)
        if not is_check:
            path.write_text(source.page())
            print(f"wrote {name}")
            continue
        text = path.read_text() if path.exists() else ""
        if hasattr(source, "quick_parts"):
            is_right = all(part in text for part in source.quick_parts())
            told = "has the figure of one core, and is of these files; the rest takes long"
        else:
            is_right = text == source.page()
            told = "is what a run gives"
        if not is_right:
            sys.exit(f"tools/results: {name} is not what a run gives; write it again with `make results`")
        print(f"{name} {told}")


if __name__ == "__main__":
    main()
