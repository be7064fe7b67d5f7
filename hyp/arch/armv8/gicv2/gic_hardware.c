/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "gic_hardware.h"

#include "../../../core/arch.h"
#include "gic.h"

/* The bit of each core's CPU interface, as the distributor says (IHI 0048B 4.3.12). */
static uint8_t target[MAX_CORES];

void gic_map(void (*map)(uint64_t address, uint64_t size)) {
    map(platform.distributor, GICD_BYTES);
    map(platform.cpu_interface, GICC_BYTES);
    map(platform.virtual_control, GICH_BYTES);
}

static volatile uint8_t *byte(uint32_t offset) {
    return (volatile uint8_t *)(platform.distributor + offset);
}

void gic_init(void) {
    /* All interrupts stay in the group that they are in: firmware has put ours into ours. */
    *gic_word(platform.distributor, GICD_CTLR) = GICD_CTLR_ENABLE;
    gic_shared_off();
}

void gic_enable(uint32_t core, uint32_t interrupt, uint32_t priority) {
    *byte(GICD_IPRIORITYR + interrupt) = (uint8_t)priority;
    if (interrupt >= FIRST_SHARED)
        *byte(GICD_ITARGETSR + interrupt) = target[core];
    *gic_word(platform.distributor, GICD_ISENABLER + interrupt / 32 * 4) = 1U << interrupt % 32;
}

void gic_enable_private(uint32_t core, uint32_t interrupt, bool enabled) {
    if (enabled)
        gic_enable(core, interrupt, PRIORITY_GUEST);
    else
        *gic_word(platform.distributor, GICD_ICENABLER) = 1U << interrupt;
}

void gic_clear_active(uint32_t core, uint32_t interrupt) {
    (void)core;
    *gic_word(platform.distributor, GICD_ICACTIVER) = 1U << interrupt;
}

void gic_init_core(uint32_t core) {
    target[core] = *byte(GICD_ITARGETSR);
    *gic_word(platform.distributor, GICD_ICENABLER) = ~0U;
    *gic_word(platform.cpu_interface, GICC_PMR) = GICC_PMR_ALL;
    *gic_word(platform.cpu_interface, GICC_CTLR) = GICC_CTLR_ENABLE | GICC_CTLR_EOIMODE;
    dsb();
}

void arch_kick(uint32_t core) {
    dsb(); /* what the other core is to see is there before it is told */
    *gic_word(platform.distributor, GICD_SGIR) = GICD_SGIR_TARGETS(target[core]) | KICK;
    dsb();
}
