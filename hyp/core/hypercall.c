/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "hypercall.h"

#include "change.h"
#include "channel.h"

static bool ours(struct vcpu *vcpu, uint64_t x[4]) {
    if ((uint32_t)x[0] == HYPERCALL_VERSION)
        x[0] = HYPERCALL_VERSION_0_3;
    else if ((uint32_t)x[0] == HYPERCALL_CHANGE)
        x[0] = change(vcpu, x[1], x[2], x[3], &x[1]);
    else if ((uint32_t)x[0] == HYPERCALL_NOTIFY)
        x[0] = channel_notify(vcpu, x[1], &x[1]);
    else if ((x[0] & SMCCC_NUMBER) >= SMCCC_QUERIES)
        x[0] = SMCCC_NOT_SUPPORTED;
    else
        return false;
    return true;
}

bool hypercall(struct vcpu *vcpu, uint64_t x[4]) {
    uint32_t function = (uint32_t)x[0]; /* the upper half has no meaning, DEN 0028 2.7 */
    if (!(function & SMCCC_FAST) || function & SMCCC_RESERVED)
        return false;
    switch (function & SMCCC_SERVICE) {
    case SMCCC_SERVICE_ARM:
        x[0] = function == SMCCC_VERSION ? SMCCC_VERSION_1_1 : SMCCC_NOT_SUPPORTED;
        return true;
    case SMCCC_SERVICE_STANDARD:
        x[0] = psci(vcpu, x);
        return true;
    case SMCCC_SERVICE_HYPERVISOR:
        return ours(vcpu, x);
    default:
        return false;
    }
}
