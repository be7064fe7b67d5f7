/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "stage2.h"

#include "../../core/arch.h"
#include "../../core/statistics.h"
#include "tables.h"
#include "vgic.h"

_Static_assert(ARCH_GUEST_BYTES == 1ULL << INPUT_BITS, "configurations are checked for it");

#define GUEST_READS (STAGE2_NORMAL | STAGE2_READ | INNER_SHAREABLE | ACCESSED)
#define GUEST_MEMORY (GUEST_READS | STAGE2_WRITE)
#define GUEST_DEVICE (STAGE2_DEVICE | STAGE2_READ | STAGE2_WRITE | ACCESSED | EXECUTE_NEVER)

static void map_statistics(const struct vm *vm) {
    const struct statistics_config *statistics = &vm->config->statistics;
    for (uint32_t n = 0; n < machine_config.vms; n++)
        if (statistics->of >> n & 1)
            tables_map(vm->arch.stage2, statistics->guest_address + n * STATISTICS_PAGE_BYTES,
                       (uintptr_t)statistics_of(n), STATISTICS_PAGE_BYTES,
                       GUEST_READS | EXECUTE_NEVER);
}

/* Messages: read and perhaps written, never executed. */
static void map_channels(const struct vm *vm) {
    for (uint32_t n = 0; n < machine_config.channels; n++)
        for (uint32_t e = 0; e < CHANNEL_ENDS; e++) {
            const struct channel_config *channel = &machine_config.channel[n];
            const struct channel_end *end = &channel->end[e];
            if (end->vm == vm->number)
                tables_map(vm->arch.stage2, end->guest_address, channel->address, channel->size,
                           (end->reads_only ? GUEST_READS : GUEST_MEMORY) | EXECUTE_NEVER);
        }
}

void stage2_build(struct vm *vm) {
    vm->arch.stage2 = tables_new();
    for (uint32_t r = 0; r < MAX_REGIONS; r++) {
        const struct memory_region *region = &vm->config->memory[r];
        if (region->colours)
            tables_map_coloured(vm->arch.stage2, region, GUEST_MEMORY);
        else
            tables_map(vm->arch.stage2, region->guest_address, region->address, region->size,
                       GUEST_MEMORY);
    }
    for (uint32_t d = 0; d < MAX_DEVICES; d++) {
        const struct device_region *device = &vm->config->devices[d];
        tables_map(vm->arch.stage2, device->address, device->address, device->size, GUEST_DEVICE);
    }
    map_statistics(vm);
    map_channels(vm);
    vgic_map(vm);
    dsb();
}

void stage2_enable(const struct vm *vm) {
    sysreg_write(vtcr_el2, VTCR_RES1 | TCR_T0SZ(INPUT_BITS) | VTCR_SL0_LEVEL_1 | TCR_IRGN0_WBWA |
                               TCR_ORGN0_WBWA | TCR_SH0_INNER | TCR_PS_40_BITS);
    /* 0 is nobody's, so that a forgotten one shows. */
    sysreg_write(vttbr_el2, (uintptr_t)vm->arch.stage2 | VTTBR_VMID(vm->number + 1));
    isb();
    __asm__ volatile("tlbi vmalls12e1" ::: "memory");
    dsb();
    isb();
}
