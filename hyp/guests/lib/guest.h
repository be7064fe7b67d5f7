/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What bare-metal guests share: time, printing, starting vCPUs. */
#ifndef RINGFENCE_HYP_GUEST_LIB_H
#define RINGFENCE_HYP_GUEST_LIB_H

#include <stdbool.h>
#include <stdint.h>

#include "statistics_page.h"

#define guest_sysreg_read(name)                                                                    \
    ({                                                                                             \
        uint64_t value_;                                                                           \
        __asm__ volatile("mrs %0, " #name : "=r"(value_)::"memory");                               \
        value_;                                                                                    \
    })
#define guest_sysreg_write(name, value)                                                            \
    __asm__ volatile("msr " #name ", %0" ::"r"((uint64_t)(value)) : "memory")

/* Of each guest. */
void main(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
void secondary(uint64_t vcpu);
void interrupt(void);

/* A call to the hypervisor: its first result, or both. */
struct results {
    uint64_t x0;
    uint64_t x1;
};
struct results call_for_two(uint64_t function, uint64_t a, uint64_t b, uint64_t c);
uint64_t call(uint64_t function, uint64_t a, uint64_t b, uint64_t c);
bool vcpu_on(uint64_t vcpu);
_Noreturn void vcpu_off(void);
_Noreturn void off(void);

uint64_t now_ns(void);
/* %s, %u and %x, as the hypervisor's own; one vCPU at a time. */
void print(const char *format, ...);

/* A vCPU's line of a page of statistics, as it was at one time. */
struct statistics_line statistics_read(const struct statistics_page *page, uint64_t vcpu);

/* One after the other: its number, and the line but for its sequence. */
void statistics_print(const struct statistics_page *page);

/* Of which version the interrupt controller is. */
bool is_gicv3(void);
/* The vCPU's interrupt controller: private interrupts on, all priorities alike. */
void interrupts_on(uint64_t vcpu, uint32_t enabled);
/* The lower the more urgent. */
void set_priority(uint64_t vcpu, uint64_t interrupt, uint8_t priority);
/* A shared interrupt: which vCPU gets it; on or off. Whether it is pending. */
void shared_send_to(uint64_t interrupt, uint64_t vcpu);
void shared_set(uint64_t interrupt, bool is_on);
bool shared_is_pending(uint64_t interrupt);
/* What has come, as interrupt_end wants it; its number; the vCPU that sent it, if GICv2 says. */
uint64_t interrupt_take(void);
#define INTERRUPT_NUMBER(taken) ((taken) % 1024)
#define INTERRUPT_SENDER(taken) ((taken) >> 10)
void interrupt_end(uint64_t taken);
/* An SGI to a set of vCPUs; and anything to the register that sends SGIs. */
void interrupt_send(uint64_t interrupt, uint64_t vcpus);
void send_register_write(uint64_t value);

#endif
