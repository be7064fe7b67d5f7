/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Reads what is typed, and says what that was; at `off` it turns its VM off.
 *
 * Arguments: how it reads, by the number below; the vCPU that gets the serial line's interrupt.
 */
#include "guest.h"

/* Arm DDI 0183 (PL011), 3.3: data, status, flags, line control, levels, and interrupts: mask, raw,
 * clear. */
#define UART 0x09000000U
#define UARTDR 0x00U
#define UARTRSR 0x04U
#define UARTFR 0x18U
#define UARTFR_RXFE (1U << 4)
#define UARTFR_RXFF (1U << 6)
#define UARTLCR_H 0x2cU
#define UARTLCR_H_FEN (1U << 4)
#define UARTIFLS 0x34U
#define UARTIMSC 0x38U
#define UARTRIS 0x3cU
#define UARTICR 0x44U
#define UARTPERIPHID0 0xfe0U
#define RECEIVED (1U << 4)
#define RECEIVE_TIMEOUT (1U << 6)
#define OVERRUN (1U << 10)
#define INTERRUPT 33U
#define LINE_BYTES 200U
#define LONG_LINE 1200U
#define WHILE_NS 2000000U
#define SO_FAR 16384U /* said of a flood */

enum way {
    POLLS,    /* with the interrupts on, which it masks until it has read a line */
    TOLD,     /* by an interrupt for each character, of which it reads one */
    IN_LOTS,  /* by an interrupt when its FIFO is half full, and for nothing else */
    LATE,     /* only when something was lost */
    DEAF,     /* never, with all interrupts on, none of which it answers for a while */
    COUNTS,   /* as fast as it can, until there is a q; and says only how much that was */
    IDENTIFY, /* nothing: what its UART says that it is; and prints a line that is too long */
};

static uint64_t way, target;
static volatile uint64_t taken, others, length, sixteen, end_ns;
static char line[LINE_BYTES];

static volatile uint32_t *uart(uint64_t offset) {
    return (volatile uint32_t *)(UART + offset);
}

/* No load that also moves on: a hypervisor is not told what that would read. */
static uint64_t identification(uint64_t n) {
    uint32_t value;
    __asm__ volatile("ldr %w0, [%1]" : "=r"(value) : "r"(uart(UARTPERIPHID0 + n * 4)));
    return value;
}

static bool has_received(void) {
    return !(*uart(UARTFR) & UARTFR_RXFE);
}

static uint32_t next(void) {
    while (!has_received())
        __asm__ volatile("yield");
    return *uart(UARTDR);
}

/* Whether it was `off`. */
static bool say(const char *how) {
    line[length] = 0;
    print("%s %s\n", how, line);
    bool is_off = length == 3 && line[0] == 'o' && line[1] == 'f' && line[2] == 'f';
    length = 0;
    return is_off;
}

static bool is_end(char character) {
    return character == '\r' || character == '\n';
}

static void add(char character) {
    if (length < LINE_BYTES - 1)
        line[length++] = character;
}

static void polls(void) {
    __asm__ volatile("msr daifset, #2");
    for (;;) {
        char character = (char)next();
        if (!is_end(character)) {
            add(character);
            continue;
        }
        __asm__ volatile("msr daifclr, #2\n isb\n msr daifset, #2");
        *uart(UARTIMSC) = RECEIVED | RECEIVE_TIMEOUT;
        if (say("polled:"))
            return;
    }
}

void interrupt(void) {
    uint64_t got = interrupt_take();
    if (INTERRUPT_NUMBER(got) != INTERRUPT)
        print("interrupt %u\n", INTERRUPT_NUMBER(got));
    taken++;
    if (way == TOLD && has_received()) {
        add((char)*uart(UARTDR));
        others |= guest_sysreg_read(mpidr_el1) % 256 != target;
    } else if (way == POLLS && has_received()) {
        *uart(UARTIMSC) = 0; /* it is for the next line */
    } else if (way == TOLD || way == POLLS) {
        print("an interrupt for nothing\n");
    } else if (way == IN_LOTS) {
        while (has_received())
            add((char)*uart(UARTDR));
        if (!sixteen)
            sixteen = length;
    } else if (way == DEAF && now_ns() > end_ns) {
        *uart(UARTIMSC) = 0; /* nothing else of it gets to run */
    }
    interrupt_end(got);
}

void secondary(uint64_t vcpu) {
    interrupts_on(vcpu, 0);
    for (;;)
        __asm__ volatile("wfi");
}

/* The line's end is not said, nor taken for an interrupt more. */
static void told(void) {
    for (;;) {
        uint64_t so_many = length;
        if (!so_many || !is_end(line[so_many - 1])) {
            __asm__ volatile("yield");
            continue;
        }
        length = so_many - 1;
        print("%s by %u interrupts, %s: ", "told", taken, others ? "elsewhere" : "where it wants");
        taken = 0;
        if (say(""))
            return;
    }
}

static void late(void) {
    while (!(*uart(UARTRIS) & OVERRUN))
        __asm__ volatile("yield");
    uint64_t waited = 0, marked = 0;
    uint32_t full = *uart(UARTFR) & UARTFR_RXFF;
    for (; has_received(); waited++)
        marked |= *uart(UARTDR) >> 8;
    print("%u waited, full %x, marked %x, state %x\n", waited, (uint64_t)full, marked,
          (uint64_t)*uart(UARTRSR));
    *uart(UARTRSR) = 0;
    *uart(UARTICR) = OVERRUN;
    print("then state %x, raw %x\n", (uint64_t)*uart(UARTRSR),
          (uint64_t)(*uart(UARTRIS) & OVERRUN));
    uint64_t first = next(), second = next();
    print("next %x, %x\n", first, second);
}

static void deaf(void) {
    while (now_ns() <= end_ns)
        __asm__ volatile("yield");
    print("deaf: %s\n", taken > 100 ? "many" : "few");
}

/* What comes first is to be less than half. */
static void in_lots(void) {
    while (!has_received())
        __asm__ volatile("yield");
    for (uint64_t until_ns = now_ns() + WHILE_NS; now_ns() < until_ns;)
        __asm__ volatile("yield");
    print("less than half: raw %x, %u interrupts\n", (uint64_t)*uart(UARTRIS), taken);
    while (!taken)
        __asm__ volatile("yield");
    print("half: %s\n", sixteen >= 16 ? "sixteen or more" : "fewer");
}

static void counts(void) {
    uint64_t read = 0;
    while ((next() & 0xff) != 'q')
        if (++read == SO_FAR)
            print("%u so far\n", read);
    print("%u read\n", read);
}

static void identify(void) {
    uint64_t id = 0;
    for (uint32_t n = 0; n < 8; n++)
        id |= identification(n) << n * 8;
    print("it is %x, flags %x, raw %x\n", id, (uint64_t)*uart(UARTFR), (uint64_t)*uart(UARTRIS));
    for (uint32_t n = 0; n < LONG_LINE; n++)
        print("x");
    print("\n");
}

void main(uint64_t how, uint64_t vcpu, uint64_t c, uint64_t d) {
    (void)c, (void)d;
    way = how;
    target = vcpu;
    end_ns = now_ns() + WHILE_NS;
    if (way == IDENTIFY)
        return identify();
    interrupts_on(0, 0);
    if (target && !vcpu_on(target))
        print("vCPU %u does not start\n", target);
    shared_send_to(INTERRUPT, target);
    shared_set(INTERRUPT, true);
    *uart(UARTIMSC) = way == TOLD || way == POLLS ? RECEIVED | RECEIVE_TIMEOUT
                      : way == IN_LOTS            ? RECEIVED
                      : way == DEAF               ? ~0U
                                                  : 0;
    print("ready\n");
    if (way == POLLS)
        polls();
    else if (way == TOLD)
        told();
    else if (way == LATE)
        late();
    else if (way == DEAF)
        deaf();
    else if (way == COUNTS)
        counts();
    else
        in_lots();
}
