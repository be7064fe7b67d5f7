/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Lending in force: the pool, its lock and the vCPUs that take part, around policy's lending.h,
 * which decides. Of a vCPU that takes no part nothing here is called, nor does its core ever wait
 * for this lock.
 *
 * All is called under the VM's lock, by the vCPU's core.
 */
#ifndef RINGFENCE_HYP_LEND_H
#define RINGFENCE_HYP_LEND_H

#include "vm.h"

#include <ringfence/lending.h>

struct lending_state {
    struct rf_lending_vcpu vcpu;
    bool lends;
    uint64_t borrows; /* events at once */
};

/* Gives the vCPUs of a VM that takes part their state. */
void lend_init(struct vm *vm);
/* The vCPU has begun a period, if it is another than before: it may give some of its share. */
void lend_begin(struct vcpu *vcpu, uint64_t period);
/* How many of the events that it has used are of its share. */
uint64_t lend_use(struct vcpu *vcpu, uint64_t events);
/*
 * What it may use beyond its share, of which so much is left: if nothing is, it borrows. If there
 * is nothing to borrow its core is kicked when there is.
 */
uint64_t lend_more(struct vcpu *vcpu, uint64_t left);

#endif
