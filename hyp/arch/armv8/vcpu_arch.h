/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What the core keeps of a vCPU and a VM for this architecture. */
#ifndef RINGFENCE_HYP_VCPU_ARCH_H
#define RINGFENCE_HYP_VCPU_ARCH_H

#include <stdint.h>

#include "config.h"
#include "lock.h"

/* Software-generated (SGI, 0 to 15) and private (PPI, 16 to 31) interrupts: those of one vCPU. */
#define VGIC_PRIVATE 32U
#define VGIC_SGIS 16U
/* A vCPU's lines: its private interrupts by number, then the VM's shared ones in their order. */
#define VGIC_LINES (VGIC_PRIVATE + MAX_SHARED)

/*
 * What the interrupt controller has for a vCPU. Only `pending` and `senders` are shared: other
 * vCPUs set bits in them.
 */
struct vcpu_arch {
    uint64_t pending; /* lines that are in no list register yet */
    uint32_t enabled;
    uint32_t group;
    uint32_t asleep; /* GICv3: GICR_WAKER.ProcessorSleep */
    uint32_t priority[VGIC_PRIVATE / 4];
    uint32_t trigger; /* GICR_ICFGR1, of PPIs */
    /* GICv2: the vCPUs that have sent each SGI, a bit each; shared as `pending` is. */
    uint8_t senders[VGIC_SGIS];
};

/* What the distributor has for a VM's shared interrupts: that of its serial line, those of its devices,
 * then those of its channels, in the order of the configuration. */
struct shared_interrupts {
    uint32_t count;
    uint32_t number[MAX_SHARED];
    uint32_t hardware; /* a bit each: the devices'; no hardware has the others */
    uint32_t raised;   /* of the others, what is in no list register yet; any core sets it */
    uint32_t level;    /* of the others, which are raised for as long as their line is up */
    uint32_t listed;   /* of these, what is in a list register of some core */
    struct lock lock;  /* of what follows */
    uint32_t enabled;
    uint32_t group;
    uint8_t priority[MAX_SHARED];
    uint8_t targets[MAX_SHARED]; /* vCPUs, a bit each: the first of them gets it */
};

/* The PL011 that a VM sees; see vuart.c. */
#define VUART_FIFO 1024U
struct vuart {
    struct lock lock;
    uint32_t control;
    uint32_t line_control;
    uint32_t baud_integer;
    uint32_t baud_fraction;
    uint32_t levels;
    uint32_t mask; /* of interrupts, and what there is of them */
    uint32_t raw;
    uint32_t errors; /* of what was received */
    bool is_overrun; /* something was lost before the next character */
    uint32_t first;  /* of what waits in the FIFO, and how much that is */
    uint32_t count;
    uint64_t lost;
    uint16_t fifo[VUART_FIFO]; /* as the data register has them */
};

struct vm_arch {
    uint64_t *stage2; /* its root table */
    uint32_t distributor_control;
    struct shared_interrupts shared;
    struct vuart uart;
};

/* What a trap saves: x0 to x30, and where the guest goes on. Known to vectors.S. */
struct registers {
    uint64_t x[31];
    uint64_t pc;     /* ELR_EL2 */
    uint64_t state;  /* SPSR_EL2 */
    uint64_t unused; /* the stack is aligned to 16 bytes */
};

#endif
