/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Power State Coordination Interface (Arm DEN 0022), on both sides: the guests' calls, of which
 * those of one VM never reach another, and our own to the firmware.
 */
#include "psci.h"

#include "../../core/arch.h"
#include "../../core/hypercall.h"
#include "../../core/platform.h"

/* DEN 0022 5.1: function identifiers; those with a 64 bit form have SMCCC_64 there. */
#define PSCI_VERSION 0x84000000U
#define PSCI_CPU_OFF 0x84000002U
#define PSCI_CPU_ON 0x84000003U
#define PSCI_AFFINITY_INFO 0x84000004U
#define PSCI_MIGRATE_INFO_TYPE 0x84000006U
#define PSCI_SYSTEM_OFF 0x84000008U
#define PSCI_SYSTEM_RESET 0x84000009U
#define PSCI_FEATURES 0x8400000aU

/* DEN 0022 5.2: results. */
#define PSCI_SUCCESS 0U
#define PSCI_INVALID_PARAMETERS ((uint64_t)-2)
#define PSCI_ALREADY_ON ((uint64_t)-4)
#define PSCI_VERSION_1_0 0x00010000U
#define PSCI_NOT_TRUSTED_OS 2U /* of MIGRATE_INFO_TYPE: nothing to migrate */
#define PSCI_AFFINITY_ON 0U
#define PSCI_AFFINITY_OFF 1U
#define PSCI_AFFINITY_PENDING 2U

static uint64_t firmware(uint64_t function, uint64_t a, uint64_t b, uint64_t c) {
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;
    /* DEN 0028 2.6: x4 to x17 may change. */
    __asm__ volatile("smc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    return x0;
}

bool psci_core_on(uint32_t core, uint64_t entry) {
    return firmware(PSCI_CPU_ON | SMCCC_64, platform.affinity[core], entry, core) == PSCI_SUCCESS;
}

_Noreturn void arch_power_off(void) {
    firmware(PSCI_SYSTEM_OFF, 0, 0, 0);
    for (;;)
        __asm__ volatile("wfi");
}

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
