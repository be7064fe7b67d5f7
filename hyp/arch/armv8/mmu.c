/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "mmu.h"

#include "../../core/arch.h"
#include "../../core/platform.h"
#include "firmware.h"
#include "gic.h"
#include "tables.h"

#define NORMAL (STAGE1_ATTRIBUTE(1) | STAGE1_AP1_RES1 | INNER_SHAREABLE | ACCESSED)
#define DEVICE (STAGE1_ATTRIBUTE(0) | STAGE1_AP1_RES1 | ACCESSED | EXECUTE_NEVER)

/* By the linker. */
extern char image_start[], image_constants[], image_data[], image_end[];

static uint64_t *root;

static void map_own(const char *from, const char *to, uint64_t attributes) {
    tables_map(root, (uintptr_t)from, (uintptr_t)from, (uint64_t)(to - from), attributes);
}

static void map_device(uint64_t address, uint64_t size) {
    tables_map(root, address, address, size, DEVICE);
}

void mmu_build(void) {
    root = tables_new();
    map_own(image_start, image_constants, NORMAL | STAGE1_READ_ONLY);
    map_own(image_constants, image_data, NORMAL | STAGE1_READ_ONLY | EXECUTE_NEVER);
    map_own(image_data, image_end, NORMAL | EXECUTE_NEVER);
    const struct memory_region *trace = &machine_config.trace;
    /* Any other size is refused when we can say so. */
    if (trace->size % REGION_ALIGNMENT == 0)
        tables_map(root, trace->address, trace->address, trace->size, NORMAL | EXECUTE_NEVER);
    arch_own_devices(map_device);
}

void arch_own_devices(void (*own)(uint64_t address, uint64_t size)) {
    own(platform.uart, PAGE_BYTES);
    if (platform.bus_monitor)
        own(platform.bus_monitor, PAGE_BYTES);
    gic_map(own);
    firmware_map(own);
}

/* To memory, from whatever cache has it. */
static void clean(uint64_t address, uint64_t size) {
    uint64_t line_bytes = 4U << CTR_DMIN_LINE(sysreg_read(ctr_el0));
    for (uint64_t line = address; line < address + size; line += line_bytes)
        __asm__ volatile("dc civac, %0" ::"r"(line) : "memory");
}

/*
 * Ours for as long as that takes, and no longer. It is cleaned, as its guests may begin with their
 * caches off.
 */
void arch_clear_memory(uint64_t address, uint64_t size) {
    tables_map(root, address, address, size, NORMAL | EXECUTE_NEVER);
    dsb();
    isb();
    for (uint64_t word = address; word < address + size; word += sizeof(uint64_t))
        *(uint64_t *)(uintptr_t)word = 0;
    clean(address, size);
    dsb();
    tables_map(root, address, address, size, NOT_MAPPED);
    dsb();
    __asm__ volatile("tlbi alle2" ::: "memory");
    dsb();
    isb();
}

void mmu_enable(void) {
    sysreg_write(mair_el2, MAIR_VALUE);
    sysreg_write(tcr_el2, TCR_EL2_RES1 | TCR_T0SZ(INPUT_BITS) | TCR_IRGN0_WBWA | TCR_ORGN0_WBWA |
                              TCR_SH0_INNER | TCR_PS_40_BITS);
    sysreg_write(ttbr0_el2, root);
    __asm__ volatile("ic iallu\n tlbi alle2" ::: "memory");
    dsb();
    isb();
    sysreg_write(sctlr_el2, SCTLR_EL2_RES1 | SCTLR_M | SCTLR_C | SCTLR_I | SCTLR_SA | SCTLR_WXN);
    isb();
}
