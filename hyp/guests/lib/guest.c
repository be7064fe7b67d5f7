/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "guest.h"

#include <stdarg.h>

#define UART 0x09000000U /* data register */
#define DISTRIBUTOR 0x08000000U
#define REDISTRIBUTORS 0x080a0000U
#define CPU_INTERFACE 0x08010000U
#define NS_PER_S 1000000000U
/* Arm DEN 0022 (PSCI) */
#define PSCI_CPU_OFF 0x84000002U
#define PSCI_CPU_ON 0xc4000003U
#define PSCI_SYSTEM_OFF 0x84000008U

extern char secondary_start[];

struct results call_for_two(uint64_t function, uint64_t a, uint64_t b, uint64_t c) {
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;
    __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)::"memory");
    return (struct results){x0, x1};
}

uint64_t call(uint64_t function, uint64_t a, uint64_t b, uint64_t c) {
    return call_for_two(function, a, b, c).x0;
}

bool vcpu_on(uint64_t vcpu) {
    return call(PSCI_CPU_ON, vcpu, (uintptr_t)secondary_start, vcpu) == 0;
}

_Noreturn void vcpu_off(void) {
    for (;;)
        call(PSCI_CPU_OFF, 0, 0, 0);
}

_Noreturn void off(void) {
    for (;;)
        call(PSCI_SYSTEM_OFF, 0, 0, 0);
}

uint64_t now_ns(void) {
    __asm__ volatile("isb");
    uint64_t frequency = guest_sysreg_read(cntfrq_el0);
    uint64_t ticks = guest_sysreg_read(cntvct_el0);
    return ticks / frequency * NS_PER_S + ticks % frequency * NS_PER_S / frequency;
}

static void put(char byte) {
    *(volatile uint32_t *)(uintptr_t)UART = (uint8_t)byte;
}

static void put_number(uint64_t value, uint64_t base) {
    char digits[20];
    uint32_t count = 0;
    do {
        digits[count++] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    while (count)
        put(digits[--count]);
}

void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    for (; *format; format++) {
        if (*format != '%') {
            put(*format);
        } else if (*++format == 's') {
            for (const char *text = va_arg(arguments, const char *); *text; text++)
                put(*text);
        } else {
            put_number(va_arg(arguments, uint64_t), *format == 'x' ? 16 : 10);
        }
    }
    va_end(arguments);
}

struct statistics_line statistics_read(const struct statistics_page *page, uint64_t vcpu) {
    const struct statistics_line *line = &page->vcpu[vcpu];
    for (;;) {
        uint64_t before = __atomic_load_n(&line->sequence, __ATOMIC_ACQUIRE);
        struct statistics_line copy = *line;
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (before % 2 == 0 && __atomic_load_n(&line->sequence, __ATOMIC_RELAXED) == before)
            return copy;
    }
}

void statistics_print(const struct statistics_page *page) {
    for (uint64_t vcpu = 0; vcpu < page->header.vcpus; vcpu++) {
        struct statistics_line line = statistics_read(page, vcpu);
        print("VM %u vCPU %u: period %u of %u ns, budget %u, share %u, used %u, overruns %u, "
              "refills %u, throttles %u, throttled %u ns, lent %u, borrowed %u\n",
              (uint64_t)page->header.vm, vcpu, line.period, line.period_ns, line.budget, line.share,
              line.used, line.overruns, line.refills, line.throttles, line.throttled_ns, line.lent,
              line.borrowed);
    }
}

/* Arm DDI 0487, D19: ID_AA64PFR0_EL1, bits 27 to 24: system registers of a GICv3, or none: GICv2. */
bool is_gicv3(void) {
    return guest_sysreg_read(id_aa64pfr0_el1) >> 24 & 15;
}

static volatile uint32_t *word(uintptr_t frame, uintptr_t offset) {
    return (volatile uint32_t *)(frame + offset);
}

static void gicv3_on(uint64_t vcpu, uint32_t enabled) {
    /* Arm IHI 0069, 12: GICD_CTLR; GICR_WAKER, GICR_IGROUPR0, GICR_ISENABLER0. */
    uintptr_t frame = REDISTRIBUTORS + vcpu * 0x20000;
    *word(DISTRIBUTOR, 0) = 1U << 4 | 1U << 1;
    *word(frame, 0x14) = 0;
    *word(frame, 0x10080) = ~0U;
    *word(frame, 0x10100) = enabled;
    guest_sysreg_write(icc_sre_el1, 7);
    guest_sysreg_write(icc_pmr_el1, 0xff);
    guest_sysreg_write(icc_igrpen1_el1, 1);
}

static void gicv2_on(uint32_t enabled) {
    /* Arm IHI 0048B, 4.3 and 4.4: GICD_CTLR, GICD_ISENABLER0; GICC_PMR, GICC_CTLR. */
    *word(DISTRIBUTOR, 0) = 1;
    *word(DISTRIBUTOR, 0x100) = enabled;
    *word(CPU_INTERFACE, 4) = 0xff;
    *word(CPU_INTERFACE, 0) = 1;
}

void interrupts_on(uint64_t vcpu, uint32_t enabled) {
    if (is_gicv3())
        gicv3_on(vcpu, enabled);
    else
        gicv2_on(enabled);
    __asm__ volatile("isb\n msr daifclr, #2");
}

void set_priority(uint64_t vcpu, uint64_t interrupt, uint8_t priority) {
    /* GICR_IPRIORITYR, GICD_IPRIORITYR, a byte each. */
    uintptr_t first =
        is_gicv3() ? REDISTRIBUTORS + vcpu * 0x20000 + 0x10400 : (uintptr_t)DISTRIBUTOR + 0x400;
    *(volatile uint8_t *)(first + interrupt) = priority;
}

void shared_send_to(uint64_t interrupt, uint64_t vcpu) {
    /* GICD_IROUTER, its affinity; GICD_ITARGETSR, a bit of a byte. */
    if (is_gicv3())
        *(volatile uint64_t *)((uintptr_t)DISTRIBUTOR + 0x6000 + interrupt * 8) = vcpu;
    else
        *(volatile uint8_t *)((uintptr_t)DISTRIBUTOR + 0x800 + interrupt) = (uint8_t)(1U << vcpu);
}

void shared_set(uint64_t interrupt, bool is_on) {
    /* GICD_IGROUPR: group 1 if that is a GICv3; GICD_ISENABLER, GICD_ICENABLER. */
    uintptr_t at = interrupt / 32 * 4;
    uint32_t bit = 1U << interrupt % 32;
    if (is_gicv3())
        *word(DISTRIBUTOR, 0x80 + at) |= bit;
    *word(DISTRIBUTOR, (is_on ? 0x100 : 0x180) + at) = bit;
}

bool shared_is_pending(uint64_t interrupt) {
    return *word(DISTRIBUTOR, 0x200 + interrupt / 32 * 4) >> interrupt % 32 & 1; /* GICD_ISPENDR */
}

uint64_t interrupt_take(void) {
    return is_gicv3() ? guest_sysreg_read(icc_iar1_el1) : *word(CPU_INTERFACE, 0xc);
}

void interrupt_end(uint64_t taken) {
    if (is_gicv3())
        guest_sysreg_write(icc_eoir1_el1, taken);
    else
        *word(CPU_INTERFACE, 0x10) = (uint32_t)taken;
}

void interrupt_send(uint64_t interrupt, uint64_t vcpus) {
    /* ICC_SGI1R_EL1; GICD_SGIR. */
    if (is_gicv3())
        send_register_write(interrupt << 24 | vcpus);
    else
        send_register_write(vcpus << 16 | interrupt);
}

void send_register_write(uint64_t value) {
    if (is_gicv3())
        guest_sysreg_write(icc_sgi1r_el1, value);
    else
        *word(DISTRIBUTOR, 0xf00) = (uint32_t)value;
}

/* An exception of the guest's own: a bug in it. */
_Noreturn void wild(void);
_Noreturn void wild(void) {
    print("wild exception: syndrome %x at %x\n", guest_sysreg_read(esr_el1),
          guest_sysreg_read(elr_el1));
    off();
}
