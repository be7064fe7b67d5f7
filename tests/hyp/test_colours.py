# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""VMs of some page colours have pages of these and no others, and are otherwise as any VM."""

import os
import re
import struct
import subprocess
import unittest
from pathlib import Path

from machine import ROOT, Machine
from memory import PAGE_BYTES, Memory, painted, pages_of

COLOURS = 16
BYTES = 16 << 20
GUEST = 0x40000000
PERIODS = 20
SHARE = 125  # of hyp/config/coloured.c's writer, each vCPU
SPAN, WRITER_SPAN = 0x44000000, 0x48000000
HYPERVISOR = range(0x40000000, 0x41000000)
FILLER = b"\x5a" * PAGE_BYTES
DONE = r"\[{}\] (\d+) pages from ([0-9a-f]+) on, 0 words wrong; the cache of level 2 has 16 colours$"


def mapped(page, owners):
    """Whose pages a translation table has; nobody's if it is none of pages that VMs have."""
    words = struct.unpack(f"<{PAGE_BYTES // 8}Q", page)
    # DDI 0487, D8.3: a page of level 3, and its address.
    pages = [word & 0xFFFFFFFFF000 for word in words if word & 3 == 3]
    return {owners[page][0] for page in pages} if len(pages) == 512 and owners.keys() >= set(pages) else set()


def numbers(mask):
    return {colour for colour in range(64) if mask >> colour & 1}


class OfConfiguration(unittest.TestCase):
    def machine(self, settings=None):
        machine = Machine("coloured", settings)
        self.addCleanup(machine.close)
        return machine

    def machine_with_memory(self, settings, vms):
        """Images are put into the pages of each VM; what is between them is filled."""
        machine = self.machine(settings)
        memory = Memory(machine.folder)
        self.addCleanup(memory.close)
        owned = {page for _, _, pages in vms for page in pages}
        for span in {min(pages) for _, _, pages in vms}:
            for page in range(span - span % (2 << 20), span + 2 * BYTES, PAGE_BYTES):
                if page not in owned:
                    memory.write(page, FILLER)
        for _, image, pages in vms:
            contents = Path(machine.folder, f"{image}.bin").read_bytes()
            for number, page in enumerate(pages[: -(-len(contents) // PAGE_BYTES)]):
                memory.write(page, contents[number * PAGE_BYTES :][:PAGE_BYTES])
        return machine.with_memory_in(memory), memory

    def test_what_guests_write_is_in_pages_of_their_colours_only(self):
        low, high, writer = 0x00FE, 0x7F00, 0x0F0F
        vms = [
            (1, "painter", pages_of(numbers(low), SPAN, BYTES)),
            (2, "painter", pages_of(numbers(high), SPAN, BYTES)),
            (3, "writer", pages_of(numbers(writer), WRITER_SPAN, BYTES)),
        ]
        settings = {"LOW": low, "HIGH": high, "WRITERS": writer, "PERIODS": PERIODS}
        machine, memory = self.machine_with_memory(settings, vms)
        console = machine.run()
        owners = {page: (who, number * PAGE_BYTES) for who, _, pages in vms for number, page in enumerate(pages)}
        found, tables = {1: [], 2: []}, []
        for address, page in memory.pages():
            if address in HYPERVISOR:
                self.assertIsNone(painted(page), hex(address))
                tables += [(address, owner) for owner in mapped(page, owners)]
                continue
            owner = owners.get(address)
            if owner is None:
                self.assertIn(page, (FILLER, bytes(PAGE_BYTES)), f"{address:#x} is nobody's")
                continue
            by = painted(page)
            if by:
                self.assertEqual(by, (owner[0], GUEST + owner[1]), hex(address))
                found[by[0]].append(by[1])
        for who, name in ((1, "low"), (2, "high")):
            pages, start = re.search(DONE.format(name), console, re.MULTILINE).groups()
            wanted = range(int(start, 16), GUEST + BYTES, PAGE_BYTES)
            self.assertEqual(len(wanted), int(pages))
            self.assertEqual(sorted(found[who]), list(wanted), name)
        self.assert_writer_has_its_lines(console)
        # Walks through a VM's tables take no sets of others' either: one table for each 2 MiB.
        for who, colours in ((1, numbers(low)), (2, numbers(high)), (3, numbers(writer))):
            own = [address // PAGE_BYTES % COLOURS for address, owner in tables if owner == who]
            self.assertEqual(len(own), BYTES >> 21, who)
            self.assertLessEqual(set(own), colours, who)

    def assert_writer_has_its_lines(self, console):
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual(lines, [" ".join([str(SHARE)] * PERIODS)] * 2, console)

    def test_what_cannot_be_is_refused(self):
        for settings, said in (
            ({"LOW": 0x10001}, "a memory region has a colour that the platform's cache has not"),
            ({"LOW": 0x01FF}, "two VMs have the same memory"),
            ({"WRITERS": 0x1, "BYTES": 0x4000000}, "two VMs have the same memory"),
            ({"LOW": 0}, "two VMs have the same memory"),
            ({"HIGH_ADDRESS": "0x44010000"}, "a memory region is not aligned to 2 MiB"),
            ({"HIGH_ADDRESS": "0x7f000000"}, "a memory region is not in the platform's memory"),
            ({"HIGH_ADDRESS": "0x40000000"}, "a memory region overlaps the hypervisor"),
            ({"HIGH_ADDRESS": "0x40400000"}, "a memory region overlaps the hypervisor"),
            (
                {"LOW": 1, "HIGH": 2, "WRITERS": 0xFFF0, "AGAIN": "0x3000000"},
                "it needs more translation tables of a VM's colours than there are",
            ),
        ):
            with self.subTest(settings):
                console = self.machine(settings).run()
                self.assertIn("ringfence: the configuration cannot be used: ", console)
                self.assertIn(f"{said}\n", console)
                self.assertNotIn("[", console, "no guest has started")


class OfScenario(unittest.TestCase):
    """What `ringfence hyp image` makes of scenarios/hyp/colours.toml."""

    def test_guests_are_where_the_scenario_has_their_colours(self):
        ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not ringfence.exists():
            self.skipTest(f"{ringfence} is not built; `make built` does it")
        for case, low, high in (("coloured", range(8), range(8, 16)), ("reserved", range(16), range(16))):
            with self.subTest(case):
                machine = Machine("coloured")
                self.addCleanup(machine.close)
                memory = Memory(machine.folder)
                self.addCleanup(memory.close)
                command = [ringfence, "hyp", "image", "--case", case, "-o", f"{machine.folder}/ringfence.elf"]
                built = subprocess.run(
                    [*command, ROOT / "scenarios/hyp/colours.toml"], capture_output=True, text=True, check=False
                )
                self.assertEqual(built.returncode, 0, built.stderr)
                console = machine.with_memory_in(memory).run()
                colours, places = {1: set(), 2: set()}, {1: set(), 2: set()}
                for address, page in memory.pages():
                    by = painted(page)
                    if by:
                        colours[by[0]].add(address // PAGE_BYTES % COLOURS)
                        places[by[0]].add(by[1])
                self.assertEqual(colours, {1: set(low), 2: set(high)}, console)
                for who, name in ((1, "critical"), (2, "other")):
                    found = re.search(DONE.format(name), console, re.MULTILINE)
                    self.assertEqual(len(places[who]), int(found[1]), console)


if __name__ == "__main__":
    unittest.main()
