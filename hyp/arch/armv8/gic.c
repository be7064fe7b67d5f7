/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whose an interrupt is, and what is done about it; the same for all versions of the controller. */
#include "gic.h"

#include "../../core/arch.h"
#include "../../core/console.h"
#include "../../core/input.h"
#include "../../core/platform.h"
#include "../../core/regulate.h"
#include "counter.h"
#include "gic_hardware.h"
#include "gicd.h"
#include "sysreg.h"
#include "vgic.h"

void gic_start_core(uint32_t core) {
    gic_init_core(core);
    gic_enable(core, KICK, PRIORITY_OURS);
    gic_enable(core, platform.maintenance_interrupt, PRIORITY_OURS);
    gic_enable(core, platform.period_interrupt, PRIORITY_OURS);
    gic_enable(core, platform.counter_interrupt[core], PRIORITY_OURS);
}

static volatile uint32_t *distributor_word(uint32_t offset) {
    return (volatile uint32_t *)(platform.distributor + offset);
}

/* The first word is each core's own. */
void gic_shared_off(void) {
    for (uint32_t n = 1; n < gic_shared_words(); n++)
        *distributor_word(GICD_ICENABLER + n * 4) = ~0U;
}

uint32_t gic_shared_words(void) {
    return GICD_TYPER_LINES(*distributor_word(GICD_TYPER));
}

uint32_t gic_shared_read(uint32_t offset) {
    return *distributor_word(offset);
}

void gic_shared_write(uint32_t offset, uint32_t value) {
    *distributor_word(offset) = value;
    dsb();
}

void gic_shared_enable(uint32_t interrupt, uint32_t core) {
    gic_enable(core, interrupt, PRIORITY_GUEST);
}

void gic_shared_disable(uint32_t interrupt) {
    gic_shared_write(GICD_ICENABLER + interrupt / 32 * 4, 1U << interrupt % 32);
}

void gic_shared_clear_active(uint32_t interrupt) {
    gic_shared_write(GICD_ICACTIVER + interrupt / 32 * 4, 1U << interrupt % 32);
}

void arch_input_to(uint32_t core) {
    uint32_t interrupt = platform.uart_interrupt;
    gic_shared_enable(interrupt, core);
    /* Something may have come already, of which another core has taken the interrupt. */
    gic_shared_write(GICD_ISPENDR + interrupt / 32 * 4, 1U << interrupt % 32);
}

void arch_input_off(void) {
    gic_shared_disable(platform.uart_interrupt);
}

void gic_handle(struct vcpu *vcpu, uint32_t acknowledged) {
    uint32_t interrupt = GIC_INTERRUPT(acknowledged);
    if (interrupt >= INTID_SPECIAL)
        return;
    gic_end(acknowledged);
    if (vcpu && interrupt == platform.period_interrupt) {
        regulate_period(vcpu);
    } else if (vcpu && interrupt == platform.counter_interrupt[vcpu->core]) {
        counter_clear_overflow();
        regulate_overflow(vcpu);
    } else if (vcpu && vgic_take(vcpu, interrupt)) {
        return; /* the guest's end of it deactivates it */
    } else if (interrupt == platform.uart_interrupt) {
        /* Its line may be up again as soon as nothing is left: before that, so that none is missed. */
        gic_deactivate(acknowledged);
        input_receive();
        return;
    } else if (vcpu && interrupt == platform.maintenance_interrupt) {
        vgic_ended(vcpu);
    } else if (interrupt != KICK) {
        print("ringfence: interrupt %u is nobody's; it is ignored\n", (uint64_t)interrupt);
    }
    gic_deactivate(acknowledged);
}

void arch_wait(void) {
    /* No interrupt is taken at EL2: nothing but an isb makes what was written to system registers be
     * in force while the core waits, and keeps what follows from being done early. */
    __asm__ volatile("isb\n dsb sy\n wfi\n isb" ::: "memory");
    gic_handle(arch_vcpu(), gic_acknowledge());
}
