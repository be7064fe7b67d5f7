/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The interrupt controller that a guest sees: a GICv3 with 16 SGIs and 16 PPIs a vCPU, of which the
 * virtual timer's is the only real one; no shared interrupts yet. Its CPU interface is the
 * hardware's; distributor and redistributors are emulated when the guest accesses them.
 */
#ifndef RINGFENCE_HYP_VGIC_H
#define RINGFENCE_HYP_VGIC_H

#include "../../core/vm.h"

/* A vCPU's part, as after a reset. */
void vgic_reset(struct vcpu *vcpu);
void vgic_off(struct vcpu *vcpu);
/* From the vCPU's own core, or with a kick afterwards. */
void vgic_set_pending(struct vcpu *vcpu, uint32_t interrupt);
/* The guest has written ICC_SGI1R_EL1. */
void vgic_send(struct vcpu *from, uint64_t sgi1r);
/* Fills the list registers of this core, before it returns to its guest. */
void vgic_flush(struct vcpu *vcpu);

/* Whether the guest's address is in one of its frames; and the access, of 1 to 8 bytes. */
bool vgic_has(const struct vm *vm, uint64_t address);
uint64_t vgic_read(struct vcpu *vcpu, uint64_t address, uint32_t bytes);
void vgic_write(struct vcpu *vcpu, uint64_t address, uint32_t bytes, uint64_t value);

#endif
