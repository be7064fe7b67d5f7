/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Counts down and says how long that took: what the hypervisor takes of a guest that asks nothing
 * of it; or with a number of its own in each register, and says what is wrong in them behind it.
 *
 * Arguments: rounds of two instructions; 1 to look at the registers.
 */
#include "guest.h"

/* What is wrong in x1 to x30 after so many rounds, all of them together. */
uint64_t registers_spoilt(uint64_t rounds);
__asm__("    .text\n"
        "registers_spoilt:\n"
        "    .irp n, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30\n"
        "    str x\\n, [sp, #-16]!\n"
        "    .endr\n"
        "    .macro each do:vararg\n"
        "    .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, "
        "22, 23, "
        "24, 25, 26, 27, 28, 29, 30\n"
        "    \\do\n"
        "    .endr\n"
        "    .endm\n"
        "    each mov x\\n, #(0x1000 + \\n)\n"
        "0:  subs x0, x0, #1\n"
        "    b.ne 0b\n"
        "    each eor x\\n, x\\n, #0x1000\n"
        "    each sub x\\n, x\\n, #\\n\n"
        "    each orr x0, x0, x\\n\n"
        "    .irp n, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19\n"
        "    ldr x\\n, [sp], #16\n"
        "    .endr\n"
        "    ret\n");

void interrupt(void) {
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
}

void main(uint64_t rounds, uint64_t registers, uint64_t unused, uint64_t unused_too) {
    (void)unused;
    (void)unused_too;
    if (registers) {
        print("wrong in the registers: %x\n", registers_spoilt(rounds));
        return;
    }
    uint64_t left = rounds;
    uint64_t began_ns = now_ns();
    __asm__ volatile("0: subs %0, %0, #1\n b.ne 0b" : "+r"(left)::"cc");
    print("%u rounds in %u ns\n", rounds, now_ns() - began_ns);
}
