# SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
"""What a VM may not do ends that VM, with a report, and nothing else."""

import re
import unittest

from machine import Machine

INTRUDER = 0x48000000
# As hyp/guests/intruder has them.
BEHIND, OTHERS = 0x40200000, 0x44000000
PERIODS = 20
FIRST_CORE = 2  # of the intruder
SHARE = 125  # of hyp/config/intruder.c's writer, each vCPU
# As hyp/guests/intruder numbers them: what the report says, and what it says of the address.
DEEDS = {
    "WRITE_FOREIGN": (1, "a write to memory that it has not", BEHIND),
    "READ_FOREIGN": (2, "a read from memory that it has not", OTHERS),
    "RUN_FOREIGN": (3, "an instruction from memory that it has not", OTHERS),
    "UNKNOWN_HYPERCALL": (4, "a hypercall that is none", None),
    "WRONG_CONVENTION": (5, "a hypercall that is none", None),
    "HYPERCALL_NUMBER": (6, "a hypercall that is none", None),
    "FIRMWARE_CALL": (7, "a call to the firmware (SMC)", None),
    "PHYSICAL_TIMER": (8, "a system register that it may not access", None),
    "CLEAN_BY_SET": (12, "a system register that it may not access", None),
    "WRITE_STATISTICS": (13, "a write to memory that it has not", 0x70001000),
    "READ_OTHER_STATISTICS": (14, "a read from memory that it has not", 0x70000000),
    "PAIR_FROM_DEVICE": (9, "a read from memory that it has not", 0x08000000),
}
NOTHING, RESET, FLOOD = 0, 10, 11
FLOOD_ALL, WILD_ARGUMENTS, WILD_CALLS, MASKED, OVERFLOW, SENDERS = range(15, 21)
TIMER = 27  # the virtual timer's interrupt, which is the hardware's
SEEDS = (1, 2, 3)


class Containment(unittest.TestCase):
    platform = "qemu-virt"
    # What arrives of an SGI that both vCPUs send: it is one, whoever has sent it.
    from_both = "1 taken, from vCPUs 0 and 0"

    def run_beside_writer(self, deed, vcpus=1, **settings):
        settings |= {"DEED": deed, "INTRUDER_VCPUS": vcpus}
        machine = Machine("intruder", settings, platform=self.platform)
        self.addCleanup(machine.close)
        machine.with_guest("writer").with_guest("intruder", INTRUDER)
        console = machine.run()
        self.assert_writer_undisturbed(console)
        return console

    def assert_writer_undisturbed(self, console):
        lines = re.findall(r"^\[writer\] vCPU \d: (.*)$", console, re.MULTILINE)
        self.assertEqual(lines, [" ".join([str(SHARE)] * PERIODS)] * 2, console)
        self.assertNotIn("[writer] interrupt", console)
        self.assertIn("VM writer has stopped: it turned itself off", console)
        self.assertIn("no VM is left", console)

    def assert_stopped(self, console, what, address, vcpu):
        self.assertIn(f"ringfence: VM intruder, vCPU {vcpu} on core {FIRST_CORE + vcpu}: {what}\n", console)
        self.assertIn(f"ringfence: VM intruder has stopped: {what};", console)
        pc = re.search(r"^ +pc (0x[0-9a-f]{16})  state 0x[0-9a-f]{16}  syndrome 0x[0-9a-f]{16}$", console, re.MULTILINE)
        self.assertIsNotNone(pc, console)
        self.assertEqual(len(set(re.findall(r"\bx(\d+) 0x[0-9a-f]{16}", console))), 31)
        if address is not None:
            self.assertIn(f"address 0x{address:016x}  of the guest's memory 0x{address:016x}", console)
        self.assertNotIn("still here", console)

    def test_forbidden_deeds_end_the_vm(self):
        for name, (deed, what, address) in DEEDS.items():
            with self.subTest(name):
                console = self.run_beside_writer(deed)
                self.assert_stopped(console, what, address, 0)

    def test_one_vcpu_ends_all_of_its_vm(self):
        deed, what, address = DEEDS["WRITE_FOREIGN"]
        console = self.run_beside_writer(deed, vcpus=2)
        self.assert_stopped(console, what, address, 1)
        before, after = console.split("ringfence: VM intruder has stopped")
        self.assertIn("[intruder] alive 0", before)
        # A line may be on its way when the VM stops.
        self.assertLessEqual(after.count("[intruder]"), 1)

    def test_a_vcpu_that_never_comes_to_the_hypervisor_ends_with_its_vm(self):
        """The machine is turned off when no vCPU is on any more, and not before."""
        deed, what, address = DEEDS["WRITE_FOREIGN"]
        console = self.run_beside_writer(deed, vcpus=2, SILENT=1)
        self.assert_stopped(console, what, address, 1)

    def test_reset_is_the_machine_s_alone(self):
        console = self.run_beside_writer(RESET)
        self.assertIn("VM intruder has stopped: it asked for a reset", console)
        self.assertNotIn("still here", console)

    def test_allowed_deeds_end_nothing(self):
        for deed in (NOTHING, FLOOD):
            console = self.run_beside_writer(deed)
            self.assertIn("[intruder] still here", console)
            self.assertIn("VM intruder has stopped: it turned itself off", console)

    def test_a_flood_of_interrupts_reaches_no_other_vm(self):
        """In every form that the register has, with the affinities of cores that it has not, on one vCPU and two."""
        for vcpus, seed in ((1, 1), (2, 2)):
            # The other one is silent, so that no line of it gets into that of this one.
            console = self.run_beside_writer(FLOOD_ALL, vcpus, SEED=seed, SILENT=1)
            self.assertGreater(int(re.search(r"^\[intruder\] (\d+) sent$", console, re.MULTILINE)[1]), 500)
            self.assertIn("VM intruder has stopped: it turned itself off", console)

    def test_wild_arguments_are_answered(self):
        for seed in SEEDS:
            console = self.run_beside_writer(WILD_ARGUMENTS, SEED=seed)
            self.assertGreater(int(re.search(r"^\[intruder\] (\d+) calls$", console, re.MULTILINE)[1]), 1000)
            self.assertIn("[intruder] still here", console)

    def test_wild_calls_end_the_vm(self):
        for seed in SEEDS:
            console = self.run_beside_writer(WILD_CALLS, SEED=seed)
            self.assert_stopped(console, "a hypercall that is none", None, 0)

    def test_a_vm_that_masks_interrupts_holds_nobody_up(self):
        self.assertIn("[intruder] still here", self.run_beside_writer(MASKED))

    def test_more_interrupts_than_list_registers_come_all_the_most_urgent_first(self):
        console = self.run_beside_writer(OVERFLOW)
        taken = f"[intruder] 17 taken: {' '.join(map(str, range(15, -1, -1)))} {TIMER}\n"
        self.assertEqual(console.count(taken), 2, console)

    def test_an_interrupt_from_two_vcpus(self):
        self.assertIn(f"[intruder] {self.from_both}\n", self.run_beside_writer(SENDERS, vcpus=2))


class ContainmentOnGicv2(Containment):
    """The same with the other interrupt controller, where an SGI has a sender, and each sender's arrives."""

    platform = "qemu-virt-gicv2"
    from_both = "2 taken, from vCPUs 1 and 0"


if __name__ == "__main__":
    unittest.main()
