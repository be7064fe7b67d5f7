/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a guest may ask for with HVC #0, by the SMC Calling Convention (Arm DEN 0028): function in
 * x0, arguments in x1 to x3, result in x0. A standard function that is not here is "not
 * supported"; anything else is a wild call and ends the VM.
 */
#ifndef RINGFENCE_HYP_HYPERCALL_H
#define RINGFENCE_HYP_HYPERCALL_H

#include "vm.h"

/* Function identifiers, DEN 0028 2.5: fast call, 64 bit, service, number. */
#define SMCCC_FAST 0x80000000U
#define SMCCC_64 0x40000000U
#define SMCCC_SERVICE 0x3f000000U
#define SMCCC_RESERVED 0x00ff0000U
#define SMCCC_SERVICE_ARM 0x00000000U
#define SMCCC_SERVICE_STANDARD 0x04000000U   /* PSCI, random numbers, power */
#define SMCCC_SERVICE_HYPERVISOR 0x06000000U /* ours, "vendor specific hypervisor" */
#define SMCCC_NUMBER 0x0000ffffU
#define SMCCC_NOT_SUPPORTED 0xffffffffffffffffU

#define SMCCC_VERSION 0x80000000U
#define SMCCC_VERSION_1_1 0x00010001U

/* Ours: the version of these calls. */
#define HYPERCALL_VERSION 0xc6000000U
#define HYPERCALL_VERSION_0_3 0x00000003U
/*
 * Changes a VM's reservation: its number, events in each period, length of periods in ns. Result
 * in x0: 0, or one of those below; in x1, if it is 0: when the first period of the new reservation
 * begins, in ns on the clock that all guests share.
 */
#define HYPERCALL_CHANGE 0xc6000001U
#define HYPERCALL_DONE 0U
#define HYPERCALL_NO_VM ((uint64_t)-3)  /* no such VM, or it has stopped */
#define HYPERCALL_DENIED ((uint64_t)-4) /* the caller may not do that to that VM */
#define HYPERCALL_OUT_OF_BOUNDS ((uint64_t)-5)
#define HYPERCALL_ABOVE_TOTAL ((uint64_t)-6) /* of the platform, with all other reservations */
#define HYPERCALL_PENDING ((uint64_t)-7)     /* the change before is not in force yet */
/*
 * Notifies the VM at the other end of a channel: its number. Result in x0: 0, or one of those
 * above, or this one, with the time from which on it is not too soon in x1.
 */
#define HYPERCALL_NOTIFY 0xc6000002U
#define HYPERCALL_TOO_SOON ((uint64_t)-8)
/* General queries of a service, DEN 0028 6.2: how many calls, whose, which revision. */
#define SMCCC_QUERIES 0x0000ff00U

/* False for a wild call, after which x is as before. */
bool hypercall(struct vcpu *vcpu, uint64_t x[4]);
/* The part of it that turns vCPUs and VMs on and off: the result, or no return. */
uint64_t psci(struct vcpu *vcpu, const uint64_t x[4]);

#endif
