/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A bus monitor (hyp/core/bus_monitor.h) as a plugin of QEMU's: each core has a model of its own L1
 * data cache, and the lines that guests have moved in and out of it are counted. It stands in for
 * the PMU's event BUS_ACCESS, which QEMU does not count.
 *
 *   -plugin libbus_monitor.so,ram=FILE,start=ADDRESS,page=ADDRESS,guests=ADDRESS,end=ADDRESS
 *
 * FILE is the machine's RAM (memory-backend-file, share=on), which begins at `start`; the monitor is
 * at `page`. Only accesses to memory from `guests` up to `end` are seen: the hypervisor has none there.
 *
 * The cache is that of a Cortex-A53 with 32 KiB (Arm DDI 0500, 2.1.6 and 6.1): 4 ways, lines of 64
 * bytes, physical addresses, write-back. It differs in that it takes the least recently used line
 * where Arm's choice is pseudo-random, always allocates for a write, where Arm's stops doing so
 * when whole lines are written in a row, fills whatever other cores have, and sees neither page
 * walks nor maintenance, DC ZVA included, as QEMU shows it none.
 *
 * An interrupt reaches the core at the end of the block of instructions that QEMU has translated
 * together: at the next branch, and after 512 instructions at most.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../hyp/core/bus_monitor.h"
#include "qemu_device.h"
#include "qemu_plugin.h"

#define CORES 8U
#define LINE_BYTES 64U
#define WAYS 4U
#define SETS (32U * 1024 / LINE_BYTES / WAYS)
#define PAGE_BYTES 4096U
/* QEMU's `virt` (hw/arm/virt.c): inputs of the interrupt controller are those that cores share, then 32 of
 * each core, by the interrupt's number. */
#define SHARED_INPUTS 256
#define INTERRUPT 22
#define PRIVATE_INPUT(core) (SHARED_INPUTS + (int)(core) * 32 + INTERRUPT)

struct line {
    uint64_t number; /* address / LINE_BYTES */
    bool is_valid;
    bool is_dirty;
};

int qemu_plugin_version = QEMU_PLUGIN_VERSION;

/* The ways of a set: the one that was used last comes first. */
static struct line caches[CORES][SETS][WAYS];
static volatile struct bus_monitor_core *cores;
static struct {
    bool is_up;
    bool is_changing;
} interrupts[CORES];

static struct options {
    const char *ram;
    uint64_t start;
    uint64_t page;
    uint64_t guests;
    uint64_t end;
} options;

static bool is_over(unsigned core) {
    uint64_t limit = cores[core].limit;
    return limit && cores[core].fills + cores[core].write_backs >= limit;
}

/* Between blocks, as with every device. */
static void change_interrupt(CPUState *cpu, run_on_cpu_data data) {
    (void)cpu;
    unsigned core = (unsigned)data.target_ptr;
    interrupts[core].is_changing = false;
    interrupts[core].is_up = is_over(core);
    DeviceState *controller = object_resolve_path_type("", "arm-gicv3", NULL);
    qemu_set_irq(qdev_get_gpio_in(controller, PRIVATE_INPUT(core)), interrupts[core].is_up);
}

/* Its counts or its limit are others. */
static void update(unsigned core) {
    if (is_over(core) == interrupts[core].is_up || interrupts[core].is_changing)
        return;
    interrupts[core].is_changing = true;
    async_run_on_cpu(qemu_get_cpu((int)core), change_interrupt,
                     (run_on_cpu_data){.target_ptr = core});
}

/* An access to a line. */
static void touch(unsigned core, uint64_t number, bool is_store) {
    struct line *set = caches[core][number % SETS];
    unsigned way = 0;
    while (way < WAYS - 1 && !(set[way].is_valid && set[way].number == number))
        way++;
    struct line line = set[way];
    if (!line.is_valid || line.number != number) {
        if (line.is_valid && line.is_dirty)
            cores[core].write_backs++;
        cores[core].fills++;
        line = (struct line){.number = number, .is_valid = true};
    }
    line.is_dirty |= is_store;
    memmove(&set[1], &set[0], way * sizeof(*set));
    set[0] = line;
    update(core);
}

/* The line that an address is in, if it is in guests' memory; or the monitor itself. */
static void access_line(unsigned core, qemu_plugin_meminfo_t info, uint64_t vaddr) {
    const struct qemu_plugin_hwaddr *address = qemu_plugin_get_hwaddr(info, vaddr);
    if (!address || qemu_plugin_hwaddr_is_io(address))
        return;
    uint64_t physical = qemu_plugin_hwaddr_phys_addr(address);
    if (physical >= options.guests && physical < options.end)
        touch(core, physical / LINE_BYTES, qemu_plugin_mem_is_store(info));
    else if (physical - options.page < CORES * sizeof(*cores))
        update((unsigned)((physical - options.page) / sizeof(*cores)));
}

static void on_access(unsigned core, qemu_plugin_meminfo_t info, uint64_t vaddr, void *userdata) {
    (void)userdata;
    uint64_t last = vaddr + (1ULL << qemu_plugin_mem_size_shift(info)) - 1;
    access_line(core, info, vaddr);
    if (last / LINE_BYTES != vaddr / LINE_BYTES)
        access_line(core, info, last);
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    for (size_t n = 0; n < qemu_plugin_tb_n_insns(tb); n++)
        qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(tb, n), on_access,
                                         QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW, NULL);
}

static bool read_address(const char *text, uint64_t *address) {
    char *end;
    errno = 0;
    *address = strtoull(text, &end, 0);
    return errno == 0 && *text && !*end;
}

static bool read_option(char *option) {
    char *value = strchr(option, '=');
    if (!value)
        return false;
    *value++ = 0;
    if (strcmp(option, "ram") == 0) {
        options.ram = value;
        return true;
    }
    struct {
        const char *name;
        uint64_t *address;
    } known[] = {{"start", &options.start},
                 {"page", &options.page},
                 {"guests", &options.guests},
                 {"end", &options.end}};
    for (size_t n = 0; n < sizeof(known) / sizeof(*known); n++)
        if (strcmp(option, known[n].name) == 0)
            return read_address(value, known[n].address);
    return false;
}

static bool map_page(void) {
    int file = open(options.ram, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return false;
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file,
                      (off_t)(options.page - options.start));
    close(file);
    cores = page;
    return page != MAP_FAILED;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv) {
    for (int n = 0; n < argc; n++)
        if (!read_option(argv[n])) {
            fprintf(
                stderr,
                "bus_monitor: found %s, expected ram=FILE or start, page, guests, end=ADDRESS\n",
                argv[n]);
            return 1;
        }
    if (!options.ram || options.page < options.start || options.guests >= options.end) {
        fprintf(stderr, "bus_monitor: expected ram=FILE, start <= page, guests < end\n");
        return 1;
    }
    if (!info->system_emulation || info->system.max_vcpus > (int)CORES) {
        fprintf(stderr, "bus_monitor: expected a machine of at most %u cores\n", CORES);
        return 1;
    }
    if (!map_page()) {
        fprintf(stderr, "bus_monitor: %s: %s\n", options.ram, strerror(errno));
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
