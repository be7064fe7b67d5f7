/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Does what a guest may not do, one thing a run, on its last vCPU; the other one prints meanwhile,
 * or never comes to the hypervisor.
 *
 * Arguments: what to do, by its number below; vCPUs; 1 if the other one prints nothing; what all
 * that is wild begins with, not 0.
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
    FLOOD_ALL,
    WILD_ARGUMENTS,
    WILD_CALLS,
    MASKED,
    OVERFLOW,
    SENDERS,
};

/* Behind the writer's end. */
#define LONG_NS 4000000U
#define SGIS 16U
#define SENT 3U   /* by two */
#define TIMER 27U /* the virtual timer's interrupt */

static uint64_t deed, seed;
static uint64_t taken; /* interrupts that came to this handler, and the first of them in order */
static uint64_t order[SGIS + 1], senders[SGIS + 1];
static uint64_t has_sent;

/* Interrupts to itself and to vCPUs that there are not, as fast as it can. */
static void flood(void) {
    for (uint64_t end_ns = now_ns() + FLOOD_NS; now_ns() < end_ns;)
        interrupt_send(0, 0xffU);
}

/* G. Marsaglia, "Xorshift RNGs", 2003. */
static uint64_t wild_number(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

/* Interrupts to itself, its other vCPU, cores that others have, and to all, in every form. */
static void flood_all(void) {
    uint64_t sent = 0;
    for (uint64_t end_ns = now_ns() + LONG_NS; now_ns() < end_ns; sent++)
        sent % 2 ? send_register_write(wild_number()) : interrupt_send(sent / 2 % SGIS, 0xff);
    print("%u sent\n", sent);
}

/* Of what there is, but for what would end the VM or its vCPU: versions, PSCI, a change. */
static void call_wildly(void) {
    static const uint32_t functions[] = {0x80000000U, 0x84000000U, 0x84000004U, 0x84000005U,
                                         0x84000006U, 0x8400000aU, 0x8400ffffU, 0xc4000004U,
                                         0xc6000000U, 0xc6000001U, 0xc6000002U, 0xc600ff01U};
    uint64_t calls = 0;
    for (uint64_t end_ns = now_ns() + LONG_NS; now_ns() < end_ns; calls++) {
        uint64_t of = wild_number() % (sizeof(functions) / sizeof(functions[0]));
        uint64_t narrow = wild_number() % 64;
        uint64_t upper_half = wild_number() << 32; /* it has no meaning */
        call(functions[of] | upper_half, wild_number() >> narrow, wild_number() >> narrow,
             wild_number() >> narrow);
    }
    print("%u calls\n", calls);
}

static void stay_masked(void) {
    __asm__ volatile("msr daifset, #15");
    for (uint64_t end_ns = now_ns() + LONG_NS; now_ns() < end_ns;)
        continue;
}

/*
 * All that there are, the least urgent first, so that these have all list registers: the timer, which
 * is the hardware's, then each SGI. Priorities have 5 bits.
 */
static void overflow(void) {
    __asm__ volatile("msr daifset, #2");
    set_priority(0, TIMER, SGIS * 8);
    for (uint64_t n = 0; n < SGIS; n++)
        set_priority(0, n, (uint8_t)((SGIS - 1 - n) * 8));
    guest_sysreg_write(cntv_cval_el0, 0);
    guest_sysreg_write(cntv_ctl_el0, 1);
    for (uint64_t n = 0; n < SGIS; n++)
        interrupt_send(n, 1);
    taken = 0;
    __asm__ volatile("msr daifclr, #2");
    for (uint64_t end_ns = now_ns() + ALIVE_NS; now_ns() < end_ns;)
        continue;
    print("%u taken:", taken);
    for (uint64_t n = 0; n <= SGIS; n++)
        print(" %u", order[n]);
    print("\n");
}

/* The same SGI from both vCPUs to this one, which takes none until both are sent. */
static void hear_both(void) {
    __asm__ volatile("msr daifset, #2");
    if (!vcpu_on(1))
        print("vCPU 1 does not start\n");
    while (!__atomic_load_n(&has_sent, __ATOMIC_ACQUIRE))
        __asm__ volatile("yield");
    interrupt_send(SENT, 1);
    __asm__ volatile("msr daifclr, #2");
    for (uint64_t end_ns = now_ns() + ALIVE_NS; now_ns() < end_ns;)
        continue;
    print("%u taken, from vCPUs %u and %u\n", taken, senders[0], senders[1]);
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
    case FLOOD_ALL:
        flood_all();
        break;
    case WILD_ARGUMENTS:
        call_wildly();
        break;
    case WILD_CALLS:
        for (;;)
            call(wild_number(), wild_number(), wild_number(), wild_number());
    case MASKED:
        stay_masked();
        break;
    case SENDERS:
        interrupt_send(SENT, 1);
        __atomic_store_n(&has_sent, 1, __ATOMIC_RELEASE);
        vcpu_off();
    case OVERFLOW:
        overflow();
        overflow();
        break;
    }
}

void interrupt(void) {
    uint64_t got = interrupt_take();
    if (INTERRUPT_NUMBER(got) == TIMER)
        guest_sysreg_write(cntv_ctl_el0, 0);
    if (taken <= SGIS) {
        order[taken] = INTERRUPT_NUMBER(got);
        senders[taken] = INTERRUPT_SENDER(got);
    }
    taken++;
    interrupt_end(got);
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
    do_it();
    off();
}

void main(uint64_t what, uint64_t vcpus, uint64_t is_silent, uint64_t of_wildness) {
    deed = what;
    seed = of_wildness;
    interrupts_on(0, 0xffff | 1U << TIMER);
    if (deed == SENDERS)
        return hear_both();
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
