# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Channels between VMs: messages through memory that two have, notifications, and nothing for a third."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from machine import ROOT, Machine

SCENARIOS = ROOT / "scenarios/hyp"
TIMEOUT_S = 120

TAKER, OUTSIDER, SENDER = 0x48000000, 0x48200000, 0x48400000
# As hyp/config/channels.c has them.
SHARED, SHARED_BYTES, SEEN_AT = 0x4C000000, 0x10000, 0x60000000
INTERVAL_NS = 100_000
WRITTEN = [125] * 60
# As hyp/guests/messenger numbers what it does.
(
    NOTHING, SEND, TAKE, FLOOD, FLOOD_GENTLY, IDLE, LISTEN, LISTEN_MASKED, LISTEN_LATE, NOTIFY_ONCE, READ, WRITE, RUN,
    WAKE, MOVE, POKE, TOUCH, LOOK,
) = range(18)
FLOODED = r"^\[{}\] (\d+) calls, (\d+) too soon, (\d+) to nobody$"
LISTENED = r"^\[taker\] (\d+) notifications, (\d+) more at the end$"
FLOOD_NS, LONG_NS = 4_000_000, 1_000_000
MOST = FLOOD_NS // INTERVAL_NS + 1
# What of QEMU's turns a guest's timer may wait for: a call of the flood's, and what others do in theirs.
TURNS_NS = 2000
# Where QEMU has its clock, and its interrupt, which is the number of the taker's, too.
CLOCK, CLOCK_INTERRUPT = 0x09010000, 34


class Channels(unittest.TestCase):
    platform = "qemu-virt"

    def run_machine(self, settings, junk=False, outsider="messenger"):
        machine = Machine("channels", settings, platform=self.platform)
        self.addCleanup(machine.close)
        machine.with_guest("writer").with_guest(outsider, OUTSIDER)
        machine.with_guest("messenger", TAKER).with_guest("messenger", SENDER)
        if junk:
            (machine.folder / "junk").write_bytes(b"\xa5" * SHARED_BYTES)
            machine.load(machine.folder / "junk", SHARED)
        return machine.run()

    def run_beside_writer(self, junk=False, outsider="messenger", **settings):
        """Whatever the others do, the writer has its lines in each period."""
        console = self.run_machine(settings, junk, outsider)
        self.assertEqual(self.numbers(r"^\[writer\] vCPU 0: (.*)$", console), WRITTEN, console)
        self.assertNotIn("nobody's", console)
        self.assertNotRegex(console, r"\] interrupt \d")
        self.assertIn("no VM is left", console)
        return console

    def numbers(self, pattern, console):
        found = re.search(pattern, console, re.MULTILINE)
        self.assertIsNotNone(found, console)
        return [int(number) for group in found.groups() for number in group.split()]

    def assert_stopped(self, console, vm, what):
        self.assertIn(f"ringfence: VM {vm} has stopped: {what};", console)
        self.assertIn(f"of the guest's memory 0x{SEEN_AT:016x}", console)
        self.assertNotIn("still here", console)

    def test_messages_through_a_ring(self):
        """More than it has slots, each way notified; the start of the ring is zero, whatever was in the memory."""
        console = self.run_beside_writer(junk=True, TAKER=TAKE, SENDER=SEND, INTERVAL_NS=10_000)
        self.assertIn("[taker] 200 taken, 0 wrong\n", console)
        self.assertIn("[sender] 200 sent\n", console)

    def test_memory_is_zero_to_its_end(self):
        console = self.run_beside_writer(junk=True, TAKER=READ, SENDER=READ)
        for end in ("taker", "sender"):
            self.assertIn(f"[{end}] 0 words that are not zero\n", console)

    def test_a_flood_is_a_notification_an_interval(self):
        console = self.run_beside_writer(TAKER=LISTEN, SENDER=FLOOD)
        calls, refused, to_nobody = self.numbers(FLOODED.format("sender"), console)
        self.assertGreater(calls, 1000)
        self.assertEqual(to_nobody, 0)
        self.assertIn(calls - refused, range(MOST - 2, MOST + 1), console)
        self.assertEqual(self.numbers(LISTENED, console), [calls - refused, 0], console)

    def test_a_flood_is_one_notification_for_who_takes_none(self):
        """With its interrupts masked, and with that one off."""
        for how in (LISTEN_MASKED, LISTEN_LATE):
            console = self.run_beside_writer(TAKER=how, SENDER=FLOOD)
            self.assertEqual(self.numbers(LISTENED, console), [0, 1], console)

    def test_a_flood_of_a_vm_with_a_reservation(self):
        """It never turns the interrupt on."""
        console = self.run_beside_writer(OUTSIDER=FLOOD, NUMBER=1)
        calls, refused, _ = self.numbers(FLOODED.format("outsider"), console)
        self.assertGreater(calls - refused, 1000)

    def test_a_flood_does_not_make_a_third_vm_s_timer_late(self):
        late = {}
        for how in (IDLE, FLOOD_GENTLY):
            console = self.run_beside_writer(
                outsider="waiter", TAKER=LISTEN, SENDER=how, OUTSIDER=25, MESSAGES=0, OUTSIDER_CORE=0, WRITER_CORE=2
            )
            ticks = self.numbers(r"^\[outsider\] late: (.*)$", console)
            tick_ns = 1e9 / self.numbers(r"^\[outsider\] (\d+) ticks a second$", console)[0]
            late[how] = sorted(tick * tick_ns for tick in ticks)
        calls, refused, _ = self.numbers(FLOODED.format("sender"), console)
        self.assertGreater(calls - refused, MOST // 2)
        self.assertEqual(late[FLOOD_GENTLY][12], late[IDLE][12], late)
        self.assertLess(late[FLOOD_GENTLY][-1], late[IDLE][-1] + TURNS_NS)

    def test_it_waits_for_a_vcpu_that_is_off(self):
        two = {"TAKER_VCPUS": 2, "SENDER": NOTIFY_ONCE}
        console = self.run_beside_writer(TAKER=WAKE, **two)
        self.assertIn("[taker] asleep: pending 1, taken 0 by vCPU 0\n", console)
        self.assertIn("[taker] awake: pending 0, taken 1 by vCPU 1\n", console)
        self.assertIn("[taker] off: pending 1, taken 1 by vCPU 1\n", console)
        self.assertIn("[taker] on again: pending 0, taken 2 by vCPU 1\n", console)
        console = self.run_beside_writer(TAKER=MOVE, **two)
        self.assertIn("[taker] asleep: pending 1, taken 0 by vCPU 0\n", console)
        self.assertIn("[taker] moved: pending 0, taken 1 by vCPU 0\n", console)

    def test_it_comes_to_another_vcpu_that_runs(self):
        console = self.run_beside_writer(TAKER_VCPUS=2, TAKER=WAKE, SENDER=FLOOD_GENTLY)
        taken = self.numbers(r"^\[taker\] awake: pending 0, taken (\d+) by vCPU 1$", console)
        self.assertIn(taken[0], range(LONG_NS // INTERVAL_NS - 2, LONG_NS // INTERVAL_NS + 2), console)

    def test_its_registers_are_those_of_an_interrupt(self):
        console = self.run_beside_writer(TAKER=POKE)
        self.assertIn("[taker] trigger 2\n", console)
        for said in (
            "set: pending 1, taken 0", "cleared: pending 0, taken 0", "on: pending 0, taken 1",
            "to nobody: pending 1, taken 1", "to vCPU 0: pending 0, taken 2",
        ):
            self.assertIn(f"[taker] {said} by vCPU 0\n", console)

    def test_a_device_s_interrupt_of_the_same_number_is_another_one(self):
        """What the taker does to its own, with the clock of another VM."""
        clock = {"CLOCK": f".address={CLOCK},.size=0x1000", "CLOCK_INTERRUPT": CLOCK_INTERRUPT, "NUMBER": CLOCK}
        for deed, said in ((TOUCH, "still here"), (LOOK, "seen 0")):
            console = self.run_beside_writer(outsider="alarm", TAKER=deed, MESSAGES=0, **clock)
            self.assertIn(f"[taker] {said}\n", console)
            self.assertIn("[outsider] off: pending 1, taken 0\n[outsider] on: pending 0, taken 2 by vCPU 0\n", console)

    def test_who_may_not_is_refused(self):
        """A VM that is no end, a channel that there is not, an end without an interrupt."""
        for settings, result in (
            ({"OUTSIDER": NOTIFY_ONCE}, "[outsider] result -4\n"),
            ({"SENDER": NOTIFY_ONCE, "NUMBER": 1}, "[sender] result -4\n"),
            ({"OUTSIDER": NOTIFY_ONCE, "NUMBER": 1, "CHANNELS": 1}, "[outsider] result -4\n"),
            ({"OUTSIDER": NOTIFY_ONCE, "NUMBER": 1}, "[outsider] result 0\n"),
            ({"SENDER": NOTIFY_ONCE, "NUMBER": "0xffffffffffffffff"}, "[sender] result -4\n"),
            ({"SENDER": NOTIFY_ONCE, "FIRST": ".vm=1,.guest_address=0x60000000"}, "[sender] result -4\n"),
            ({"TAKER": LISTEN, "SENDER": NOTIFY_ONCE}, "[sender] result 0\n"),
        ):
            with self.subTest(result, **settings):
                self.assertIn(result, self.run_beside_writer(**settings))

    def test_a_stopped_vm_is_not_notified(self):
        """Its peer gets to know, and goes on."""
        console = self.run_beside_writer(TAKER=NOTHING, SENDER=FLOOD)
        calls, refused, to_nobody = self.numbers(FLOODED.format("sender"), console)
        self.assertGreater(to_nobody, 1000)
        self.assertLess(calls - to_nobody, 1000)
        self.assertLessEqual(refused, calls - to_nobody)

    def test_nobody_is_notified_where_the_other_vm_is_not(self):
        """Its end has the memory all the same."""
        nobody = {"FIRST": ".vm=CHANNEL_NOBODY,.interrupt=34,.guest_address=0x60000000"}
        self.assertIn("[sender] result -3\n", self.run_beside_writer(SENDER=NOTIFY_ONCE, **nobody))
        self.assertIn("[sender] 0 words", self.run_beside_writer(junk=True, SENDER=READ, **nobody))

    def test_an_outsider_that_touches_it_is_stopped(self):
        deeds = {READ: "a read from memory that it has not", WRITE: "a write to memory that it has not"}
        for deed, what in deeds.items():
            with self.subTest(what):
                console = self.run_beside_writer(TAKER=TAKE, SENDER=SEND, OUTSIDER=deed, INTERVAL_NS=10_000)
                self.assert_stopped(console, "outsider", what)
                self.assertIn("[taker] 200 taken, 0 wrong\n", console)

    def test_an_end_may_read_only(self):
        first = ".vm=1,.interrupt=34,.guest_address=0x60000000,.reads_only=true"
        console = self.run_beside_writer(TAKER=READ, SENDER=WRITE, FIRST=first)
        self.assertIn("[sender] still here\n", console)
        self.assertRegex(console, r"\[taker\] [01] words")
        console = self.run_beside_writer(TAKER=WRITE, FIRST=first)
        self.assert_stopped(console, "taker", "a write to memory that it has not")

    def test_messages_are_not_executed(self):
        console = self.run_beside_writer(TAKER=RUN)
        self.assert_stopped(console, "taker", "an instruction from memory that it has not")


class ChannelsOnGicv2(Channels):
    """The same with the other interrupt controller."""

    platform = "qemu-virt-gicv2"


class InAScenario(unittest.TestCase):
    def setUp(self):
        self.ringfence = Path(os.environ.get("RINGFENCE_BUILT", ROOT / "target/debug"), "ringfence")
        if not self.ringfence.exists():
            self.skipTest(f"{self.ringfence} is not built; `make built` does it")
        self.folder = Path(tempfile.mkdtemp(prefix="hyp-channels-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def run_on(self, platform, changes=()):
        text = (SCENARIOS / "channels.toml").read_text(encoding="utf-8")
        for old, new in (("qemu-virt.toml", f"{platform}.toml"), *changes):
            self.assertIn(old, text)
            text = text.replace(old, new)
        shutil.copy(SCENARIOS / f"{platform}.toml", self.folder)
        (self.folder / "channels.toml").write_text(text)
        command = [self.ringfence, "run", "--target", "hyp", "-q", "channels.toml"]
        ran = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout, (self.folder / "channels.rfr.console").read_text(encoding="utf-8")

    def test_messages_beside_a_writer_that_has_its_reservation(self):
        for platform in ("qemu-virt", "qemu-virt-gicv2"):
            printed, console = self.run_on(platform)
            self.assertIn("The reservations: promised and held.", printed)
            self.assertIn("[taker] 200 taken, 0 wrong\n", console)
            self.assertIn("[sender] 200 sent\n", console)

    def test_a_vm_alone_has_its_end(self):
        alone = ('name = "reserved"', 'name = "solo"\nvms = ["sender"]')
        for does, said in ((NOTIFY_ONCE, "result -3"), (READ, "0 words that are not zero")):
            _, console = self.run_on("qemu-virt", (alone, ("[1, 200, 0, 35]", f"[{does}, 0, 0, 35]")))
            self.assertIn(f"[sender] {said}\n", console)


class Refused(unittest.TestCase):
    def test_a_configuration_that_cannot_be_is_refused(self):
        end = ".vm={},.interrupt={},.guest_address={}".format
        memory = ".address={},.size={}".format
        clock = {"CLOCK": f".address={CLOCK},.size=0x1000"}
        for settings, why in (
            ({"FIRST": end(4, 34, "0x60000000")}, "a channel is not between two VMs"),
            ({"FIRST": end(3, 34, "0x60000000")}, "a channel is not between two VMs"),
            ({"FIRST": end(1, 31, "0x60000000")}, "an interrupt of a channel is not a shared one, 32 to 1019"),
            ({"FIRST": end(1, 1020, "0x60000000")}, "an interrupt of a channel is not a shared one, 32 to 1019"),
            ({"CLOCK_INTERRUPT": 40, **clock}, "an interrupt of a channel is that of a device of its VM"),
            ({"INTERVAL_NS": 999}, "the interval of a channel is not 1 us to 1 s"),
            ({"INTERVAL_NS": 1000000001}, "the interval of a channel is not 1 us to 1 s"),
            ({"CHANNELS": 9}, "there are more than 8 channels"),
            (
                {"CLOCK_INTERRUPT": ",".join(str(number) for number in range(100, 131)), **clock},
                "a VM has more than 31 interrupts of devices and channels",
            ),
            (
                {"TRACED": ".address=0x4c000000,.guest_address=0x4c000000,.size=0x200000"},
                "memory of a channel is the trace's",
            ),
            ({"OTHER_FIRST": ".vm=0", "OTHER_SECOND": ".vm=2"}, "a channel has neither memory nor an interrupt"),
            ({"OTHER_FIRST": ".vm=1,.interrupt=34"}, "two channels have the same interrupt of a VM"),
            (
                {"OTHER_FIRST": ".vm=1,.guest_address=0x6000f000", "OTHER_MEMORY": memory("0x4c200000", 4096)},
                "two channels have the same addresses of a VM",
            ),
            (
                {
                    "OTHER_FIRST": ".vm=1,.guest_address=0x60010000",
                    "OTHER_SECOND": ".vm=2,.guest_address=0x60010000",
                    "OTHER_MEMORY": memory("0x4c00f000", 4096),
                },
                "two channels have the same memory",
            ),
            ({"MEMORY": memory("0x4c000800", 4096)}, "memory of a channel is not aligned to 4 KiB"),
            ({"MEMORY": memory("0x4c000000", 2048)}, "memory of a channel is not aligned to 4 KiB"),
            ({"FIRST": end(1, 34, "0x60000800")}, "memory of a channel is not aligned to 4 KiB"),
            ({"MEMORY": memory("0x481ff000", 4096)}, "memory of a channel is also a VM's own"),
            ({"MEMORY": memory("0x40200000", 4096)}, "a memory region overlaps the hypervisor"),
            ({"MEMORY": memory("0x3ffff000", 8192)}, "a memory region is not in the platform's memory"),
            ({"FIRST": end(1, 34, "0x401ff000")}, "memory of a channel has the addresses of a VM's own"),
            ({"FIRST": end(1, 34, "0x08000000")}, "a memory region has the addresses of a guest's devices"),
            ({"FIRST": end(1, 34, "0x7ffffff000")}, "a memory region is where guests have no addresses"),
            ({"FIRST": end(0, 34, "0x70001000")}, "memory of a channel has the addresses of pages of statistics"),
            (
                {"FIRST": end(2, 34, "0x0a000000"), "CLOCK": ".address=0x0a00f000,.size=0x1000"},
                "memory of a channel has the addresses of a VM's device",
            ),
            (
                {
                    "FIRST": end(1, 34, "0x60000000") + ",.reads_only=true",
                    "SECOND": end(3, 35, "0x60000000") + ",.reads_only=true",
                },
                "nobody may write to the memory of a channel",
            ),
        ):
            with self.subTest(why, **settings):
                machine = Machine("channels", settings)
                self.addCleanup(machine.close)
                self.assertIn(f": {why}\n", machine.with_guest("writer").run())


if __name__ == "__main__":
    unittest.main()
