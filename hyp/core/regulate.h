/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reservations in force: the counter, the timer and the lock around policy's reservation.h, which
 * decides, and its periods.h, which numbers periods alike for all cores, by the clock that they
 * share. change.h changes both.
 *
 * A vCPU of a VM without a reservation has neither timer nor counter: nothing here runs for it
 * but one test before its first instruction.
 */
#ifndef RINGFENCE_HYP_REGULATE_H
#define RINGFENCE_HYP_REGULATE_H

#include "vm.h"

static inline bool is_regulated(const struct vm *vm) {
    return vm->config->reservation.period_ns != 0;
}

/* Null, or what is wrong with the VM's reservation. */
const char *regulate_init(struct vm *vm);
/* Under the VM's lock: its periods are about to change, from one on that has not begun when this
 * returns. */
void regulate_changes(struct vm *vm);
/* The vCPU of this core is off: if its VM lends, it lends. */
void regulate_off(struct vcpu *vcpu);
/* The vCPU of this core is about to run its first instruction. */
void regulate_start(struct vcpu *vcpu);
/* It runs no more; what it used last is charged. */
void regulate_stop(struct vcpu *vcpu);
/* It stands still and its core was woken: perhaps there is something to borrow now. */
void regulate_retry(struct vcpu *vcpu);
/* The counter has counted what it was armed for. */
void regulate_overflow(struct vcpu *vcpu);
/* The timer says that another period has begun; go_on.h is the short way. */
void regulate_period(struct vcpu *vcpu);

#endif
