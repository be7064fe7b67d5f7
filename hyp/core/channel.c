/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "channel.h"

#include "arch.h"
#include "hypercall.h"

/* The longest of the cores that there are: no two VMs write to one. */
#define CACHE_LINE_BYTES 128U

/* Of who asks for notifications of an end: vCPUs of the VM at the other one, and nobody else. */
struct limit {
    struct lock lock;
    uint64_t next_ns; /* none before */
} __attribute__((aligned(CACHE_LINE_BYTES)));

static struct limit limits[MAX_CHANNELS][CHANNEL_ENDS];

void channels_init(void) {
    for (uint32_t n = 0; n < machine_config.channels; n++)
        if (machine_config.channel[n].size)
            arch_clear_memory(machine_config.channel[n].address, machine_config.channel[n].size);
}

/* The end of a channel that a VM may notify: the other one. CHANNEL_ENDS if there is none. */
static uint32_t end_to_notify(const struct vm *from, uint64_t number) {
    if (number >= machine_config.channels)
        return CHANNEL_ENDS;
    const struct channel_end *end = machine_config.channel[number].end;
    for (uint32_t e = 0; e < CHANNEL_ENDS; e++)
        if (end[e].interrupt && end[1 - e].vm == from->number)
            return e;
    return CHANNEL_ENDS;
}

/* Whether it is time for another one, which is then counted; else when it will be. */
static bool is_in_time(struct limit *limit, uint64_t interval_ns, uint64_t *when_ns) {
    lock(&limit->lock);
    uint64_t now_ns = arch_now_ns();
    bool is_in_time = now_ns >= limit->next_ns;
    if (is_in_time)
        limit->next_ns = now_ns + interval_ns;
    else
        *when_ns = limit->next_ns;
    unlock(&limit->lock);
    return is_in_time;
}

uint64_t channel_notify(struct vcpu *caller, uint64_t number, uint64_t *when_ns) {
    uint32_t e = end_to_notify(caller->vm, number);
    if (e == CHANNEL_ENDS)
        return HYPERCALL_DENIED;
    const struct channel_config *channel = &machine_config.channel[number];
    struct vm *vm = vm_of_number(channel->end[e].vm);
    if (!vm || vm_is_stopped(vm))
        return HYPERCALL_NO_VM;
    if (!is_in_time(&limits[number][e], channel->interval_ns, when_ns))
        return HYPERCALL_TOO_SOON;
    arch_notify(vm, channel->end[e].interrupt);
    return HYPERCALL_DONE;
}
