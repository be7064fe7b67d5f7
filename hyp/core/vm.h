/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Virtual machines and their vCPUs.
 *
 * A vCPU is off, starting or on. Only its own core turns it on or off; another vCPU of the VM can
 * ask for a start (off to starting), under the VM's lock. A VM that has stopped stays stopped: each
 * of its cores sees `stopped` before it would return to the guest, and waits for ever.
 */
#ifndef RINGFENCE_HYP_VM_H
#define RINGFENCE_HYP_VM_H

#include "config.h"
#include "lock.h"
#include "vcpu_arch.h"

#include <ringfence/periods.h>
#include <ringfence/reservation.h>

enum vcpu_state { VCPU_OFF = 0, VCPU_STARTING, VCPU_ON };

/* A length on the clock that all cores share, exactly: ticks + rest / 10^9. */
struct ticks {
    uint64_t ticks;
    uint64_t rest; /* of a tick, in 10^-9; less than 10^9 */
};

/* A time on it, exactly: tick - ahead / 10^9. So it has come when the clock is at `tick`. */
struct deadline {
    uint64_t tick;
    uint64_t ahead; /* of a tick, in 10^-9; less than 10^9 */
};

struct regulation {
    /* What go_on.h is about comes first, and lies in one line of the cache. */
    _Alignas(64) struct deadline next; /* the period behind the one begun last begins */
    struct ticks length;               /* of a period */
    /* Ticks within which the next period begins, and is like the one before for this vCPU, which
     * takes no part in lending and has no line of statistics. Else 0, which other cores write. */
    uint64_t alike;
    uint64_t refills;
    uint32_t counted; /* what the counter showed when it was armed; arch.h's */
    bool throttled;
    uint64_t expected; /* ticks within which the next period begins; 0 while the length changes */
    uint64_t overflows;
    struct lending_state *lending; /* null if it takes no part */
    struct statistics_line *line;  /* null if nobody looks at it */
    uint64_t still_since_ns;       /* throttled, as the line has it; 0: it runs */
#ifdef TRACE
    uint64_t events; /* all that were charged */
#endif
};

struct vcpu {
    struct vm *vm;
    uint32_t index; /* in the VM */
    uint32_t core;
    uint32_t state; /* enum vcpu_state, shared between cores */
    uint64_t entry; /* valid while starting */
    uint64_t arguments[BOOT_ARGUMENTS];
    struct regulation regulation;
    struct vcpu_arch arch;
};

#define CONSOLE_LINE 512U

struct vm {
    const struct vm_config *config;
    uint32_t number;
    /* Shared between cores. It has ended when it has stopped and no vCPU is on. */
    uint32_t stopped;
    uint32_t on; /* vCPUs */
    uint32_t ended;
    struct lock lock; /* of the reservation and its periods, and of who starts a vCPU */
    struct rf_reservation reservation;
    struct rf_periods periods;
    struct lock line_lock;
    uint32_t is_typed_to; /* since it has the input; see input.h, which sets it */
    bool has_returned;    /* to the begin of its line, but for a line that ends so */
    uint32_t line_length;
    char line[CONSOLE_LINE]; /* of its console, until it ends; a zero is behind it */
    struct vm_arch arch;
    struct vcpu vcpu[MAX_VCPUS];
};

/* All VMs of the configuration, with their vCPU 0 starting. */
void vm_init_all(void);
/* Null if there is none. */
struct vm *vm_of_number(uint64_t number);
/* The vCPU that a core is for; null if there is none. */
struct vcpu *vm_vcpu_of_core(uint32_t core);
/* What a core does between its guests' lives: waits for a start, and starts. */
_Noreturn void vcpu_main(void);
/* Called last before a core returns to its guest: holds it while it may not run. */
void vcpu_before_return(struct vcpu *vcpu);

/* False if the vCPU is not off. */
bool vcpu_start(struct vcpu *vcpu, uint64_t entry, uint64_t argument);
_Noreturn void vcpu_off(struct vcpu *vcpu);
/* Stops the VM of this core's vCPU. When the last VM has ended, the machine is turned off. */
_Noreturn void vm_stop(struct vm *vm, const char *why);

static inline bool vm_is_stopped(const struct vm *vm) {
    return __atomic_load_n(&vm->stopped, __ATOMIC_ACQUIRE);
}

/* One byte that the guest prints: lines after the VM's name, whole as long as nobody types to it. */
void vm_console(struct vm *vm, char byte);

#endif
