/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes the pages of statistics_page.h, of the VMs that some VM may look at. Of the others, and of
 * those without a reservation, there is a header at most, and nothing here is called.
 */
#ifndef RINGFENCE_HYP_STATISTICS_H
#define RINGFENCE_HYP_STATISTICS_H

#include "statistics_page.h"
#include "vm.h"

/* Gives the vCPUs of a VM their lines. */
void statistics_init(struct vm *vm);
/* Where the page of a VM is. */
const struct statistics_page *statistics_of(uint32_t number);
/* The vCPU has used events; those that were not borrowed are charged to its share next. */
void statistics_charge(struct vcpu *vcpu, uint64_t events, uint64_t of_share);
/* It has given events out of its share. */
void statistics_lend(struct vcpu *vcpu, uint64_t events);
/* All else is as the line is to say; the vCPU stands still, or goes on. */
void statistics_publish(struct vcpu *vcpu, bool is_throttled);

#endif
