/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Interrupts into the guest: pending ones, list registers, SGIs between vCPUs. */
#include "vgic.h"

#include "../../core/arch.h"
#include "../../core/platform.h"
#include "gic.h"
#include "gic_hardware.h"
#include "sysreg.h"
#include "vgic_shared.h"

/* No version has more. */
#define MAX_LISTS 64U
#define PRIVATE_LINES (BIT(VGIC_PRIVATE) - 1)

static uint32_t number_of(const struct vcpu *vcpu, uint32_t line) {
    return line < VGIC_PRIVATE ? line : vcpu->vm->arch.shared.number[line - VGIC_PRIVATE];
}

/* VGIC_LINES if the VM has no such interrupt. */
static uint32_t line_of(const struct vcpu *vcpu, uint32_t interrupt) {
    if (interrupt < VGIC_PRIVATE)
        return interrupt;
    return VGIC_PRIVATE + vgic_shared_find(vcpu->vm, interrupt);
}

static bool is_hardware(const struct vcpu *vcpu, uint32_t line) {
    return line >= VGIC_PRIVATE ? vcpu->vm->arch.shared.hardware >> (line - VGIC_PRIVATE) & 1
                                : line == platform.guest_timer_interrupt;
}

/* Those of channels and of the serial line are the VM's, and wait for whichever vCPU they are sent to. */
static bool is_of_vm(const struct vcpu *vcpu, uint32_t line) {
    return line >= VGIC_PRIVATE && !is_hardware(vcpu, line);
}

static bool is_level(const struct vcpu *vcpu, uint32_t line) {
    return line >= VGIC_PRIVATE && vcpu->vm->arch.shared.level >> (line - VGIC_PRIVATE) & 1;
}

/* A line that has been in a list register, or should be, waits. */
static void wait(struct vcpu *vcpu, uint32_t line) {
    if (is_of_vm(vcpu, line))
        vgic_shared_give_back(vcpu->vm, line - VGIC_PRIVATE);
    else
        vgic_set_pending(vcpu, line);
}

/* What it had. A function of its own, as each access by a number is one of each register. */
static __attribute__((noinline)) uint64_t list_clear(uint32_t n) {
    uint64_t value = list_read(n);
    list_write(n, 0);
    return value;
}

/* What a device or a VM has told and the guest has not ended is not lost: it waits for the next
 * start of the vCPU, or is ended in the guest's place if that had begun it. */
static void list_leave(struct vcpu *vcpu, uint32_t n) {
    uint64_t value = list_clear(n);
    uint32_t interrupt = LIST_INTERRUPT(value);
    if (interrupt < VGIC_PRIVATE)
        return;
    if (value & LIST_PENDING || is_level(vcpu, line_of(vcpu, interrupt)))
        wait(vcpu, line_of(vcpu, interrupt));
    else if (value & LIST_ACTIVE && value & LIST_HARDWARE)
        gic_shared_clear_active(interrupt);
}

__attribute__((noinline)) void vgic_ended(struct vcpu *vcpu) {
    for (uint64_t ended = lists_ended(); ended; ended &= ended - 1) {
        uint64_t value = list_clear((uint32_t)__builtin_ctzll(ended));
        uint32_t line = line_of(vcpu, LIST_INTERRUPT(value));
        if (is_level(vcpu, line))
            wait(vcpu, line);
    }
}

void vgic_withdraw(struct vcpu *vcpu, uint32_t interrupt) {
    for (uint32_t n = 0; n < list_count(); n++) {
        uint64_t value = list_read(n);
        if (LIST_INTERRUPT(value) == interrupt && value & LIST_PENDING && !(value & LIST_ACTIVE)) {
            list_clear(n);
            wait(vcpu, line_of(vcpu, interrupt));
        }
    }
}

void vgic_off(struct vcpu *vcpu) {
    lists_control(false, false);
    for (uint32_t n = 0; n < list_count(); n++)
        list_leave(vcpu, n);
    if (vm_is_stopped(vcpu->vm))
        vgic_shared_off(vcpu->vm);
    gic_enable_private(vcpu->core, platform.guest_timer_interrupt, false);
    gic_clear_active(vcpu->core, platform.guest_timer_interrupt);
}

void vgic_reset(struct vcpu *vcpu) {
    vgic_off(vcpu);
    uint64_t shared = __atomic_load_n(&vcpu->arch.pending, __ATOMIC_ACQUIRE) & ~PRIVATE_LINES;
    vgic_reset_frames(vcpu);
    __atomic_fetch_or(&vcpu->arch.pending, shared, __ATOMIC_ACQ_REL);
    vgic_shared_route(vcpu);
    lists_reset_interface();
    lists_control(true, false);
    isb();
}

void vgic_set_pending(struct vcpu *vcpu, uint32_t line) {
    __atomic_fetch_or(&vcpu->arch.pending, BIT(line), __ATOMIC_ACQ_REL);
}

bool vgic_take(struct vcpu *vcpu, uint32_t interrupt) {
    uint32_t line = line_of(vcpu, interrupt);
    if (line >= VGIC_LINES || !is_hardware(vcpu, line))
        return false;
    vgic_set_pending(vcpu, line);
    return true;
}

void vgic_send(struct vcpu *from, struct vcpu *to, uint32_t interrupt) {
    vgic_set_pending(to, interrupt);
    if (to != from)
        arch_kick(to->core);
}

static uint64_t priority_of(const struct vcpu *vcpu, uint32_t line) {
    if (line >= VGIC_PRIVATE)
        return vcpu->vm->arch.shared.priority[line - VGIC_PRIVATE];
    return vcpu->arch.priority[line / 4] >> line % 4 * 8 & 0xff;
}

static uint64_t enabled_lines(const struct vcpu *vcpu) {
    uint64_t shared = __atomic_load_n(&vcpu->vm->arch.shared.enabled, __ATOMIC_ACQUIRE);
    return vcpu->arch.enabled | shared << VGIC_PRIVATE;
}

/* False if there is more of the interrupt than a list register holds: it comes in at its end. */
static bool list_set(struct vcpu *vcpu, uint32_t n, uint64_t value) {
    bool is_all = list_take(vcpu, &value);
    list_write(n, value);
    return is_all;
}

static void list_empty(struct vcpu *vcpu, uint32_t n) {
    uint64_t value = list_read(n);
    list_give_back(vcpu, value);
    wait(vcpu, line_of(vcpu, LIST_INTERRUPT(value)));
}

/*
 * A list register for the interrupt: the one that has it, so that it is never in two; else a free
 * one; else that of the least urgent one that the guest has not begun, if that is less urgent: it
 * is pending again. False if it waits, or a part of it: for room, which what is displaced wants
 * too, or for the end of what a list register has of it.
 */
static bool list_add(struct vcpu *vcpu, uint32_t line, bool *wants_room) {
    uint32_t interrupt = number_of(vcpu, line);
    uint32_t free = MAX_LISTS, taken = MAX_LISTS;
    uint64_t priority = priority_of(vcpu, line), least = priority;
    for (uint32_t n = 0; n < list_count(); n++) {
        uint64_t value = list_read(n);
        if (!(value & (LIST_PENDING | LIST_ACTIVE))) {
            free = n;
        } else if (LIST_INTERRUPT(value) == interrupt) {
            return !(value & LIST_HARDWARE) && list_set(vcpu, n, value);
        } else if (!(value & LIST_ACTIVE) && LIST_PRIORITY_OF(value) > least) {
            least = LIST_PRIORITY_OF(value);
            taken = n;
        }
    }
    if (free == MAX_LISTS && taken != MAX_LISTS) {
        list_empty(vcpu, taken);
        free = taken;
        *wants_room = true;
    }
    if (free == MAX_LISTS) {
        *wants_room = true;
        return false;
    }
    uint64_t value = list_value(interrupt, priority, is_hardware(vcpu, line));
    return list_set(vcpu, free, value | (is_level(vcpu, line) ? LIST_AT_END : 0));
}

/* The most urgent line of a set that is not empty. */
static uint32_t most_urgent(const struct vcpu *vcpu, uint64_t set) {
    uint32_t best = (uint32_t)__builtin_ctzll(set);
    for (uint64_t rest = set & (set - 1); rest; rest &= rest - 1) {
        uint32_t other = (uint32_t)__builtin_ctzll(rest);
        if (priority_of(vcpu, other) < priority_of(vcpu, best))
            best = other;
    }
    return best;
}

/* False if another vCPU has just taken it: its guest has it sent there now. */
static bool take(struct vcpu *vcpu, uint32_t line) {
    if (is_of_vm(vcpu, line))
        return vgic_shared_take(vcpu->vm, line - VGIC_PRIVATE);
    __atomic_fetch_and(&vcpu->arch.pending, ~BIT(line), __ATOMIC_ACQ_REL);
    return true;
}

/* A function of its own, so that returns to a guest that need none of it save no registers for it. */
__attribute__((noinline)) static void fill_lists(struct vcpu *vcpu) {
    vgic_ended(vcpu);
    uint64_t waiting = __atomic_load_n(&vcpu->arch.pending, __ATOMIC_ACQUIRE);
    waiting |= (uint64_t)vgic_shared_raised(vcpu) << VGIC_PRIVATE;
    if (!waiting || !vgic_is_on(vcpu->vm))
        return;
    bool wants_room = false;
    for (uint64_t set = waiting & enabled_lines(vcpu); set;) {
        uint32_t line = most_urgent(vcpu, set);
        set &= ~BIT(line);
        if (take(vcpu, line) && !list_add(vcpu, line, &wants_room))
            wait(vcpu, line);
    }
    lists_control(true, wants_room);
    isb();
}

void vgic_flush(struct vcpu *vcpu) {
    if (__atomic_load_n(&vcpu->arch.pending, __ATOMIC_ACQUIRE) ||
        __atomic_load_n(&vcpu->vm->arch.shared.raised, __ATOMIC_SEQ_CST))
        fill_lists(vcpu);
}

uint64_t vgic_read(struct vcpu *vcpu, uint64_t address, uint32_t bytes) {
    uint64_t low = vgic_read_word(vcpu, address & ~3ULL);
    if (bytes == 8)
        return low | (uint64_t)vgic_read_word(vcpu, address + 4) << 32;
    return low >> address % 4 * 8 & (BIT(bytes * 8) - 1);
}

void vgic_write(struct vcpu *vcpu, uint64_t address, uint32_t bytes, uint64_t value) {
    uint32_t shift = address % 4 * 8;
    uint32_t mask = (uint32_t)((bytes >= 4 ? ~0ULL : BIT(bytes * 8) - 1) << shift);
    vgic_write_word(vcpu, address & ~3ULL, (uint32_t)(value << shift), mask);
    if (bytes == 8)
        vgic_write_word(vcpu, address + 4, (uint32_t)(value >> 32), ~0U);
}
