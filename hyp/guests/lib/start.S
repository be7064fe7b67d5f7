/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A bare-metal guest: MMU and caches on, one to one, then main(x0, x1, x2, x3) on vCPU 0 and
 * secondary(vCPU) on the others. The image comes without .bss, into memory that is zero.
 */
#define STACK_BYTES 4096
#define VCPUS 8

/* Arm DDI 0487, D19: MAIR_EL1, TCR_EL1 (T0SZ 25: 39 bits; IRGN0, ORGN0 write-back; SH0 inner; EPD1),
 * SCTLR_EL1 (RES1 bits, M, C, I). */
#define MAIR 0xff04
#define TCR (25 | 1 << 8 | 1 << 10 | 3 << 12 | 1 << 23)
#define SCTLR (1 << 0 | 1 << 2 | 1 << 12)
/* D8.3: blocks of 1 GiB, accessed; the first is device memory (attribute 0, never executed), the
 * others normal, inner shareable (attribute 1). */
#define BLOCK_DEVICE (1 | 1 << 10 | 1 << 54)
#define BLOCK_NORMAL (1 | 1 << 2 | 3 << 8 | 1 << 10)
#define GIB 0x40000000

.section .text.start, "ax"
.global _start
_start:
    mov x19, #0
    adrp x4, arguments
    add x4, x4, :lo12:arguments
    stp x0, x1, [x4]
    stp x2, x3, [x4, #16]
    b 1f
.global secondary_start
secondary_start:                    /* x0: number of the vCPU */
    mov x19, x0
1:  adrp x0, stacks + STACK_BYTES
    add x0, x0, :lo12:stacks + STACK_BYTES
    mov x1, #STACK_BYTES
    madd x0, x19, x1, x0
    mov sp, x0
    ldr x0, =MAIR
    msr mair_el1, x0
    ldr x0, =TCR
    msr tcr_el1, x0
    adrp x0, table
    msr ttbr0_el1, x0
    adrp x0, vectors
    add x0, x0, :lo12:vectors
    msr vbar_el1, x0
    tlbi vmalle1
    dsb sy
    isb
    mrs x0, sctlr_el1
    ldr x1, =SCTLR
    orr x0, x0, x1
    msr sctlr_el1, x0
    isb
    cbnz x19, 2f
    adrp x4, arguments
    add x4, x4, :lo12:arguments
    ldp x0, x1, [x4]
    ldp x2, x3, [x4, #16]
    bl main
    b off
2:  mov x0, x19
    bl secondary
3:  wfi
    b 3b

/* Two kinds of interrupt at most: what comes goes to interrupt(). */
.macro other
.balign 128
    b wild
.endm
.balign 2048
vectors:
    other; other; other; other
    other
.balign 128
    sub sp, sp, #176
    stp x0, x1, [sp]
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x30, [sp, #144]
    bl interrupt
    ldp x18, x30, [sp, #144]
    ldp x16, x17, [sp, #128]
    ldp x14, x15, [sp, #112]
    ldp x12, x13, [sp, #96]
    ldp x10, x11, [sp, #80]
    ldp x8, x9, [sp, #64]
    ldp x6, x7, [sp, #48]
    ldp x4, x5, [sp, #32]
    ldp x2, x3, [sp, #16]
    ldp x0, x1, [sp]
    add sp, sp, #176
    eret
    other; other
    other; other; other; other
    other; other; other; other

.section .data
.balign 4096
table:
    .quad BLOCK_DEVICE, BLOCK_NORMAL + GIB, BLOCK_NORMAL + 2 * GIB, BLOCK_NORMAL + 3 * GIB
    .fill 508, 8, 0
/* In .data: the MMU is off when they are written. */
.balign 16
arguments: .quad 0, 0, 0, 0
.section .bss
.balign 16
stacks: .skip VCPUS * STACK_BYTES
