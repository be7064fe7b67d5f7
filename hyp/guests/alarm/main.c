/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Has a clock of its own, a PL031, and sets its alarm: a shared interrupt that stays up until the
 * clock is told.
 *
 * Arguments: what to do, by its number below; the vCPU that gets the interrupt; the address of the
 * clock; its interrupt.
 */
#include "guest.h"

/* Arm DDI 0224 (PL031), 3.1: time, time of the alarm, mask, state, and clear. */
#define RTCDR 0x00U
#define RTCMR 0x04U
#define RTCIMSC 0x10U
#define RTCRIS 0x14U
#define RTCICR 0x1cU
/* Arm IHI 0048B, 4.3: the distributor's registers of a bit an interrupt, of a byte, and for SGIs. */
#define DISTRIBUTOR 0x08000000U
#define BITS 0x80U
#define PRIORITIES 0x400U
#define SGIR 0xf00U
#define WHILE_NS 50000U /* longer than an interrupt takes */
#define STORM_NS 2000000U

enum deed {
    ALARM,      /* while its interrupt is off, then on; up again at the end of the first time */
    STORM,      /* an alarm that is never told */
    NEVER_ENDS, /* its first interrupt */
    SLEEPER,    /* while its vCPU is off */
    FOREIGN,    /* writes all registers of others' interrupts */
};

static uint64_t deed, target, clock, number;
static volatile uint64_t taken, taker, is_off;

static volatile uint32_t *of_clock(uint64_t offset) {
    return (volatile uint32_t *)(clock + offset);
}

/* It is due at once, unless a second begins meanwhile. */
static void set_alarm(void) {
    *of_clock(RTCIMSC) = 1;
    while (!(*of_clock(RTCRIS) & 1))
        *of_clock(RTCMR) = *of_clock(RTCDR);
}

static void wait_while(uint64_t so_many) {
    while (taken < so_many)
        __asm__ volatile("yield");
}

static void pause(uint64_t length_ns) {
    for (uint64_t end_ns = now_ns() + length_ns; now_ns() < end_ns;)
        __asm__ volatile("yield");
}

void interrupt(void) {
    uint64_t got = interrupt_take();
    if (INTERRUPT_NUMBER(got) != number)
        print("interrupt %u\n", INTERRUPT_NUMBER(got));
    taken++;
    taker = guest_sysreg_read(mpidr_el1) & 0xff;
    while (deed == NEVER_ENDS)
        __asm__ volatile("yield");
    if (deed == SLEEPER || (deed == ALARM && taken == 2))
        *of_clock(RTCICR) = 1;
    interrupt_end(got);
}

void secondary(uint64_t vcpu) {
    if (deed == SLEEPER && !is_off) {
        is_off = 1;
        vcpu_off();
    }
    interrupts_on(vcpu, 0);
    for (;;)
        __asm__ volatile("wfi");
}

static void alarm(void) {
    shared_send_to(number, target);
    set_alarm();
    pause(WHILE_NS);
    print("off: pending %u, taken %u\n", (uint64_t)shared_is_pending(number), taken);
    shared_set(number, true);
    wait_while(2);
    pause(WHILE_NS);
    print("on: pending %u, taken %u by vCPU %u\n", (uint64_t)shared_is_pending(number), taken,
          taker);
}

static void storm(void) {
    shared_send_to(number, target);
    shared_set(number, true);
    set_alarm();
    pause(STORM_NS);
    shared_set(number, false);
    uint64_t before = taken;
    pause(WHILE_NS);
    print("a storm: %s\n", before > 10 && taken <= before + 1 ? "many, until it is off" : "not so");
}

static void wake_sleeper(void) {
    shared_send_to(number, target);
    shared_set(number, true);
    while (!is_off)
        __asm__ volatile("yield");
    pause(WHILE_NS);
    set_alarm();
    pause(WHILE_NS);
    print("asleep: taken %u\n", taken);
    if (!vcpu_on(target))
        print("it does not start\n");
    wait_while(1);
    print("awake: taken %u by vCPU %u\n", taken, taker);
}

/* Each word of the distributor about shared interrupts, but for that with its own. */
static void write_foreign(uint64_t bytes) {
    uint64_t seen = 0;
    for (uint64_t offset = BITS; offset < bytes; offset += 4) {
        volatile uint32_t *word = (volatile uint32_t *)(DISTRIBUTOR + offset);
        bool is_private_or_own = offset % 0x80 <= number / 32 * 4;
        if (offset == SGIR || (offset < PRIORITIES && is_private_or_own))
            continue;
        *word = ~0U;
        if (offset < PRIORITIES)
            seen |= *word;
    }
    print("others': %x\n", seen);
}

void main(uint64_t what, uint64_t vcpu, uint64_t address, uint64_t interrupt_number) {
    deed = what;
    target = vcpu;
    clock = address;
    number = interrupt_number;
    *of_clock(RTCICR) = 1;
    interrupts_on(0, 0);
    if (target && !vcpu_on(target))
        print("vCPU %u does not start\n", target);
    if (deed == ALARM)
        alarm();
    else if (deed == STORM)
        storm();
    else if (deed == SLEEPER)
        wake_sleeper();
    else if (deed == FOREIGN)
        write_foreign(is_gicv3() ? 0x8000 : 0x1000);
    else {
        shared_send_to(number, target);
        shared_set(number, true);
        set_alarm();
        pause(STORM_NS);
    }
    print("still here\n");
}
