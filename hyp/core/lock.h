/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A lock between cores. */
#ifndef RINGFENCE_HYP_LOCK_H
#define RINGFENCE_HYP_LOCK_H

#include <stdint.h>

struct lock {
    uint32_t taken;
};

/* Spins until the lock is free; not re-entrant. Interrupts are off at EL2, always. */
static inline void lock(struct lock *lock) {
    while (__atomic_exchange_n(&lock->taken, 1, __ATOMIC_ACQUIRE))
        __asm__ volatile("yield");
}

static inline void unlock(struct lock *lock) {
    __atomic_store_n(&lock->taken, 0, __ATOMIC_RELEASE);
}

#endif
