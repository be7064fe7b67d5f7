/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "config.h"

#include "arch.h"
#include "colours.h"
#include "platform.h"
#include "statistics_page.h"

#include <ringfence/periods.h>
#include <ringfence/reservation.h>

/* Where the hypervisor itself is; by the linker. */
extern char image_start[], image_end[];

bool config_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size) {
    return a_size && b_size && a < b + b_size && b < a + a_size;
}

static bool is_within(uint64_t start, uint64_t size, uint64_t from, uint64_t bytes) {
    return start >= from && start - from <= bytes && size <= bytes - (start - from);
}

static bool is_ram(uint64_t start, uint64_t size) {
    for (uint32_t n = 0; n < MAX_RAMS; n++)
        if (is_within(start, size, platform.ram[n].start, platform.ram[n].size))
            return true;
    return false;
}

const char *config_place_error(const struct memory_region *region) {
    const char *wrong = colours_error(region);
    if (wrong)
        return wrong;
    /* Before its span is looked at: of more bytes than that, it may be none that fits 64 bits. */
    if (!is_within(region->guest_address, region->size, 0, ARCH_GUEST_BYTES))
        return "a memory region is where guests have no addresses";
    if (config_overlap(region->guest_address, region->size, ARCH_GUEST_DEVICES,
                       ARCH_GUEST_DEVICES_BYTES))
        return "a memory region has the addresses of a guest's devices";
    if (!is_ram(region->address, colours_span(region)))
        return "a memory region is not in the platform's memory";
    const struct memory_region own = {.address = (uintptr_t)image_start,
                                      .size = (uint64_t)(image_end - image_start)};
    if (colours_overlap(region, &own))
        return "a memory region overlaps the hypervisor";
    return 0;
}

static const char *region_error(const struct memory_region *region) {
    if ((region->address | region->guest_address | region->size) % REGION_ALIGNMENT)
        return "a memory region is not aligned to 2 MiB";
    return config_place_error(region);
}

static const char *trace_error(const struct machine_config *config) {
    const struct memory_region *trace = &config->trace;
    const char *wrong = trace->size ? region_error(trace) : 0;
    if (trace->colours)
        wrong = "the memory of the trace has colours";
    for (uint32_t n = 0; n < config->vms && !wrong; n++)
        for (uint32_t r = 0; r < MAX_REGIONS && !wrong; r++)
            if (colours_overlap(trace, &config->vm[n].memory[r]))
                wrong = "a VM has memory of the trace";
    return wrong;
}

static bool is_in(uint64_t value, uint64_t least, uint64_t most) {
    return least <= value && value <= most;
}

static const char *reservation_error(const struct reservation_config *reservation) {
    const struct reservation_bounds *bounds = &reservation->bounds;
    if (reservation->period_ns && !rf_periods_length_ok(reservation->period_ns))
        return "the period of a reservation is not 1 us to 1 s";
    if (!bounds->period_max_ns)
        return 0;
    if (!is_in(reservation->budget, bounds->budget_min, bounds->budget_max) ||
        !is_in(reservation->period_ns, bounds->period_min_ns, bounds->period_max_ns))
        return "a reservation is not within the bounds of its changes";
    if (!rf_periods_length_ok(bounds->period_min_ns) ||
        !rf_periods_length_ok(bounds->period_max_ns))
        return "the bounds of a reservation's period are not 1 us to 1 s";
    if (bounds->budget_max == RF_BUDGET_UNLIMITED)
        return "the bounds of a reservation's budget end at 2^64 - 1, expected less";
    return 0;
}

static const char *vm_error(const struct vm_config *vm) {
    if (vm->vcpus == 0 || vm->vcpus > MAX_VCPUS || vm->vcpus > RF_RESERVATION_MAX_VCPUS)
        return "a VM has no vCPU, or more than 8";
    for (uint32_t v = 0; v < vm->vcpus; v++)
        if (vm->cores[v] >= platform.cores)
            return "a VM has a core that the platform has not";
    for (uint32_t r = 0; r < MAX_REGIONS; r++) {
        const struct memory_region *region = &vm->memory[r];
        const char *wrong = region->size ? region_error(region) : 0;
        if (wrong)
            return wrong;
        for (uint32_t other = 0; other < r; other++)
            if (config_overlap(region->guest_address, region->size, vm->memory[other].guest_address,
                               vm->memory[other].size))
                return "two memory regions of a VM have the same addresses";
    }
    return reservation_error(&vm->reservation);
}

static bool share_memory(const struct vm_config *a, const struct vm_config *b) {
    for (uint32_t i = 0; i < MAX_REGIONS; i++)
        for (uint32_t j = 0; j < MAX_REGIONS; j++)
            if (colours_overlap(&a->memory[i], &b->memory[j]))
                return true;
    return false;
}

/* Where the VM would have the page of another, nothing else may be. */
static const char *statistics_error(const struct vm_config *vm, uint32_t vms) {
    uint64_t start = vm->statistics.guest_address;
    uint64_t size = (uint64_t)vms * STATISTICS_PAGE_BYTES;
    if (!vm->statistics.of)
        return 0;
    if (vm->statistics.of >> vms)
        return "a VM may read the statistics of one that there is not";
    if (start % STATISTICS_PAGE_BYTES || !is_within(start, size, 0, ARCH_GUEST_BYTES))
        return "pages of statistics are not aligned to 4 KiB, or where guests have no addresses";
    if (config_overlap(start, size, ARCH_GUEST_DEVICES, ARCH_GUEST_DEVICES_BYTES))
        return "pages of statistics have the addresses of a guest's devices";
    for (uint32_t r = 0; r < MAX_REGIONS; r++)
        if (config_overlap(start, size, vm->memory[r].guest_address, vm->memory[r].size))
            return "pages of statistics have the addresses of a memory region";
    return 0;
}

/* Who may change what, and that all is within the platform's total to begin with. */
static const char *changes_error(const struct machine_config *config) {
    uint64_t events_per_s = 0;
    for (uint32_t n = 0; n < config->vms; n++) {
        const struct reservation_config *reservation = &config->vm[n].reservation;
        if (reservation->period_ns)
            events_per_s = rf_periods_together(
                events_per_s, rf_periods_bandwidth(reservation->budget, reservation->period_ns));
        if (reservation->bounds.period_max_ns && !config->events_per_s)
            return "a reservation can be changed, and the platform has no total";
        for (uint32_t other = 0; other < 32; other++)
            if (config->vm[n].may_change >> other & 1 &&
                (other >= config->vms || !config->vm[other].reservation.bounds.period_max_ns))
                return "a VM may change a reservation that has no bounds";
    }
    if (config->events_per_s && events_per_s > config->events_per_s)
        return "the reservations are together above the platform's total";
    return 0;
}

static bool takes_part(const struct vm_config *vm) {
    return vm->lending.lends || vm->lending.borrows;
}

static const char *lending_error(const struct machine_config *config) {
    uint64_t period_ns = 0;
    for (uint32_t n = 0; n < config->vms; n++) {
        const struct reservation_config *reservation = &config->vm[n].reservation;
        if (!takes_part(&config->vm[n]))
            continue;
        if (!reservation->period_ns)
            return "a VM lends or borrows, and has no reservation";
        if (period_ns && period_ns != reservation->period_ns)
            return "VMs that lend or borrow have periods of two lengths";
        period_ns = reservation->period_ns;
        if (reservation->bounds.period_max_ns &&
            reservation->bounds.period_min_ns != reservation->bounds.period_max_ns)
            return "the period of a VM that lends or borrows can be changed";
    }
    return 0;
}

/* How many vCPUs of all VMs a core would be. */
static uint32_t uses_of(const struct machine_config *config, uint32_t core) {
    uint32_t uses = 0;
    for (uint32_t n = 0; n < config->vms; n++)
        for (uint32_t v = 0; v < config->vm[n].vcpus; v++)
            uses += config->vm[n].cores[v] == core;
    return uses;
}

const char *config_error(const struct machine_config *config) {
    if (config->vms == 0 || config->vms > MAX_CORES)
        return "there is no VM, or more than 8";
    for (uint32_t n = 0; n < config->vms; n++) {
        const char *wrong = vm_error(&config->vm[n]);
        if (!wrong)
            wrong = statistics_error(&config->vm[n], config->vms);
        if (wrong)
            return wrong;
        for (uint32_t other = 0; other < n; other++)
            if (share_memory(&config->vm[n], &config->vm[other]))
                return "two VMs have the same memory";
    }
    for (uint32_t core = 0; core < platform.cores; core++)
        if (uses_of(config, core) > 1)
            return "a core is two vCPUs";
    const char *wrong = changes_error(config);
    if (!wrong)
        wrong = lending_error(config);
    if (!wrong)
        wrong = devices_error(config);
    if (!wrong)
        wrong = channels_error(config);
    return wrong ? wrong : trace_error(config);
}
