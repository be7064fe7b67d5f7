/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "statistics.h"

#include "arch.h"
#include "platform.h"

_Static_assert(STATISTICS_LINES == MAX_VCPUS, "a line for each vCPU");

static struct statistics_page pages[MAX_CORES];

static bool is_looked_at(uint32_t number) {
    for (uint32_t n = 0; n < machine_config.vms; n++)
        if (machine_config.vm[n].statistics.of >> number & 1)
            return true;
    return false;
}

void statistics_init(struct vm *vm) {
    struct statistics_page *page = &pages[vm->number];
    page->header = (struct statistics_header){
        .magic = STATISTICS_MAGIC,
        .version = STATISTICS_VERSION,
        .line_bytes = STATISTICS_LINE_BYTES,
        .vcpus = vm->config->vcpus,
        .vm = vm->number,
    };
    for (uint32_t v = 0; v < vm->config->vcpus && is_looked_at(vm->number); v++)
        vm->vcpu[v].regulation.line = &page->vcpu[v];
}

const struct statistics_page *statistics_of(uint32_t number) {
    return &pages[number];
}

/* From here on readers find the line odd. */
static void open(struct statistics_line *line) {
    __atomic_store_n(&line->sequence, line->sequence | 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void close(struct statistics_line *line) {
    __atomic_store_n(&line->sequence, line->sequence + 1, __ATOMIC_RELEASE);
}

void statistics_charge(struct vcpu *vcpu, uint64_t events, uint64_t of_share) {
    struct statistics_line *line = vcpu->regulation.line;
    uint64_t left = 0;
    rf_reservation_remaining(&vcpu->vm->reservation, vcpu->index, &left);
    open(line);
    line->used += events;
    line->overruns += of_share > left ? of_share - left : 0;
    line->borrowed += events - of_share;
}

void statistics_lend(struct vcpu *vcpu, uint64_t events) {
    struct statistics_line *line = vcpu->regulation.line;
    open(line);
    line->lent += events;
}

static void add_throttled(struct statistics_line *line, struct regulation *regulation,
                          bool is_throttled) {
    uint64_t now_ns = arch_now_ns();
    if (regulation->still_since_ns)
        line->throttled_ns += now_ns - regulation->still_since_ns;
    else if (is_throttled)
        line->throttles++;
    regulation->still_since_ns = is_throttled ? now_ns : 0;
}

void statistics_publish(struct vcpu *vcpu, bool is_throttled) {
    struct statistics_line *line = vcpu->regulation.line;
    const struct rf_reservation *vm = &vcpu->vm->reservation;
    uint64_t period = vm->vcpu[vcpu->index].next_period - 1;
    open(line);
    line->refills += line->refills == 0 || line->period != period;
    line->period = period;
    line->period_ns = vcpu->vm->periods.length_ns;
    line->budget = period < vm->change_period ? vm->budget_before : vm->budget_after;
    line->share = vm->vcpu[vcpu->index].share;
    add_throttled(line, &vcpu->regulation, is_throttled);
    close(line);
}
