/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Firmware with PSCI (Arm DEN 0022), as Trusted Firmware-A has, and QEMU in its place. */
#include "../firmware.h"

#include "../../../core/hypercall.h"
#include "../../../core/platform.h"
#include "../psci.h"

extern char secondary_start[];

static uint64_t call(uint64_t function, uint64_t a, uint64_t b, uint64_t c) {
    register uint64_t x0 __asm__("x0") = function;
    register uint64_t x1 __asm__("x1") = a;
    register uint64_t x2 __asm__("x2") = b;
    register uint64_t x3 __asm__("x3") = c;
    /* DEN 0028 2.6: x4 to x17 may change. */
    __asm__ volatile("smc #0"
                     : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3)
                     :
                     : "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15",
                       "x16", "x17", "memory");
    return x0;
}

/* It is called, not written to. */
void firmware_map(void (*map)(uint64_t address, uint64_t size)) {
    (void)map;
}

bool firmware_core_on(uint32_t core) {
    return call(PSCI_CPU_ON | SMCCC_64, platform.affinity[core], (uintptr_t)secondary_start,
                core) == PSCI_SUCCESS;
}

void firmware_power_off(void) {
    call(PSCI_SYSTEM_OFF, 0, 0, 0);
}
