/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reservations changed at run time, for a VM that may: within the bounds of the one that is changed
 * and within the platform's total, from the next period on. policy's periods.h says why no vCPU
 * gets two budgets in less than a period, whichever way the length changes.
 *
 * The total is a bandwidth: until a change is in force, the larger one counts. A VM that has
 * stopped keeps its part.
 */
#ifndef RINGFENCE_HYP_CHANGE_H
#define RINGFENCE_HYP_CHANGE_H

#include "vm.h"

/* The VM has the reservation of its configuration. */
void change_init(const struct vm *vm);
/* The hypercall: one of its results, and when the change is in force if it is HYPERCALL_DONE. */
uint64_t change(struct vcpu *caller, uint64_t number, uint64_t budget, uint64_t period_ns,
                uint64_t *from_ns);

#endif
