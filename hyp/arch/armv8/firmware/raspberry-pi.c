/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The firmware of a Raspberry Pi has no PSCI. Its stub (raspberrypi/tools, armstubs/armstub8.S)
 * holds all cores but the first in a loop until their word of the spin table is the address to go
 * on at. The machine is turned off as Linux does it (drivers/watchdog/bcm2835_wdt.c): the watchdog
 * resets it, and the firmware, which comes to itself again, is told to halt. The power manager's
 * registers are in no manual.
 */
#include "../firmware.h"

#include "../../../core/platform.h"
#include "../sysreg.h"
#include "../tables.h"

#define PM_RSTC 0x1cU
#define PM_RSTC_RESET_MASK 0x30U
#define PM_RSTC_FULL_RESET 0x20U
#define PM_RSTS 0x20U
#define PM_RSTS_HALT 0x555U /* partition 63, in every other bit: none to boot from */
#define PM_WDOG 0x24U
#define PM_WDOG_TICKS 10U /* 1/65536 s each */
#define PM_PASSWORD 0x5a000000U

/* A core comes here with nothing in its registers: its affinity is its number. */
__asm__(".pushsection .text\n"
        "released: mrs x0, mpidr_el1\n"
        "    and x0, x0, #0xff\n"
        "    b secondary_start\n"
        ".popsection\n");
extern char released[];

static volatile uint32_t *power_manager(uint32_t offset) {
    return (volatile uint32_t *)(platform.power_manager + offset);
}

/* Also the spin table, which is RAM: cores read it past all caches, and so must it be written. */
void firmware_map(void (*map)(uint64_t address, uint64_t size)) {
    map(platform.spin_table / PAGE_BYTES * PAGE_BYTES, PAGE_BYTES);
    map(platform.power_manager, PAGE_BYTES);
}

bool firmware_core_on(uint32_t core) {
    volatile uint64_t *spin_table = (volatile uint64_t *)platform.spin_table;
    spin_table[core] = (uintptr_t)released;
    dsb();
    __asm__ volatile("sev");
    return true;
}

void firmware_power_off(void) {
    uint32_t control = *power_manager(PM_RSTC) & ~PM_RSTC_RESET_MASK;
    *power_manager(PM_RSTS) = PM_PASSWORD | *power_manager(PM_RSTS) | PM_RSTS_HALT;
    *power_manager(PM_WDOG) = PM_PASSWORD | PM_WDOG_TICKS;
    *power_manager(PM_RSTC) = PM_PASSWORD | control | PM_RSTC_FULL_RESET;
}
