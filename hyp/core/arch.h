/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the core needs of an architecture. All of it is about the core that calls. */
#ifndef RINGFENCE_HYP_ARCH_H
#define RINGFENCE_HYP_ARCH_H

#include <stdint.h>

#include "vm.h"

/* Time since the machine was turned on, the same on all cores. */
uint64_t arch_now_ns(void);
/* The same in ticks of its clock, behind the interrupt that is handled, and before all that is read
 * from memory behind it; ticks a second. */
static uint64_t arch_now(void);
uint64_t arch_frequency(void);
/* Has regulate_period() called from that tick on, while the timer is on. */
static void arch_period_timer_set(uint64_t at);
void arch_period_timer_on(void);
void arch_period_timer_off(void);

/* The counter of this core, for the vCPU of it. Has regulate_overflow() called after so many events
 * of the guest, 1 to ARCH_COUNTER_MAX. */
#define ARCH_COUNTER_MAX 0x80000000U
void arch_counter_arm(struct vcpu *vcpu, uint32_t events);
/* The same for one that is armed, and has most likely not come to its end. */
static void arch_counter_arm_again(struct vcpu *vcpu, uint32_t events);
/* Events since it was armed; 0 if it is off. */
static uint32_t arch_counter_used(const struct vcpu *vcpu);
void arch_counter_off(struct vcpu *vcpu);

/* Waits for an interrupt and handles it. */
void arch_wait(void);
/* Makes another core leave arch_wait, or its guest. */
void arch_kick(uint32_t core);
/* The vCPU of this core; null if it belongs to no VM. */
static struct vcpu *arch_vcpu(void);
/* All cores see what this one has written, before it does anything else. */
static void arch_writes_done(void);

/* A vCPU as after a reset, and off it goes. */
_Noreturn void arch_vcpu_enter(struct vcpu *vcpu, uint64_t entry, const uint64_t *arguments);
/* Leaves the guest, with all that was on the stack, for vcpu_main. */
_Noreturn void arch_vcpu_leave(void);
/* Takes back from the core what its vCPU had: interrupts, timers. */
void arch_vcpu_silence(struct vcpu *vcpu);
/* Raises a channel's interrupt in a guest, which then sees what this core has written. */
void arch_notify(struct vm *to, uint32_t interrupt);
/* Has input_receive() called on that core, now and when something has come on the serial line; or
 * nowhere. */
void arch_input_to(uint32_t core);
void arch_input_off(void);
/* Gives a guest a character of that, from any core; how many it has not read in time so far. */
void arch_input(struct vm *to, uint8_t character);
uint64_t arch_input_lost(const struct vm *vm);
/* Fills memory of guests that is not in use yet with zeros; when only this core runs. */
void arch_clear_memory(uint64_t address, uint64_t size);
/* What a guest takes for physical addresses is below. */
#define ARCH_GUEST_BYTES (1ULL << 39)
/* What a guest has there are its devices. */
#define ARCH_GUEST_DEVICES 0x08000000ULL
#define ARCH_GUEST_DEVICES_BYTES 0x02000000ULL
/* Those that are emulated: the interrupt controller and the serial line, each a start and a size. */
#define ARCH_GUEST_EMULATED {{0x08000000, 0x001a0000}, {0x09000000, 0x00001000}}
/* The interrupt of the serial line: no other of a guest's. */
#define ARCH_GUEST_UART_INTERRUPT 33U
/* Calls `own` with each device of the machine that is the hypervisor's. */
void arch_own_devices(void (*own)(uint64_t address, uint64_t size));
void arch_vm_init(struct vm *vm);
_Noreturn void arch_power_off(void);

/* What is static above. */
#include "arch_inline.h"

#endif
