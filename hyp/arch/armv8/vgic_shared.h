/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The shared interrupts of a VM: those of its serial line, its devices and its channels (config.h), and
 * no other's are seen or changed.
 *
 * A device's is on in the hardware while the guest has it on, and comes to the core of the vCPU that
 * the guest has it sent to. The others are none of the hardware's, even if that has one of the same
 * number. A channel's is an edge: another VM raises it, and it waits for that vCPU. That of the serial
 * line is a level: while it is up, it comes again when the guest has ended it. What is written to the
 * distributor about others is ignored.
 */
#ifndef RINGFENCE_HYP_VGIC_SHARED_H
#define RINGFENCE_HYP_VGIC_SHARED_H

#include "../../core/vm.h"

/* As after a reset: all off, to vCPU 0. */
void vgic_shared_init(struct vm *vm);
/* Off for good. */
void vgic_shared_off(struct vm *vm);
/* Place of an interrupt among them; MAX_SHARED if the VM has it not. */
uint32_t vgic_shared_find(const struct vm *vm, uint32_t interrupt);
/* Of those that no hardware has: raises one, by its place; those that are raised and sent to a vCPU,
 * a bit each; takes one for a list register, if nobody else has; and gives it back. */
void vgic_shared_raise(struct vm *vm, uint32_t n);
uint32_t vgic_shared_raised(const struct vcpu *vcpu);
bool vgic_shared_take(struct vm *vm, uint32_t n);
void vgic_shared_give_back(struct vm *vm, uint32_t n);
/* The line of a level; one call at a time. */
void vgic_shared_level(struct vm *vm, uint32_t interrupt, bool is_up);
/* Has those that are sent to a vCPU come to its core, which is ready for them. */
void vgic_shared_route(struct vcpu *vcpu);
/* GICD_TYPER.ITLinesNumber: how many words of 32 interrupts follow the first one. */
uint32_t vgic_shared_words(const struct vm *vm);

/* A word of the distributor's registers that gicd.h has; whether it is about shared interrupts, as all
 * are but the first of each. */
bool vgic_shared_has(uint32_t offset);
uint32_t vgic_shared_read(const struct vm *vm, uint32_t offset);
void vgic_shared_write(struct vm *vm, uint32_t offset, uint32_t value, uint32_t mask);
/* vCPUs to which an interrupt is sent, a bit each. */
uint32_t vgic_shared_targets(const struct vm *vm, uint32_t interrupt);
void vgic_shared_send_to(struct vm *vm, uint32_t interrupt, uint32_t vcpus);

#endif
