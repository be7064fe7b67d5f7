/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Guests' calls of the Power State Coordination Interface (Arm DEN 0022): those of one VM never
 * reach another, nor the firmware.
 */
#include "psci.h"

#include "../../core/arch.h"
#include "../../core/hypercall.h"

/* The vCPU that a guest means: affinity 0 is its number, see VMPIDR_EL2 in trap.c. */
static struct vcpu *vcpu_of_affinity(struct vm *vm, uint64_t affinity) {
    return affinity < vm->config->vcpus ? &vm->vcpu[affinity] : 0;
}

static uint64_t cpu_on(struct vm *vm, uint64_t affinity, uint64_t entry, uint64_t argument) {
    struct vcpu *vcpu = vcpu_of_affinity(vm, affinity);
    if (!vcpu)
        return PSCI_INVALID_PARAMETERS;
    return vcpu_start(vcpu, entry, argument) ? PSCI_SUCCESS : PSCI_ALREADY_ON;
}

static uint64_t affinity_info(struct vm *vm, uint64_t affinity) {
    struct vcpu *vcpu = vcpu_of_affinity(vm, affinity);
    if (!vcpu)
        return PSCI_INVALID_PARAMETERS;
    switch (__atomic_load_n(&vcpu->state, __ATOMIC_ACQUIRE)) {
    case VCPU_ON:
        return PSCI_AFFINITY_ON;
    case VCPU_STARTING:
        return PSCI_AFFINITY_PENDING;
    default:
        return PSCI_AFFINITY_OFF;
    }
}

static uint64_t features(uint32_t function) {
    switch (function & ~SMCCC_64) {
    case PSCI_VERSION:
    case PSCI_CPU_OFF:
    case PSCI_CPU_ON:
    case PSCI_AFFINITY_INFO:
    case PSCI_MIGRATE_INFO_TYPE:
    case PSCI_SYSTEM_OFF:
    case PSCI_SYSTEM_RESET:
    case PSCI_FEATURES:
    case SMCCC_VERSION:
        return PSCI_SUCCESS;
    default:
        return SMCCC_NOT_SUPPORTED;
    }
}

uint64_t psci(struct vcpu *vcpu, const uint64_t x[4]) {
    switch ((uint32_t)x[0]) {
    case PSCI_VERSION:
        return PSCI_VERSION_1_0;
    case PSCI_FEATURES:
        return features((uint32_t)x[1]);
    case PSCI_MIGRATE_INFO_TYPE:
        return PSCI_NOT_TRUSTED_OS;
    case PSCI_CPU_ON:
    case PSCI_CPU_ON | SMCCC_64:
        return cpu_on(vcpu->vm, x[1], x[2], x[3]);
    case PSCI_AFFINITY_INFO:
    case PSCI_AFFINITY_INFO | SMCCC_64:
        return affinity_info(vcpu->vm, x[1]);
    case PSCI_CPU_OFF:
        vcpu_off(vcpu);
    case PSCI_SYSTEM_OFF:
        vm_stop(vcpu->vm, "it turned itself off");
    case PSCI_SYSTEM_RESET:
        /* Its images are not kept: there is nothing to start it from again. */
        vm_stop(vcpu->vm, "it asked for a reset, which only the whole machine has");
    default:
        return SMCCC_NOT_SUPPORTED;
    }
}
