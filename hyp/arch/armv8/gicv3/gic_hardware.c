/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "gic_hardware.h"

#include "../../../core/arch.h"
#include "../../../core/platform.h"
#include "gic.h"
#include "gicv3.h"

static volatile uint32_t *word(uint64_t frame, uint64_t offset) {
    return (volatile uint32_t *)(frame + offset);
}

static uint64_t redistributor(uint32_t core) {
    return platform.redistributors + (uint64_t)core * GICR_BYTES;
}

void gic_map(void (*map)(uint64_t address, uint64_t size)) {
    map(platform.distributor, GICD_BYTES);
    map(platform.redistributors, (uint64_t)GICR_BYTES * platform.cores);
}

void gic_init(void) {
    /* With two security states the firmware's bits read as zero, and ours work as they are. */
    *word(platform.distributor, GICD_CTLR) = GICD_CTLR_ARE | GICD_CTLR_ENABLE_GROUP1;
    gic_shared_off();
    for (uint32_t n = 1; n < gic_shared_words(); n++)
        *word(platform.distributor, GICD_IGROUPR + n * 4) = ~0U;
}

void gic_enable(uint32_t core, uint32_t interrupt, uint32_t priority) {
    bool is_private = interrupt < FIRST_SHARED;
    uint64_t frame = is_private ? redistributor(core) + GICR_SGI_BASE : platform.distributor;
    uint32_t bit = 1U << interrupt % 32;
    if (is_private)
        *word(frame, GICD_IGROUPR) |= bit;
    *(volatile uint8_t *)(frame + GICD_IPRIORITYR + interrupt) = (uint8_t)priority;
    if (!is_private)
        *(volatile uint64_t *)(frame + GICD_IROUTER + interrupt * 8) = platform.affinity[core];
    *word(frame, GICD_ISENABLER + interrupt / 32 * 4) = bit;
}

void gic_enable_private(uint32_t core, uint32_t interrupt, bool enabled) {
    if (enabled)
        gic_enable(core, interrupt, PRIORITY_GUEST);
    else
        *word(redistributor(core) + GICR_SGI_BASE, GICR_ICENABLER0) = 1U << interrupt;
}

void gic_init_core(uint32_t core) {
    volatile uint32_t *waker = word(redistributor(core), GICR_WAKER);
    *waker &= ~GICR_WAKER_SLEEP;
    while (*waker & GICR_WAKER_ASLEEP)
        continue;
    *word(redistributor(core) + GICR_SGI_BASE, GICR_ICENABLER0) = ~0U;
    sysreg_write(icc_sre_el2, ICC_SRE_SRE | ICC_SRE_DFB | ICC_SRE_DIB | ICC_SRE_ENABLE);
    isb();
    sysreg_write(icc_pmr_el1, ICC_PMR_ALL);
    sysreg_write(icc_ctlr_el1, ICC_CTLR_EOIMODE);
    sysreg_write(icc_igrpen1_el1, 1);
    isb();
}

void gic_clear_active(uint32_t core, uint32_t interrupt) {
    (void)core;
    gic_deactivate(interrupt);
}

void arch_kick(uint32_t core) {
    uint64_t affinity = platform.affinity[core];
    dsb(); /* what the other core is to see is there before it is told */
    sysreg_write(icc_sgi1r_el1, ICC_SGI1R_INTID(KICK) | BIT(BITS(affinity, 3, 0)) |
                                    BITS(affinity, 15, 8) << 16 | BITS(affinity, 23, 16) << 32 |
                                    BITS(affinity, 7, 4) << 44 | BITS(affinity, 39, 32) << 48);
    isb();
}
