# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""Input on the serial line: who has it, how guests read it, and that it is nobody else's business."""

import itertools
import re
import unittest

import test_linux
from machine import Machine, skip_without_qemu  # it finds the modules of the kernel tests
from test_containment import SHARE

import matrix  # isort: skip

FIRST, SECOND = 0x48000000, 0x48200000
ESCAPE = "\x14"
POLLS, TOLD, IN_LOTS, LATE, DEAF, COUNTS, IDENTIFY = range(7)
PERIODS = 20
FIFO = 1024
FLOOD_CHARACTERS = 1 << 16
FLOOD_PERIODS = 640
# While so many are read, as hyp/guests/reader says.
SO_FAR = 16384
IDENTIFICATION = 0xB105F00D00341011
FLAGS_OF_AN_EMPTY_ONE = 0x90
UNUSABLE = "an interrupt of a device is that of the serial line"


class Input(unittest.TestCase):
    platform = "qemu-virt"

    def typed(self, *lines, second=False, periods=PERIODS, until=None, **settings):
        """What a machine prints to which that is typed; its writer's lines are not to differ."""
        settings |= {"SECOND": int(second), "PERIODS": periods}
        machine = Machine("readers", settings, platform=self.platform)
        self.addCleanup(machine.close)
        machine.with_guest("writer").with_guest("reader", FIRST).with_typist(*lines)
        if second:
            machine.with_guest("reader", SECOND)
        console = machine.run(until=until)
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assert_shares(" ".join(lines).split(), 2 * periods, console)
        self.assertNotIn("[writer] interrupt", console)
        self.assertNotIn("nobody's", console)
        self.assertNotIn("for nothing", console)
        self.assertIn("VM writer has stopped: it turned itself off", console)
        return console

    def assert_shares(self, counted, periods, console):
        self.assertEqual(counted, [str(SHARE)] * periods, console)

    def test_a_guest_that_polls(self):
        console = self.typed((r"\[first\] ready", "hello there\roff\r"))
        self.assertIn("ringfence: VM first has the input; Ctrl-t n gives it to the next one\n", console)
        self.assertIn("[first] polled: hello there\n[first] polled: off\n", console)

    def test_an_interrupt_for_each_character_on_each_vcpu(self):
        """The guest reads one character of each: a level is there until all is read, and not any longer."""
        for vcpu in (0, 1):
            with self.subTest(vcpu=vcpu):
                console = self.typed((r"\[first\] ready", "hello\r"), (r"hello", "off\r"), WAY=TOLD, TARGET=vcpu)
                self.assertIn("[first] told by 6 interrupts, where it wants:  hello\n", console)
                self.assertIn("[first] told by 4 interrupts, where it wants:  off\n", console)

    def test_an_interrupt_when_the_fifo_is_half_full(self):
        lines = ((r"\[first\] ready", "x" * 15), (r"less than half: .* interrupts", "x"))
        console = self.typed(*lines, WAY=IN_LOTS)
        # It has sent, and received something.
        self.assertIn("[first] less than half: raw 60, 0 interrupts\n", console)
        self.assertIn("[first] half: sixteen or more\n", console)

    def test_what_is_not_read_in_time_is_dropped_and_marked(self):
        lines = ((r"\[first\] ready", "x" * (FIFO + 10)), (r"then state", "yz"))
        console = self.typed(*lines, WAY=LATE)
        said = re.search(r"\[first\] (\d+) waited, full 40, marked (0|8), state 8\n", console)
        self.assertTrue(said, console)
        self.assertIn("[first] then state 0, raw 0\n", console)
        lost = re.search(r"ringfence: VM first has not read (\d+) characters of its input in time\n", console)
        self.assertTrue(lost, console)
        # Some may come while it reads; none is counted twice or forgotten.
        waited, marked = map(int, said.groups())
        self.assertGreaterEqual(waited, FIFO)
        self.assertEqual(waited + int(lost[1]), FIFO + 10, console)
        # The first one behind a loss says so.
        after = r"8[0-9a-f]{2}" if marked == 0 else r"[0-9a-f]{2,3}"
        self.assertRegex(console, rf"\[first\] next {after}, [0-9a-f]{{2}}\n")

    def test_interrupts_that_are_never_answered_are_the_vm_s_own(self):
        console = self.typed((r"\[first\] ready", "x" * 4 * FIFO), WAY=DEAF)
        self.assertIn("[first] deaf: many\n", console)

    def test_a_flood_is_who_reads_it_s_own(self):
        lines = ((r"\[first\] ready", "x" * FLOOD_CHARACTERS), (r"VM writer has stopped", "q"))
        console = self.typed(*lines, WAY=COUNTS, periods=FLOOD_PERIODS)
        self.assertIn(f"[first] {SO_FAR} so far\n", console[: console.index("VM writer has stopped")])
        self.assertRegex(console, r"\[first\] \d+ read\n")

    def test_the_escape_key_moves_it_on(self):
        ready = r"\[(?s:first\] ready.*\[second\] ready|second\] ready.*\[first\] ready)"
        lines = (
            (ready, "one\r"),
            (r"polled: one", f"{ESCAPE}ntwo\r"),
            (r"polled: two", f"{ESCAPE}0three{ESCAPE}{ESCAPE}\r"),
            # No such VM, one that never has the input, and no command.
            (r"polled: three", f"{ESCAPE}9{ESCAPE}1{ESCAPE}xfour\r"),
            (r"polled: four", "off\r"),
            (r"VM second has the input", f"{ESCAPE}0{ESCAPE}noff\r"),
        )
        console = self.typed(*lines, second=True, WAY=POLLS)
        said = re.findall(r"^(?:\[(?:first|second)\] polled: .*|ringfence: VM .* has the input.*|ringfence: VM first has stopped)", console, re.MULTILINE)
        first, second = ("ringfence: VM first has the input", "ringfence: VM second has the input")
        # What comes in one go has one answer.
        self.assertEqual(
            [line for line, _ in itertools.groupby(said)],
            [
                f"{first}; Ctrl-t n gives it to the next one", "[first] polled: one", second, "[second] polled: two", first,
                f"[first] polled: three{ESCAPE}", first, "[first] polled: four", "[first] polled: off",
                # It has turned itself off, and cannot be chosen any more.
                "ringfence: VM first has stopped", second, "[second] polled: off",
            ],
            console,
        )

    def test_who_never_has_it_is_not_typed_to(self):
        lines = ((r"VM writer has stopped", f"{ESCAPE}n{ESCAPE}0off\r"),)
        console = self.typed(*lines, second=True, until="VM second has stopped", WAY=POLLS, FIRST_NO_INPUT=1)
        self.assertIn("ringfence: VM second has the input", console)

    def test_what_the_uart_says_that_it_is(self):
        console = self.typed(WAY=IDENTIFY)
        self.assertIn(f"[first] it is {IDENTIFICATION:x}, flags {FLAGS_OF_AN_EMPTY_ONE:x}, raw 0\n", console)
        # A line that is too long comes out in pieces, with nothing lost.
        self.assertEqual([len(piece) for piece in re.findall(r"^\[first\] (x+)$", console, re.MULTILINE)], [511, 511, 178])

    def test_the_line_s_interrupt_is_no_device_s(self):
        machine = Machine("readers", {"DEVICES_INTERRUPT": 33}, platform=self.platform)
        self.addCleanup(machine.close)
        self.assertIn(f"the configuration cannot be used: {self.platform}: {UNUSABLE}\n", machine.run())


class InputOnGicv2(Input):
    platform = "qemu-virt-gicv2"


class InputOnZcu104(Input):
    """Through its own serial line. Lines of the writer are not counted there."""

    platform = "zcu104"

    @classmethod
    def setUpClass(cls):
        skip_without_qemu(cls.platform)

    def assert_shares(self, counted, periods, console):
        self.assertEqual(len(counted), periods, console)


class InputOnRaspberryPi4(InputOnZcu104):
    platform = "raspberry-pi-4"


# What is the same on all boards is tested on one.
for name in ("flood", "when_the_fifo_is_half_full", "never_answered", "marked", "never_has_it", "says_that_it_is", "no_device_s"):
    for found in [test for test in dir(InputOnZcu104) if test.startswith("test_") and name in test]:
        setattr(InputOnZcu104, found, None)


class Shell(test_linux.Linux):
    """Linux's shell is typed into, beside a writer."""

    test_reaches_a_shell_beside_a_writer_on_three_cores = None
    test_reaches_a_shell_beside_an_endless_writer_with_threads = None
    test_two_vcpus_talk_to_each_other = None

    def test_it_answers_and_is_turned_off(self):
        # With a corrected letter; and once somebody types its prompt is seen before its line has an end.
        lines = (
            ("^\\[linux\\] go on", "echo $((6 * 7)) pp\x7fp\r"),
            (r"^\[linux\] 42 pp\n\[linux\] / # ", "awk '/uart|ttyAMA0/ {print \"interrupts\", ($2 > 1)}' /proc/interrupts\r"),
            (r"^\[linux\] interrupts", "echo lost $(grep -c oe: /proc/tty/driver/ttyAMA)\r"),
            (r"^\[linux\] lost", "poweroff -f\r"),
        )
        settings = {"WRITER_VCPUS": 3, "BUDGET": 900, "PERIODS": test_linux.PERIODS}
        console = self.run_linux("echo go on; setsid cttyhack sh", settings=settings, typed=lines)
        printed = self.printed(console)
        for line in ("42 pp", "interrupts 1", "lost 0"):
            self.assertIn(line, printed)
        self.assertRegex(console, r"\n\[linux\] [^\n]*# [^\n]*poweroff -f")
        self.assert_written(console, [300, 300, 300])


def load_tests(loader, _tests, _pattern):
    suites = [loader.loadTestsFromTestCase(case) for case in (Input, InputOnGicv2, InputOnZcu104, InputOnRaspberryPi4)]
    suites += [matrix.on_kernels(loader, Shell, by_default=("arm64",))]
    return unittest.TestSuite(suites)


if __name__ == "__main__":
    unittest.main()
