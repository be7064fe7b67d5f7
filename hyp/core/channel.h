/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Channels between VMs: memory that two VMs have in common, and notifications, which are shared
 * interrupts of the other one. Nothing of it is copied or looked at here.
 *
 * However often a VM notifies another one, that is interrupted once in the channel's interval at
 * most, and its core not even told more often: what is asked for too soon is refused, on the core and
 * in the time of the one that asks. There is no lock that both VMs take.
 *
 * No notification is lost: until the guest takes it, it waits, and several that wait are one.
 */
#ifndef RINGFENCE_HYP_CHANNEL_H
#define RINGFENCE_HYP_CHANNEL_H

#include "vm.h"

/* Their memory is zero from here on, until a guest writes to it. */
void channels_init(void);
/* The hypercall: one of its results, and when to ask again if it is HYPERCALL_TOO_SOON. */
uint64_t channel_notify(struct vcpu *caller, uint64_t number, uint64_t *when_ns);

#endif
