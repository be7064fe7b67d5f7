/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The physical interrupt controller. All interrupts come to EL2. Ours end there; those of a guest
 * are handed to it still active, and end with the guest's own end.
 *
 * Which version it is, the platform says (platform.mk): gicv2/ or gicv3/ has what is declared here
 * and, in gic_hardware.h, inline: acknowledging and ending interrupts, and the list registers.
 */
#ifndef RINGFENCE_HYP_GIC_H
#define RINGFENCE_HYP_GIC_H

#include <stdbool.h>
#include <stdint.h>

#include "../../core/vm.h"

/* The lower the more urgent: the period and the counter come before the guest's interrupts. */
#define PRIORITY_OURS 0x80U
#define PRIORITY_GUEST 0xa0U
#define FIRST_SHARED 32U
/* Tells a core to look around: a vCPU to start, a VM that has stopped, an interrupt of a guest. */
#define KICK 0U
#define INTID_SPECIAL 1020U /* from here on: no interrupt */

/* Has each of its frames mapped for EL2. */
void gic_map(void (*map)(uint64_t address, uint64_t size));
/* The distributor; the first core does it. */
void gic_init(void);
/* What each core has of its own, all of its interrupts off. */
void gic_init_core(uint32_t core);
void gic_enable(uint32_t core, uint32_t interrupt, uint32_t priority);
/* A private interrupt of a core; with GICv2, of the core that calls. */
void gic_enable_private(uint32_t core, uint32_t interrupt, bool enabled);
/* Ends a private interrupt of this core, if a guest has left it active. */
void gic_clear_active(uint32_t core, uint32_t interrupt);
/* The shared interrupts, all of them off, which a distributor has in so many words of 32; its
 * registers about them (gicd.h) by their offset. */
void gic_shared_off(void);
uint32_t gic_shared_words(void);
uint32_t gic_shared_read(uint32_t offset);
void gic_shared_write(uint32_t offset, uint32_t value);
/* One of them: to a guest on that core, or to nobody. */
void gic_shared_enable(uint32_t interrupt, uint32_t core);
void gic_shared_disable(uint32_t interrupt);
/* Ends one that a guest has not ended. */
void gic_shared_clear_active(uint32_t interrupt);
/* Turns on what each core needs. */
void gic_start_core(uint32_t core);
/* Handles an interrupt that this core has acknowledged, if it is one, and ends it. */
void gic_handle(struct vcpu *vcpu, uint32_t acknowledged);

#endif
