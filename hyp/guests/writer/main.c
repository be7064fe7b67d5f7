/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Writes cache lines on all its vCPUs, as fast as it may, and counts how many in each period of a
 * grid on the clock: what a reservation gives it, as it sees it itself. Each line is also told to
 * the PMU (PMSWINC_EL0), for machines whose PMU counts no memory accesses.
 *
 * Arguments: length of a period in ns, periods to count (0: write for ever), vCPUs, and how it
 * attacks its own reservation, by the number below.
 */
#include "guest.h"

#define MAX_VCPUS 8U
#define MAX_PERIODS 640U
#define PERIODS_A_ROW 64U
#define LINE_BYTES 64U
#define BUFFER_BYTES (1U << 20)
/* After so many lines a vCPU that comes and goes is turned off. */
#define LINES_A_LIFE 7U
/* Where statistics are, if it looks at them; it stood still if a line took so long. */
#define STATISTICS 0x70000000U
#define STILL_NS 2000U
/* Of one that naps: periods of each kind, and lines in one in which it does little. */
#define NAP_PERIODS 4U
#define FEW_LINES 10U

enum attack {
    NONE,
    COUNTERS,     /* all stop and clear them before each line */
    COME_AND_GO,  /* the first turns the others on again as often as they turn themselves off */
    LOOK,         /* none: it only looks at statistics afterwards, of so many VMs * 256 */
    NAP,          /* none: for some periods each it sleeps, works, sleeps, and does little */
    LINE_BY_LINE, /* none: its core lets others of QEMU's go first after each line */
};

static struct {
    uint64_t period_ns;
    uint64_t periods;
    uint64_t vcpus;
    uint64_t attack;
    uint64_t looks_at; /* pages */
    uint64_t ready;
    uint64_t first_period; /* that counts; 0 until all vCPUs are there */
    uint64_t done;
} run;

static bool is_done[MAX_VCPUS];
static uint64_t total[MAX_VCPUS]; /* lines, also those that are in no period that counts */
static uint64_t still_ns;         /* of vCPU 0 */
static uint64_t lines[MAX_VCPUS][MAX_PERIODS];
static uint8_t buffer[MAX_VCPUS][BUFFER_BYTES] __attribute__((aligned(LINE_BYTES)));

static uint64_t shared(uint64_t *value) {
    return __atomic_load_n(value, __ATOMIC_ACQUIRE);
}

/* Would stop and clear all counters, and leave none of them to EL2. */
static void attack_counters(void) {
    guest_sysreg_write(pmcntenclr_el0, ~0U);
    guest_sysreg_write(pmintenclr_el1, ~0U);
    guest_sysreg_write(pmovsclr_el0, ~0U);
    guest_sysreg_write(pmselr_el0, 5);
    guest_sysreg_write(pmxevcntr_el0, 0);
    guest_sysreg_write(pmevcntr5_el0, 0);
    guest_sysreg_write(pmevtyper5_el0, 0xffff);
    guest_sysreg_write(pmcr_el0, 6);
}

static void print_counters(void) {
    uint64_t seen = guest_sysreg_read(pmcr_el0) | guest_sysreg_read(pmcntenset_el0) |
                    guest_sysreg_read(pmevcntr5_el0) | guest_sysreg_read(pmintenset_el1);
    print("PMU registers read %x\n", seen);
}

/* The time is taken before the line: the one that uses the budget up ends with the next period. */
static uint64_t write_line(uint64_t vcpu, uint64_t *at) {
    uint64_t period = now_ns() / run.period_ns;
    if (run.attack == COUNTERS)
        attack_counters();
    *(volatile uint64_t *)&buffer[vcpu][*at] = period;
    guest_sysreg_write(pmswinc_el0, 1);
    *at = (*at + LINE_BYTES) % BUFFER_BYTES;
    return period;
}

/* Lines that it has written in this period, or none if that does not count. */
static uint64_t written_now(uint64_t vcpu) {
    uint64_t counted = now_ns() / run.period_ns - run.first_period;
    return counted < run.periods ? lines[vcpu][counted] : 0;
}

/* Whether it writes nothing now, having written so much in the period. */
static bool naps(uint64_t written) {
    uint64_t counted = now_ns() / run.period_ns - run.first_period;
    uint64_t kind = counted / NAP_PERIODS % 4;
    return counted < run.periods && (kind % 2 == 0 || (kind == 3 && written >= FEW_LINES));
}

static uint64_t look_at_clock(uint64_t before_ns) {
    uint64_t ns = now_ns();
    if (ns - before_ns > STILL_NS)
        still_ns += ns - before_ns;
    return ns;
}

/* When all that was written is charged: two periods later. */
static void print_statistics(void) {
    for (uint64_t end_ns = now_ns() + 2 * run.period_ns; now_ns() < end_ns;)
        __asm__ volatile("yield");
    print("stood still for %u ns\n", still_ns);
    const struct statistics_page *pages = (const struct statistics_page *)(uintptr_t)STATISTICS;
    for (uint64_t n = 0; n < run.looks_at; n++)
        statistics_print(&pages[n]);
}

static void write_lines(uint64_t vcpu) {
    uint64_t at = 0;
    __atomic_fetch_add(&run.ready, 1, __ATOMIC_ACQ_REL);
    /* Nothing before the first period that counts, so that its first use is seen, too. */
    while (!shared(&run.first_period) || now_ns() / run.period_ns < run.first_period)
        __asm__ volatile("yield");
    uint64_t before_ns = now_ns();
    for (uint64_t written = 1;; written++) {
        while (run.attack == NAP && naps(written_now(vcpu)))
            __asm__ volatile("yield");
        uint64_t counted = write_line(vcpu, &at) - run.first_period;
        total[vcpu]++;
        if (run.attack == LOOK && vcpu == 0)
            before_ns = look_at_clock(before_ns);
        if (run.periods && counted + 1 > run.periods && counted < UINT64_MAX / 2)
            break;
        if (counted < run.periods)
            lines[vcpu][counted]++;
        if (run.attack == COME_AND_GO && written == LINES_A_LIFE)
            vcpu_off();
        if (run.attack == LINE_BY_LINE)
            __asm__ volatile("yield");
    }
    is_done[vcpu] = true;
    __atomic_fetch_add(&run.done, 1, __ATOMIC_ACQ_REL);
}

void secondary(uint64_t vcpu) {
    if (!is_done[vcpu])
        write_lines(vcpu);
}

/* Nobody sends it any. */
void interrupt(void) {
    uint64_t got = interrupt_take();
    print("interrupt %u\n", INTERRUPT_NUMBER(got));
    interrupt_end(got);
}

void main(uint64_t period_ns, uint64_t periods, uint64_t vcpus, uint64_t attack) {
    run.period_ns = period_ns;
    run.periods = periods < MAX_PERIODS ? periods : MAX_PERIODS;
    run.vcpus = vcpus;
    run.attack = attack % 256;
    run.looks_at = attack / 256;
    interrupts_on(0, 0xffff);
    for (uint64_t vcpu = 1; vcpu < vcpus; vcpu++)
        if (!vcpu_on(vcpu))
            print("vCPU %u does not start\n", vcpu);
    print("%u vCPUs, periods of %u ns\n", vcpus, period_ns);
    if (run.attack == COUNTERS)
        print_counters();
    while (shared(&run.ready) < vcpus - 1)
        __asm__ volatile("yield");
    __atomic_store_n(&run.first_period, now_ns() / period_ns + 2, __ATOMIC_RELEASE);
    if (run.attack != COME_AND_GO)
        write_lines(0);
    while (shared(&run.done) < vcpus - (run.attack == COME_AND_GO)) {
        for (uint64_t vcpu = 1; vcpu < vcpus && run.attack == COME_AND_GO; vcpu++)
            vcpu_on(vcpu);
        __asm__ volatile("yield");
    }
    print("from %u ns\n", run.first_period * period_ns);
    if (run.attack == LOOK)
        print_statistics();
    for (uint64_t vcpu = 0; vcpu < vcpus; vcpu++) {
        print("%u lines by vCPU %u\n", total[vcpu], vcpu);
        for (uint64_t period = 0; period < run.periods; period++) {
            if (period % PERIODS_A_ROW == 0)
                print("%svCPU %u:", period ? "\n" : "", vcpu);
            print(" %u", lines[vcpu][period]);
        }
        print("\n");
    }
}
