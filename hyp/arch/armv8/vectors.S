/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Exceptions that EL2 takes (DDI 0487 D1.3.1.5): 16 entries of 128 bytes. From a guest, the
 * registers go onto the stack as struct registers. From EL2 itself there are none but bugs.
 *
 * An interrupt changes nothing of the guest's, so only what a C function may spoil (AAPCS64 6.1.1)
 * is saved. x9 to x15 and x18 are not even that: ours are compiled without them (Makefile). Where
 * the guest goes on stays in ELR_EL2 and SPSR_EL2: EL2 takes no exceptions itself.
 */
#define FRAME 272

.macro enter_from_guest handler
.balign 128
    sub sp, sp, #FRAME
    stp x0, x1, [sp, #0]
    stp x2, x3, [sp, #16]
    adr x1, \handler
    b save
.endm

.macro interrupt_from_guest
.balign 128
    stp x0, x1, [sp, #-96]!
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x16, [sp, #64]
    stp x17, x30, [sp, #80]
    bl trap_interrupt
    ldp x17, x30, [sp, #80]
    ldp x8, x16, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp], #96
    eret
.endm

.macro enter_from_el2 kind
.balign 128
    mov x0, #\kind
    b hypervisor_fault
.endm

.section .text.vectors, "ax"
.balign 2048
.global vectors
vectors:
    enter_from_el2 0                    /* EL2 with SP_EL0: synchronous, IRQ, FIQ, SError */
    enter_from_el2 1
    enter_from_el2 2
    enter_from_el2 3
    enter_from_el2 0                    /* EL2 with SP_EL2 */
    enter_from_el2 1
    enter_from_el2 2
    enter_from_el2 3
    enter_from_guest trap_synchronous   /* guest in AArch64 */
    interrupt_from_guest
    enter_from_guest trap_wild
    enter_from_guest trap_wild
    enter_from_guest trap_wild          /* guest in AArch32, which no guest is */
    enter_from_guest trap_wild
    enter_from_guest trap_wild
    enter_from_guest trap_wild
.balign 128

save:                                   /* x1: handler; x0 to x3 are saved */
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x19, [sp, #144]
    stp x20, x21, [sp, #160]
    stp x22, x23, [sp, #176]
    stp x24, x25, [sp, #192]
    stp x26, x27, [sp, #208]
    stp x28, x29, [sp, #224]
    mrs x2, elr_el2
    stp x30, x2, [sp, #240]
    mrs x3, spsr_el2
    str x3, [sp, #256]
    mov x0, sp
    blr x1
    mov x0, sp
    /* Falls through. */

/* _Noreturn void guest_enter(struct registers *): also the way back from a trap. */
.global guest_enter
guest_enter:
    mov sp, x0
    ldr x3, [sp, #256]
    msr spsr_el2, x3
    ldp x30, x2, [sp, #240]
    msr elr_el2, x2
    ldp x28, x29, [sp, #224]
    ldp x26, x27, [sp, #208]
    ldp x24, x25, [sp, #192]
    ldp x22, x23, [sp, #176]
    ldp x20, x21, [sp, #160]
    ldp x18, x19, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp, #0]
    add sp, sp, #FRAME
    eret
