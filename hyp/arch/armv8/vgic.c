/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Interrupts into the guest: pending ones, list registers, SGIs between vCPUs. */
#include "vgic.h"

#include "../../core/arch.h"
#include "../../core/platform.h"
#include "gicv3.h"
#include "sysreg.h"

#define MAX_LISTS 16U

static uint32_t list_count(void) {
    return (uint32_t)ICH_VTR_LISTS(sysreg_read(ich_vtr_el2));
}

#define LIST_CASE(n)                                                                               \
    case n:                                                                                        \
        if (write)                                                                                 \
            sysreg_write(ich_lr##n##_el2, value);                                                  \
        else                                                                                       \
            value = sysreg_read(ich_lr##n##_el2);                                                  \
        break

/* List registers have no index. */
static uint64_t list_access(uint32_t n, bool write, uint64_t value) {
    switch (n) {
        LIST_CASE(0);
        LIST_CASE(1);
        LIST_CASE(2);
        LIST_CASE(3);
        LIST_CASE(4);
        LIST_CASE(5);
        LIST_CASE(6);
        LIST_CASE(7);
        LIST_CASE(8);
        LIST_CASE(9);
        LIST_CASE(10);
        LIST_CASE(11);
        LIST_CASE(12);
        LIST_CASE(13);
        LIST_CASE(14);
        LIST_CASE(15);
    }
    return value;
}

static uint64_t list_read(uint32_t n) {
    return list_access(n, false, 0);
}

static void list_write(uint32_t n, uint64_t value) {
    list_access(n, true, value);
}

void vgic_off(struct vcpu *vcpu) {
    sysreg_write(ich_hcr_el2, 0);
    for (uint32_t n = 0; n < list_count(); n++)
        list_write(n, 0);
    gic_enable_private(vcpu->core, platform.guest_timer_interrupt, false);
    gic_deactivate(platform.guest_timer_interrupt);
}

void vgic_reset(struct vcpu *vcpu) {
    vgic_off(vcpu);
    vcpu->arch = (struct vcpu_arch){.asleep = GICR_WAKER_SLEEP};
    sysreg_write(ich_vmcr_el2, 0);
    sysreg_write(ich_hcr_el2, ICH_HCR_EN);
    isb();
}

void vgic_set_pending(struct vcpu *vcpu, uint32_t interrupt) {
    __atomic_fetch_or(&vcpu->arch.pending, 1U << interrupt, __ATOMIC_ACQ_REL);
}

static void send_to(struct vcpu *from, struct vcpu *to, uint32_t interrupt) {
    vgic_set_pending(to, interrupt);
    if (to != from)
        arch_kick(to->core);
}

void vgic_send(struct vcpu *from, uint64_t sgi1r) {
    struct vm *vm = from->vm;
    bool to_others = SGI1R_IRM(sgi1r);
    /* The vCPUs of a VM differ in affinity 0 alone. */
    if (!to_others && sgi1r & SGI1R_AFFINITIES)
        return;
    for (uint32_t v = 0; v < vm->config->vcpus; v++) {
        bool is_meant = to_others ? v != from->index : SGI1R_TARGETS(sgi1r) >> v & 1;
        if (is_meant)
            send_to(from, &vm->vcpu[v], (uint32_t)SGI1R_INTID(sgi1r));
    }
}

static uint64_t priority_of(const struct vcpu *vcpu, uint32_t interrupt) {
    return vcpu->arch.priority[interrupt / 4] >> interrupt % 4 * 8 & 0xff;
}

static uint64_t list_value(const struct vcpu *vcpu, uint32_t interrupt) {
    uint64_t value =
        interrupt | ICH_LR_PENDING | ICH_LR_GROUP1 | ICH_LR_PRIORITY(priority_of(vcpu, interrupt));
    if (interrupt == platform.guest_timer_interrupt)
        value |= ICH_LR_HW | ICH_LR_PHYSICAL(interrupt);
    return value;
}

/*
 * A list register for the interrupt: the one that has it, so that it is never in two; else a free
 * one; else that of the least urgent one that the guest has not begun, if that is less urgent: it
 * is pending again. False if there is none, or if a hardware interrupt is still in it.
 */
static bool list_add(struct vcpu *vcpu, uint32_t interrupt) {
    uint32_t free = MAX_LISTS, taken = MAX_LISTS;
    uint64_t least = priority_of(vcpu, interrupt);
    for (uint32_t n = 0; n < list_count(); n++) {
        uint64_t value = list_read(n);
        if (!(value & (ICH_LR_PENDING | ICH_LR_ACTIVE))) {
            free = n;
        } else if (ICH_LR_INTID(value) == interrupt) {
            if (value & ICH_LR_HW)
                return false;
            list_write(n, value | ICH_LR_PENDING);
            return true;
        } else if (!(value & ICH_LR_ACTIVE) && ICH_LR_PRIORITY_OF(value) > least) {
            least = ICH_LR_PRIORITY_OF(value);
            taken = n;
        }
    }
    if (free == MAX_LISTS && taken != MAX_LISTS) {
        vgic_set_pending(vcpu, (uint32_t)ICH_LR_INTID(list_read(taken)));
        free = taken;
    }
    if (free == MAX_LISTS)
        return false;
    list_write(free, list_value(vcpu, interrupt));
    return true;
}

/* The most urgent interrupt of a set that is not empty. */
static uint32_t most_urgent(const struct vcpu *vcpu, uint32_t set) {
    uint32_t best = (uint32_t)__builtin_ctz(set);
    for (uint32_t rest = set & (set - 1); rest; rest &= rest - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(rest);
        if (priority_of(vcpu, other) < priority_of(vcpu, best))
            best = other;
    }
    return best;
}

void vgic_flush(struct vcpu *vcpu) {
    uint32_t waiting = __atomic_load_n(&vcpu->arch.pending, __ATOMIC_ACQUIRE);
    if (!waiting || !(vcpu->vm->arch.distributor_control & GICD_CTLR_ENABLE_GROUP1))
        return;
    for (uint32_t set = waiting & vcpu->arch.enabled; set;) {
        uint32_t interrupt = most_urgent(vcpu, set);
        uint32_t bit = 1U << interrupt;
        set &= ~bit;
        __atomic_fetch_and(&vcpu->arch.pending, ~bit, __ATOMIC_ACQ_REL);
        if (!list_add(vcpu, interrupt))
            vgic_set_pending(vcpu, interrupt);
    }
    uint32_t left = __atomic_load_n(&vcpu->arch.pending, __ATOMIC_ACQUIRE) & vcpu->arch.enabled;
    /* What found no room comes in when the guest is done with what has it. */
    sysreg_write(ich_hcr_el2, ICH_HCR_EN | (left ? ICH_HCR_UIE : 0));
    isb();
}
