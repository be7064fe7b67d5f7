/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the monitor uses of QEMU itself, as its interface for plugins has no interrupts: work for a
 * core's thread between two blocks of instructions, and the inputs of the interrupt controller.
 * No interface promises them; a QEMU that does not export one of them does not load the plugin.
 */
#ifndef RINGFENCE_QEMU_DEVICE_H
#define RINGFENCE_QEMU_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct CPUState CPUState;
typedef struct IRQState *qemu_irq;
/* Every object begins with what all objects have, so the same pointer is both. */
typedef void DeviceState;

typedef union {
    int host_int;
    unsigned long host_ulong;
    void *host_ptr;
    uint64_t target_ptr;
} run_on_cpu_data;

CPUState *qemu_get_cpu(int index);
void async_run_on_cpu(CPUState *cpu, void (*work)(CPUState *cpu, run_on_cpu_data data),
                      run_on_cpu_data data);
DeviceState *object_resolve_path_type(const char *path, const char *type, bool *is_ambiguous);
qemu_irq qdev_get_gpio_in(DeviceState *device, int input);
void qemu_set_irq(qemu_irq irq, int level);

#endif
