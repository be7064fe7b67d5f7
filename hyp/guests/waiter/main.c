/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Waits for its virtual timer again and again, and says how late the interrupt came: from the time
 * that the timer was set for to the first instruction of C in its handler, in ticks of the clock.
 *
 * Arguments: how often; 0 if it sleeps meanwhile, 1 if it writes lines as the writer does.
 */
#include "guest.h"

#define TIMER_INTERRUPT 27U
#define MAX_SAMPLES 1000U
#define A_ROW 50U
#define LINE_BYTES 64U
#define BUFFER_LINES 1024U
#define START_TICKS 62500U /* when its neighbour has begun */
/* Before it prints: its neighbour has ended. */
#define QUIET_TICKS 625000U
/* Between interrupts, a little more than 1.3 periods of 100 us at 62.5 MHz: in all places of a period. */
#define STEP_TICKS 8161U

static volatile uint64_t taken;
static uint64_t due;
static uint64_t late[MAX_SAMPLES + 1];
static uint64_t lines[BUFFER_LINES][LINE_BYTES / sizeof(uint64_t)]
    __attribute__((aligned(LINE_BYTES)));

/* Arm DDI 0487, D19: CNTV_CTL_EL0, bit 0: on. */
static void set_timer(uint64_t at) {
    guest_sysreg_write(cntv_cval_el0, at);
    guest_sysreg_write(cntv_ctl_el0, 1);
    __asm__ volatile("isb");
}

void interrupt(void) {
    __asm__ volatile("isb");
    uint64_t now = guest_sysreg_read(cntvct_el0);
    uint64_t got = interrupt_take();
    late[taken] = now - due;
    taken++;
    guest_sysreg_write(cntv_ctl_el0, 0);
    __asm__ volatile("isb");
    interrupt_end(got);
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
}

static void write_line(uint64_t n) {
    *(volatile uint64_t *)lines[n % BUFFER_LINES] = n;
    guest_sysreg_write(pmswinc_el0, 1);
}

void main(uint64_t samples, uint64_t writes, uint64_t unused, uint64_t and_this) {
    (void)unused;
    (void)and_this;
    samples = samples < MAX_SAMPLES ? samples : MAX_SAMPLES;
    interrupts_on(0, 1U << TIMER_INTERRUPT);
    due = guest_sysreg_read(cntvct_el0) + START_TICKS;
    for (uint64_t n = 0, line = 0; n < samples; n++, due += STEP_TICKS) {
        set_timer(due);
        while (taken == n) {
            if (writes)
                write_line(line++);
            else
                __asm__ volatile("wfi");
        }
    }
    set_timer(due + QUIET_TICKS);
    while (taken == samples)
        __asm__ volatile("wfi");
    print("%u ticks a second", guest_sysreg_read(cntfrq_el0));
    for (uint64_t n = 0; n < samples; n++) {
        if (n % A_ROW == 0)
            print("\nlate:");
        print(" %u", late[n]);
    }
    print("\n");
}
