/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Does what a guest may not do, one thing a run, on its last vCPU; the other one prints meanwhile,
 * or never comes to the hypervisor.
 *
 * Arguments: what to do, by its number below; vCPUs; 1 if the other one prints nothing.
 */
#include "guest.h"

/* The first byte behind its memory, and where the machine has the other VM's. */
#define BEHIND 0x40200000U
#define OTHERS 0x44000000U
#define DISTRIBUTOR 0x08000000U
/* A page that it may only read, and one that it may not. */
#define STATISTICS 0x70001000U
#define OTHER_STATISTICS 0x70000000U
#define HYPERCALL_UNKNOWN 0xc600beefU
#define SMCCC_YIELDING 0x32000000U /* a call to a trusted system, which there is not */
#define PSCI_SYSTEM_RESET 0x84000009U
#define FLOOD_NS 2000000U
#define ALIVE_NS 100000U

enum deed {
    NOTHING,
    WRITE_FOREIGN,
    READ_FOREIGN,
    RUN_FOREIGN,
    UNKNOWN_HYPERCALL,
    WRONG_CONVENTION,
    HYPERCALL_NUMBER,
    FIRMWARE_CALL,
    PHYSICAL_TIMER,
    PAIR_FROM_DEVICE,
    RESET,
    FLOOD,
    CLEAN_BY_SET,
    WRITE_STATISTICS,
    READ_OTHER_STATISTICS,
};

static uint64_t deed;

/* Interrupts to itself and to vCPUs that there are not, as fast as it can. */
static void flood(void) {
    for (uint64_t end_ns = now_ns() + FLOOD_NS; now_ns() < end_ns;)
        guest_sysreg_write(icc_sgi1r_el1, 0xffffU);
}

static void do_it(void) {
    switch (deed) {
    case WRITE_FOREIGN:
        *(volatile uint64_t *)(uintptr_t)BEHIND = 1;
        break;
    case READ_FOREIGN:
        print("%x\n", *(volatile uint64_t *)(uintptr_t)OTHERS);
        break;
    case RUN_FOREIGN:
        ((void (*)(void))(uintptr_t)OTHERS)();
        break;
    case UNKNOWN_HYPERCALL:
        call(HYPERCALL_UNKNOWN, 1, 2, 3);
        break;
    case WRONG_CONVENTION:
        call(SMCCC_YIELDING, 1, 2, 3);
        break;
    case HYPERCALL_NUMBER:
        __asm__ volatile("hvc #1");
        break;
    case FIRMWARE_CALL:
        __asm__ volatile("smc #0");
        break;
    case PHYSICAL_TIMER:
        guest_sysreg_write(cntp_ctl_el0, 1);
        break;
    case PAIR_FROM_DEVICE:
        __asm__ volatile("ldp x2, x3, [%0]" ::"r"((uint64_t)DISTRIBUTOR) : "x2", "x3");
        break;
    case RESET:
        call(PSCI_SYSTEM_RESET, 0, 0, 0);
        break;
    case FLOOD:
        flood();
        break;
    case CLEAN_BY_SET:
        __asm__ volatile("dc cisw, xzr");
        break;
    case WRITE_STATISTICS:
        print("version %u\n", (uint64_t)((volatile uint32_t *)(uintptr_t)STATISTICS)[1]);
        *(volatile uint64_t *)(uintptr_t)STATISTICS = 1;
        break;
    case READ_OTHER_STATISTICS:
        print("%x\n", *(volatile uint64_t *)(uintptr_t)OTHER_STATISTICS);
        break;
    }
}

void interrupt(void) {
    guest_sysreg_write(icc_eoir1_el1, guest_sysreg_read(icc_iar1_el1));
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
    do_it();
    off();
}

void main(uint64_t what, uint64_t vcpus, uint64_t is_silent, uint64_t unused) {
    (void)unused;
    deed = what;
    interrupts_on(0, 0xffff);
    if (vcpus == 1)
        do_it();
    else if (!vcpu_on(1))
        print("vCPU 1 does not start\n");
    for (uint64_t alive = 0; vcpus > 1; alive++) {
        if (!is_silent)
            print("alive %u\n", alive);
        for (uint64_t end_ns = now_ns() + ALIVE_NS; now_ns() < end_ns;)
            __asm__ volatile("yield");
    }
    print("still here\n");
}
