/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Which channels can be: checked at the boot, before any of them is used. */
#include "arch.h"
#include "colours.h"
#include "config.h"
#include "statistics_page.h"

#include <ringfence/periods.h>

#define PAGE_BYTES 4096U

/* Null if there is nobody. */
static const struct vm_config *vm_of(const struct machine_config *config,
                                     const struct channel_end *end) {
    return end->vm == CHANNEL_NOBODY ? 0 : &config->vm[end->vm];
}

static bool has_interrupt(const struct vm_config *vm, uint32_t interrupt) {
    for (uint32_t i = 0; i < MAX_INTERRUPTS; i++)
        if (vm->interrupts[i] == interrupt)
            return true;
    return false;
}

static const char *interrupts_error(const struct machine_config *config,
                                    const struct channel_config *channel) {
    bool notifies = false;
    for (uint32_t e = 0; e < CHANNEL_ENDS; e++) {
        uint32_t interrupt = channel->end[e].interrupt;
        if (!interrupt)
            continue;
        notifies = true;
        if (interrupt < SHARED_FIRST || interrupt > SHARED_LAST)
            return "an interrupt of a channel is not a shared one, 32 to 1019";
        if (interrupt == ARCH_GUEST_UART_INTERRUPT)
            return "an interrupt of a channel is that of the serial line";
        const struct vm_config *vm = vm_of(config, &channel->end[e]);
        if (vm && has_interrupt(vm, interrupt))
            return "an interrupt of a channel is that of a device of its VM";
    }
    if (notifies && !rf_periods_length_ok(channel->interval_ns))
        return "the interval of a channel is not 1 us to 1 s";
    if (!notifies && !channel->size)
        return "a channel has neither memory nor an interrupt";
    return 0;
}

/* What else a VM has at the addresses of its end. */
static const char *guest_error(const struct machine_config *config, const struct channel_end *end,
                               uint64_t size) {
    const struct vm_config *vm = vm_of(config, end);
    if (!vm)
        return 0;
    for (uint32_t r = 0; r < MAX_REGIONS; r++)
        if (config_overlap(end->guest_address, size, vm->memory[r].guest_address,
                           vm->memory[r].size))
            return "memory of a channel has the addresses of a VM's own";
    for (uint32_t d = 0; d < MAX_DEVICES; d++)
        if (config_overlap(end->guest_address, size, vm->devices[d].address, vm->devices[d].size))
            return "memory of a channel has the addresses of a VM's device";
    if (vm->statistics.of && config_overlap(end->guest_address, size, vm->statistics.guest_address,
                                            (uint64_t)config->vms * STATISTICS_PAGE_BYTES))
        return "memory of a channel has the addresses of pages of statistics";
    return 0;
}

static const char *memory_error(const struct machine_config *config,
                                const struct channel_config *channel) {
    if (channel->end[0].reads_only && channel->end[1].reads_only)
        return "nobody may write to the memory of a channel";
    for (uint32_t e = 0; e < CHANNEL_ENDS; e++) {
        const struct channel_end *end = &channel->end[e];
        if ((channel->address | end->guest_address | channel->size) % PAGE_BYTES)
            return "memory of a channel is not aligned to 4 KiB";
        const struct memory_region seen = {end->guest_address, channel->address, channel->size, 0};
        const char *wrong = config_place_error(&seen);
        if (!wrong)
            wrong = guest_error(config, end, channel->size);
        if (wrong)
            return wrong;
    }
    const struct memory_region memory = {.address = channel->address, .size = channel->size};
    for (uint32_t n = 0; n < config->vms; n++)
        for (uint32_t r = 0; r < MAX_REGIONS; r++)
            if (colours_overlap(&memory, &config->vm[n].memory[r]))
                return "memory of a channel is also a VM's own";
    if (colours_overlap(&memory, &config->trace))
        return "memory of a channel is the trace's";
    return 0;
}

static const char *channel_error(const struct machine_config *config,
                                 const struct channel_config *channel) {
    const struct channel_end *end = channel->end;
    for (uint32_t e = 0; e < CHANNEL_ENDS; e++)
        if (end[e].vm != CHANNEL_NOBODY && (end[e].vm >= config->vms || end[e].vm == end[1 - e].vm))
            return "a channel is not between two VMs";
    const char *wrong = interrupts_error(config, channel);
    return wrong || !channel->size ? wrong : memory_error(config, channel);
}

/* What an end of one channel and one of another have in common, if they are the same VM's. */
static const char *ends_error(const struct channel_config *a, const struct channel_config *b) {
    for (uint32_t i = 0; i < CHANNEL_ENDS; i++)
        for (uint32_t j = 0; j < CHANNEL_ENDS; j++) {
            const struct channel_end *one = &a->end[i], *other = &b->end[j];
            if (one->vm != other->vm || one->vm == CHANNEL_NOBODY)
                continue;
            if (one->interrupt && one->interrupt == other->interrupt)
                return "two channels have the same interrupt of a VM";
            if (config_overlap(one->guest_address, a->size, other->guest_address, b->size))
                return "two channels have the same addresses of a VM";
        }
    return 0;
}

/* Interrupts of its devices and channels. */
static uint32_t shared_of(const struct machine_config *config, uint32_t number) {
    uint32_t shared = 0;
    while (shared < MAX_INTERRUPTS && config->vm[number].interrupts[shared])
        shared++;
    for (uint32_t n = 0; n < config->channels; n++)
        for (uint32_t e = 0; e < CHANNEL_ENDS; e++) {
            const struct channel_end *end = &config->channel[n].end[e];
            shared += end->vm == number && end->interrupt;
        }
    return shared;
}

const char *channels_error(const struct machine_config *config) {
    if (config->channels > MAX_CHANNELS)
        return "there are more than 8 channels";
    for (uint32_t n = 0; n < config->channels; n++) {
        const struct channel_config *channel = &config->channel[n];
        const char *wrong = channel_error(config, channel);
        for (uint32_t m = 0; m < n && !wrong; m++) {
            const struct channel_config *other = &config->channel[m];
            wrong = ends_error(channel, other);
            if (config_overlap(channel->address, channel->size, other->address, other->size))
                wrong = "two channels have the same memory";
        }
        if (wrong)
            return wrong;
    }
    for (uint32_t n = 0; n < config->vms; n++)
        if (shared_of(config, n) > MAX_INTERRUPTS)
            return "a VM has more than 31 interrupts of devices and channels";
    return 0;
}
