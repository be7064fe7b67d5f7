/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* From boot.S, on each core: what it needs, and on to its vCPU. */
#include "../../core/arch.h"
#include "../../core/console.h"
#include "../../core/input.h"
#include "../../core/platform.h"
#include "../../core/trace.h"
#include "../../core/uart.h"
#include "firmware.h"
#include "gic.h"
#include "guest.h"
#include "sysreg.h"

/* One for each core; see boot.S. */
char stacks[MAX_CORES * STACK_SIZE] __attribute__((aligned(16)));

_Noreturn void start(uint64_t core);

static void start_machine(void) {
    uart_init();
    print("ringfence: %s, %u cores, %u VMs\n", platform.name, (uint64_t)platform.cores,
          (uint64_t)machine_config.vms);
    gic_init();
    vm_init_all();
    input_init();
    trace_init();
    for (uint32_t core = 1; core < platform.cores; core++)
        if (!firmware_core_on(core))
            print("ringfence: core %u does not start\n", (uint64_t)core);
}

void arch_power_off(void) {
    uart_drain();
    firmware_power_off();
    for (;;)
        __asm__ volatile("wfi");
}

void start(uint64_t core) {
    if (core == 0)
        start_machine();
    sysreg_write(tpidr_el2, vm_vcpu_of_core((uint32_t)core));
    gic_start_core((uint32_t)core);
    input_start_core((uint32_t)core);
    guest_init_core();
    vcpu_main();
}
