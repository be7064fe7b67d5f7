/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "gicv3.h"

#include "../../core/arch.h"
#include "../../core/console.h"
#include "../../core/platform.h"
#include "../../core/regulate.h"
#include "pmu.h"
#include "sysreg.h"
#include "vgic.h"

#define GICD_IGROUPR 0x0080U
#define GICD_IPRIORITYR 0x0400U
/* The lower the more urgent: the period and the counter come before the guest's interrupts. */
#define PRIORITY_OURS 0x80U
#define PRIORITY_GUEST 0xa0U
#define FIRST_SHARED 32U
/* Tells a core to look around: a vCPU to start, a VM that has stopped, an interrupt of a guest. */
#define KICK 0U

static volatile uint32_t *word(uint64_t frame, uint64_t offset) {
    return (volatile uint32_t *)(frame + offset);
}

static uint64_t redistributor(uint32_t core) {
    return platform.redistributors + (uint64_t)core * GICR_BYTES;
}

void gic_init(void) {
    /* With two security states the firmware's bits read as zero, and ours work as they are. */
    *word(platform.distributor, GICD_CTLR) = GICD_CTLR_ARE | GICD_CTLR_ENABLE_GROUP1;
}

static void enable(uint32_t core, uint32_t interrupt, uint32_t priority) {
    bool is_private = interrupt < FIRST_SHARED;
    uint64_t frame = is_private ? redistributor(core) + GICR_SGI_BASE : platform.distributor;
    uint32_t bit = 1U << interrupt % 32;
    *word(frame, GICD_IGROUPR + interrupt / 32 * 4) |= bit;
    *(volatile uint8_t *)(frame + GICD_IPRIORITYR + interrupt) = (uint8_t)priority;
    if (!is_private)
        *(volatile uint64_t *)(frame + GICD_IROUTER + interrupt * 8) = platform.affinity[core];
    *word(frame, GICD_ISENABLER + interrupt / 32 * 4) = bit;
}

void gic_enable_private(uint32_t core, uint32_t interrupt, bool enabled) {
    if (enabled)
        enable(core, interrupt, PRIORITY_GUEST);
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
    enable(core, KICK, PRIORITY_OURS);
    enable(core, platform.maintenance_interrupt, PRIORITY_OURS);
    enable(core, platform.period_interrupt, PRIORITY_OURS);
    enable(core, platform.counter_interrupt[core], PRIORITY_OURS);
}

void gic_deactivate(uint32_t interrupt) {
    sysreg_write(icc_dir_el1, interrupt);
    isb();
}

void arch_kick(uint32_t core) {
    uint64_t affinity = platform.affinity[core];
    dsb(); /* what the other core is to see is there before it is told */
    sysreg_write(icc_sgi1r_el1, ICC_SGI1R_INTID(KICK) | BIT(BITS(affinity, 3, 0)) |
                                    BITS(affinity, 15, 8) << 16 | BITS(affinity, 23, 16) << 32 |
                                    BITS(affinity, 7, 4) << 44 | BITS(affinity, 39, 32) << 48);
    isb();
}

static void handle(struct vcpu *vcpu, uint32_t interrupt) {
    bool is_guests = vcpu && interrupt == platform.guest_timer_interrupt;
    sysreg_write(icc_eoir1_el1, interrupt);
    if (is_guests) {
        vgic_set_pending(vcpu, interrupt);
        return;
    }
    if (vcpu && interrupt == platform.period_interrupt) {
        regulate_period(vcpu);
    } else if (vcpu && interrupt == platform.counter_interrupt[vcpu->core]) {
        pmu_clear_overflow();
        regulate_overflow(vcpu);
    } else if (interrupt != KICK && interrupt != platform.maintenance_interrupt) {
        print("ringfence: interrupt %u is nobody's; it is ignored\n", (uint64_t)interrupt);
    }
    gic_deactivate(interrupt);
}

void gic_handle(void) {
    uint32_t interrupt = (uint32_t)sysreg_read(icc_iar1_el1);
    if (interrupt >= INTID_SPECIAL)
        return;
    dsb();
    handle(arch_vcpu(), interrupt);
}

void arch_wait(void) {
    /* No interrupt is taken at EL2: nothing but the isb keeps what follows from being done early. */
    __asm__ volatile("dsb sy\n wfi\n isb" ::: "memory");
    gic_handle();
}
