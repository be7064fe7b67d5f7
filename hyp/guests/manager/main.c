/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Changes the reservation of VM 0 at run time, and says what was asked for, when, and what came of
 * it; or reads its statistics.
 *
 * Arguments: what to do, by its number below.
 */
#include "guest.h"

#define HYPERCALL_CHANGE 0xc6000001U
#define WRITER 0U
#define ITSELF 1U
#define NOBODY 2U
#define STATISTICS 0x70000000U
#define PERIOD_NS 100000U
/* Behind the writer's start, and between changes: not in step with any period. */
#define START_NS 1037000U
#define STEP_NS 437000U
#define WATCHED_NS 12000000U
/* Just behind the begin of a period, so that vCPUs are turned on while the change waits. */
#define SLOW_START_NS 10020000U
#define SLOW_STEP_NS 4000000U

enum deed { NOTHING, TO_AND_FRO, REFUSED, SLOWLY, WATCH };

static void wait_until(uint64_t at_ns) {
    while (now_ns() < at_ns)
        __asm__ volatile("yield");
}

static void change(uint64_t vm, uint64_t budget, uint64_t period_ns) {
    uint64_t asked_ns = now_ns();
    struct results results = call_for_two(HYPERCALL_CHANGE, vm, budget, period_ns);
    int64_t result = (int64_t)results.x0;
    print("at %u: VM %u to %u in %u ns: %s%u from %u\n", asked_ns, vm, budget, period_ns,
          result < 0 ? "-" : "", (uint64_t)(result < 0 ? -result : result), results.x1);
}

/* Larger and smaller budgets, longer and shorter periods, one of them alone and both. */
static const uint64_t to_and_fro[][2] = {{80, 50000},   {500, 300000}, {50, 30000}, {200, 100000},
                                         {120, 100000}, {120, 200000}, {99, 50000}, {200, 100000}};
static const uint64_t slowly[][2] = {{300, 1000000}, {750, 3000000}, {600, 2000000}};

static void change_to(const uint64_t to[][2], uint64_t changes, uint64_t start_ns,
                      uint64_t step_ns) {
    for (uint64_t n = 0; n < changes; n++) {
        wait_until(start_ns + n * step_ns);
        change(WRITER, to[n][0], to[n][1]);
    }
}

/* The writer's statistics while it writes, in none of its steps, then when it has long ended. */
static void watch(void) {
    const struct statistics_page *pages = (const struct statistics_page *)(uintptr_t)STATISTICS;
    for (uint64_t n = 0; n < 3; n++) {
        wait_until(START_NS + n * STEP_NS);
        print("at %u\n", now_ns());
        statistics_print(&pages[WRITER]);
    }
    wait_until(WATCHED_NS);
    statistics_print(&pages[WRITER]);
    statistics_print(&pages[ITSELF]);
}

static void be_refused(void) {
    wait_until(START_NS);
    change(NOBODY, 200, PERIOD_NS);
    change(UINT64_MAX, 200, PERIOD_NS);
    change(ITSELF, 200, PERIOD_NS);
    change(WRITER, 9, PERIOD_NS);
    change(WRITER, 10001, PERIOD_NS);
    change(WRITER, UINT64_MAX, PERIOD_NS);
    change(WRITER, 200, 19999);
    change(WRITER, 200, 1000001);
    change(WRITER, 200, 0);
    change(WRITER, 301, PERIOD_NS);
    wait_until(2 * START_NS);
    change(WRITER, 300, PERIOD_NS);
    change(WRITER, 100, PERIOD_NS);
}

void interrupt(void) {
}

void secondary(uint64_t vcpu) {
    (void)vcpu;
}

void main(uint64_t deed, uint64_t unused, uint64_t unused_too, uint64_t and_this) {
    (void)unused;
    (void)unused_too;
    (void)and_this;
    if (deed == TO_AND_FRO)
        change_to(to_and_fro, sizeof(to_and_fro) / sizeof(to_and_fro[0]), START_NS, STEP_NS);
    else if (deed == SLOWLY)
        change_to(slowly, sizeof(slowly) / sizeof(slowly[0]), SLOW_START_NS, SLOW_STEP_NS);
    else if (deed == REFUSED)
        be_refused();
    else if (deed == WATCH)
        watch();
    print("done\n");
}
