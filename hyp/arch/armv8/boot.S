/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * From the firmware to start(): at EL2, MMU and caches off. The first core also clears our data
 * and builds the translation tables; the others come here when it turns them on (firmware.h).
 */
#include "sysreg.h"

/* From the start of the memory to where we are linked to, on all boards. */
#define IMAGE_OFFSET 0x200000

/*
 * What boot loaders want to see of a raw image (Linux, Documentation/arch/arm64/booting.rst): how
 * far behind the start of the memory it is to be, and how long it is. Whoever appends to it sets
 * that anew.
 */
.section .text.boot, "ax"
.global _start
_start:
    b begin
    .long 0
    .quad IMAGE_OFFSET
    .quad image_size
    .quad 0                     /* flags: little-endian, not where it pleases */
    .quad 0, 0, 0
    .ascii "ARM\x64"
    .long 0

begin:
    msr daifset, #15
    /* Nothing stale may be in a cache when caches are turned on. */
    adrp x0, image_data
    ldr x1, =bss_end
    mrs x2, ctr_el0
    ubfx x2, x2, #16, #4        /* CTR_EL0.DminLine: log2 of words */
    mov x3, #4
    lsl x3, x3, x2
    ldr x4, =bss_start
0:  dc civac, x0
    add x0, x0, x3
    cmp x0, x1
    b.lo 0b
    dsb sy
1:  stp xzr, xzr, [x4], #16
    cmp x4, x1
    b.lo 1b
    mov x19, #0
    ldr x0, =stacks + STACK_SIZE
    mov sp, x0
    bl mmu_build
    b 2f

.global secondary_start
secondary_start:                /* x0: number of the core */
    msr daifset, #15
    mov x19, x0
2:  ldr x0, =stacks
    mov x1, #STACK_SIZE
    madd x0, x19, x1, x0
    add x0, x0, x1
    mov sp, x0
    bl mmu_enable
    ldr x0, =vectors
    msr vbar_el2, x0
    isb
    mov x0, x19
    b start

/* _Noreturn void arch_restart(void *stack_top, void (*next)(void)): forgets the stack. */
.global arch_restart
arch_restart:
    mov sp, x0
    br x1
