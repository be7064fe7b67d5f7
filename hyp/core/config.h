/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What a machine is divided into: a constant table of virtual machines (VMs), one file a
 * configuration in hyp/config/. Nothing here changes after the build.
 *
 * One vCPU a core: vCPU n of a VM is its cores[n], always. vCPU 0 starts with the machine, the
 * others when the guest turns them on (PSCI CPU_ON).
 */
#ifndef RINGFENCE_HYP_CONFIG_H
#define RINGFENCE_HYP_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_VCPUS 8U
#define MAX_REGIONS 4U
#define BOOT_ARGUMENTS 4U
#define MAX_DEVICES 8U
#define MAX_SHARED 32U /* interrupts of the serial line, devices and channels of a VM */
#define MAX_INTERRUPTS (MAX_SHARED - 1)
#define MAX_CHANNELS 8U
#define CHANNEL_ENDS 2U
/* Interrupts that are not a core's own: Arm IHI 0048B and IHI 0069, 2.2. */
#define SHARED_FIRST 32U
#define SHARED_LAST 1019U
/* What stage 2 maps at once; guests and their images are aligned to it. */
#define REGION_ALIGNMENT 0x200000U

struct memory_region {
    uint64_t guest_address;
    uint64_t address; /* in the machine's memory */
    uint64_t size;    /* bytes; 0: no region */
    uint64_t colours; /* of its pages, a bit each, see colours.h; 0: it is in one piece */
};

/* Registers of a device that is the VM's alone, which sees them where the machine has them. */
struct device_region {
    uint64_t address;
    uint64_t size; /* bytes; 0: no device */
};

/* What a reservation may be changed to at run time, both ends included. */
struct reservation_bounds {
    uint64_t budget_min;
    uint64_t budget_max;
    uint64_t period_min_ns;
    uint64_t period_max_ns; /* 0: it is never changed */
};

/* Memory events that the VM may cause in each period; see policy's reservation.h. */
struct reservation_config {
    uint64_t budget;         /* events of all vCPUs together */
    uint64_t period_ns;      /* 1 us to 1 s; 0: no reservation */
    const uint32_t *weights; /* of the vCPUs; null: equal shares */
    struct reservation_bounds bounds;
};

/* Whether the VM takes part in policy's lending.h; all that do have periods of one length. */
struct lending_config {
    bool lends;
    uint64_t borrows; /* events that a vCPU borrows at once; 0: never */
};

/* Pages of statistics_page.h that a VM may read; that of VM n at guest_address + n * 4 KiB. */
struct statistics_config {
    uint64_t guest_address;
    uint32_t of; /* these VMs: bit n is for number n */
};

#define CHANNEL_NOBODY 0xffffffffU /* as a VM's number: one that is not in this configuration */

struct channel_end {
    uint32_t vm;            /* its number */
    uint32_t interrupt;     /* shared one that the other end raises in it; 0: none */
    uint64_t guest_address; /* where it has the memory */
    bool reads_only;
};

/* What two VMs have in common; see channel.h. */
struct channel_config {
    struct channel_end end[CHANNEL_ENDS];
    uint64_t address;     /* of its memory in the machine */
    uint64_t size;        /* bytes, whole pages of 4 KiB; 0: no memory */
    uint64_t interval_ns; /* between two notifications of an end, at least; 1 us to 1 s */
};

struct vm_config {
    const char *name;
    uint64_t entry;                     /* guest address of the first instruction */
    uint64_t arguments[BOOT_ARGUMENTS]; /* in the first registers of vCPU 0 at the entry */
    struct memory_region memory[MAX_REGIONS];
    struct device_region devices[MAX_DEVICES];
    uint32_t
        interrupts[MAX_INTERRUPTS]; /* of its devices, as the machine numbers them; 0: no more */
    uint32_t cores[MAX_VCPUS];
    uint32_t vcpus;
    struct reservation_config reservation;
    struct lending_config lending;
    struct statistics_config statistics;
    bool no_input;       /* it never has that of the serial line */
    uint32_t may_change; /* the reservations of these VMs: bit n is for number n */
};

struct machine_config {
    const struct vm_config *vm;
    uint32_t vms;
    const struct channel_config *channel;
    uint32_t channels;
    /* What all reservations together may be, in events a second; 0: as they are, for good. */
    uint64_t events_per_s;
    /* No guest's: where trace.h keeps its rings, in builds that have it. */
    struct memory_region trace;
};

extern const struct machine_config machine_config;

/* Null if the machine can be divided so; else what is wrong. */
const char *config_error(const struct machine_config *config);
/* Its parts about devices and channels. */
const char *devices_error(const struct machine_config *config);
const char *channels_error(const struct machine_config *config);
/* Whether two pieces of memory have a byte in common; one without bytes has none. */
bool config_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size);
/* Null if memory of a guest can be there, in the machine and for the guest; else what is wrong. */
const char *config_place_error(const struct memory_region *region);

#endif
