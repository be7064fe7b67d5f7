/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whose a device may be: of one VM, and neither the hypervisor's nor memory. */
#include "arch.h"
#include "config.h"
#include "platform.h"
#include "statistics_page.h"

#define DEVICE_ALIGNMENT 4096U

static const struct device_region emulated[] = ARCH_GUEST_EMULATED;

static bool overlap(const struct device_region *device, uint64_t address, uint64_t size) {
    return config_overlap(device->address, device->size, address, size);
}

/* Of the one that is looked at: whether the hypervisor has it. */
static const struct device_region *looked_at;
static bool is_own;

static void look_at_own(uint64_t address, uint64_t size) {
    is_own = is_own || overlap(looked_at, address, size);
}

static const char *device_error(const struct vm_config *vm, uint32_t vms,
                                const struct device_region *device) {
    if ((device->address | device->size) % DEVICE_ALIGNMENT)
        return "a device is not whole pages of 4 KiB";
    if (device->address >= ARCH_GUEST_BYTES || device->size > ARCH_GUEST_BYTES - device->address)
        return "a device is where guests have no addresses";
    for (uint32_t n = 0; n < MAX_RAMS; n++)
        if (overlap(device, platform.ram[n].start, platform.ram[n].size))
            return "a device is in the platform's memory";
    for (uint32_t r = 0; r < MAX_REGIONS; r++)
        if (overlap(device, vm->memory[r].guest_address, vm->memory[r].size))
            return "a device has the addresses of its VM's memory";
    if (vm->statistics.of &&
        overlap(device, vm->statistics.guest_address, (uint64_t)vms * STATISTICS_PAGE_BYTES))
        return "a device has the addresses of its VM's pages of statistics";
    for (uint32_t n = 0; n < sizeof(emulated) / sizeof(emulated[0]); n++)
        if (overlap(device, emulated[n].address, emulated[n].size))
            return "a device has the addresses of one that is emulated";
    looked_at = device;
    is_own = false;
    arch_own_devices(look_at_own);
    return is_own ? "a device is the hypervisor's" : 0;
}

static bool is_counter(uint32_t interrupt) {
    for (uint32_t core = 0; core < platform.cores; core++)
        if (platform.counter_interrupt[core] == interrupt)
            return true;
    return false;
}

static uint32_t owners_of(const struct machine_config *config, uint32_t interrupt) {
    uint32_t owners = 0;
    for (uint32_t n = 0; n < config->vms; n++)
        for (uint32_t i = 0; i < MAX_INTERRUPTS; i++)
            owners += config->vm[n].interrupts[i] == interrupt;
    return owners;
}

static const char *interrupts_error(const struct machine_config *config,
                                    const struct vm_config *vm) {
    for (uint32_t i = 0; i < MAX_INTERRUPTS; i++) {
        uint32_t interrupt = vm->interrupts[i];
        if (!interrupt)
            continue;
        if (i && !vm->interrupts[i - 1])
            return "there is a gap among the interrupts of a VM";
        if (interrupt < SHARED_FIRST || interrupt > SHARED_LAST)
            return "an interrupt of a device is not a shared one, 32 to 1019";
        if (is_counter(interrupt))
            return "an interrupt of a device is that of a core's counter";
        if (interrupt == platform.uart_interrupt || interrupt == ARCH_GUEST_UART_INTERRUPT)
            return "an interrupt of a device is that of the serial line";
        if (owners_of(config, interrupt) > 1)
            return "an interrupt is of two devices";
    }
    return 0;
}

/* Devices of all VMs that have a byte of this one; itself among them. */
static uint32_t users_of(const struct machine_config *config, const struct device_region *device) {
    uint32_t users = 0;
    for (uint32_t n = 0; n < config->vms; n++)
        for (uint32_t d = 0; d < MAX_DEVICES; d++)
            users +=
                overlap(device, config->vm[n].devices[d].address, config->vm[n].devices[d].size);
    return users;
}

const char *devices_error(const struct machine_config *config) {
    for (uint32_t n = 0; n < config->vms; n++) {
        const struct vm_config *vm = &config->vm[n];
        const char *wrong = interrupts_error(config, vm);
        for (uint32_t d = 0; d < MAX_DEVICES && !wrong; d++) {
            if (!vm->devices[d].size)
                continue;
            wrong = device_error(vm, config->vms, &vm->devices[d]);
            if (!wrong && users_of(config, &vm->devices[d]) > 1)
                wrong = "two devices have the same addresses";
        }
        if (wrong)
            return wrong;
    }
    return 0;
}
