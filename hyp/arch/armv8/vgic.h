/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The interrupt controller that a guest sees: of the version that the machine has, with 16 SGIs
 * and 16 PPIs a vCPU, of which the virtual timer's is the only real one, and the shared interrupts
 * of the VM's serial line, devices and channels. Its CPU interface is the hardware's; all else is emulated when
 * the guest accesses it.
 *
 * vgic.c and vgic_shared.c are the same for all versions; gicv2/ and gicv3/ have the second half of
 * what is below.
 */
#ifndef RINGFENCE_HYP_VGIC_H
#define RINGFENCE_HYP_VGIC_H

#include "../../core/vm.h"

/* A vCPU's part, as after a reset. */
void vgic_reset(struct vcpu *vcpu);
void vgic_off(struct vcpu *vcpu);
/* From the vCPU's own core, or with a kick afterwards if it is to know now. */
void vgic_set_pending(struct vcpu *vcpu, uint32_t line);
/* An interrupt of the hardware's has come to the vCPU's core; false if it is none of the guest's. */
bool vgic_take(struct vcpu *vcpu, uint32_t interrupt);
/* An SGI between vCPUs of a VM. */
void vgic_send(struct vcpu *from, struct vcpu *to, uint32_t interrupt);
/* The guest has ended interrupts that are looked at then. */
void vgic_ended(struct vcpu *vcpu);
/* What this core's guest has not begun of an interrupt is taken back. */
void vgic_withdraw(struct vcpu *vcpu, uint32_t interrupt);
/* Fills the list registers of this core, before it returns to its guest. */
void vgic_flush(struct vcpu *vcpu);

/* The guest accesses one of its frames, 1 to 8 bytes. */
uint64_t vgic_read(struct vcpu *vcpu, uint64_t address, uint32_t bytes);
void vgic_write(struct vcpu *vcpu, uint64_t address, uint32_t bytes, uint64_t value);

/* Gives a VM what of the hardware it accesses itself. */
void vgic_map(const struct vm *vm);
void vgic_reset_frames(struct vcpu *vcpu);
/* Whether the guest's distributor is on. */
bool vgic_is_on(const struct vm *vm);
/* Whether the guest's address is in one of its frames; and the access to a word of them. */
bool vgic_has(const struct vm *vm, uint64_t address);
uint32_t vgic_read_word(struct vcpu *vcpu, uint64_t address);
void vgic_write_word(struct vcpu *vcpu, uint64_t address, uint32_t value, uint32_t mask);
/* The guest has written a system register; false if that is none of the controller's. */
bool vgic_system_register(struct vcpu *vcpu, uint64_t sysreg, uint64_t value);

#endif
