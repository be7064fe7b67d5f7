/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes to all of its memory that it does not lie in itself, and reads it back: each word is its
 * own address with the painter's number above it, so that whoever looks at the machine's memory
 * knows whose it is and where the guest has it.
 *
 * Arguments: its number, up to 65535; bytes of its memory.
 */
#include "guest.h"

#define MEMORY 0x40000000ULL
#define PAGE_BYTES 4096ULL
#define NUMBER_SHIFT 48

/* By the linker: behind its data and stacks. */
extern char end[];

/* Arm DDI 0487, D19: CSSELR_EL1, the unified cache of level 2; CCSIDR_EL1: sets less one from bit
 * 13 on, log2 of a line's words less two. */
static uint64_t colours_of_level_2(void) {
    guest_sysreg_write(csselr_el1, 1 << 1);
    __asm__ volatile("isb");
    uint64_t id = guest_sysreg_read(ccsidr_el1);
    uint64_t way_bytes = ((id >> 13 & 0x7fff) + 1) << ((id & 7) + 4);
    return way_bytes / PAGE_BYTES;
}

void interrupt(void) {
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
}

void main(uint64_t number, uint64_t bytes, uint64_t unused, uint64_t unused_too) {
    (void)unused;
    (void)unused_too;
    uint64_t from = ((uintptr_t)end + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES, wrong = 0;
    for (uint64_t word = from; word < MEMORY + bytes; word += sizeof(word))
        *(volatile uint64_t *)word = number << NUMBER_SHIFT | word;
    for (uint64_t word = from; word < MEMORY + bytes; word += sizeof(word))
        wrong += *(volatile uint64_t *)word != (number << NUMBER_SHIFT | word);
    print("%u pages from %x on, %u words wrong; the cache of level 2 has %u colours\n",
          (MEMORY + bytes - from) / PAGE_BYTES, from, wrong, colours_of_level_2());
}
