/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * An end of a channel with memory: sends messages through a ring in it, takes them, or does what it
 * should not.
 *
 * Arguments: what to do, by its number below; how many messages; number of the channel; the
 * interrupt by which the other end notifies this one.
 */
#include "guest.h"

#define HYPERCALL_NOTIFY 0xc6000002U
#define NO_VM ((uint64_t)-3)
#define TOO_SOON ((uint64_t)-8)
/* Where the memory is, as its configurations have it, and how much. */
#define SHARED 0x60000000U
#define SHARED_BYTES 0x10000U
#define SLOTS 16U
#define TIMER 27U
/* Arm IHI 0048B, 4.3: the distributor's registers of a bit an interrupt. */
#define DISTRIBUTOR 0x08000000U
#define BIT_REGISTERS 0x80U
#define PRIORITIES 0x400U
#define ICPENDR 0x280U
#define ISPENDR 0x200U
#define ISACTIVER 0x300U
#define ICFGR 0xc00U
#define NOBODY 7U /* no vCPU */
#define FLOOD_NS 4000000U
#define LISTEN_NS 5000000U
#define WHILE_NS 50000U /* longer than an interrupt takes */
#define LONG_NS 1000000U

enum deed {
    NOTHING,
    SEND,
    TAKE,
    FLOOD,
    FLOOD_GENTLY, /* others have their turn after each call */
    IDLE,         /* the same without calls */
    LISTEN,
    LISTEN_MASKED,
    LISTEN_LATE,
    NOTIFY_ONCE,
    READ,
    WRITE,
    RUN,
    WAKE,  /* vCPU 1, which was off when it was notified */
    MOVE,  /* to vCPU 0, what vCPU 1 was off for */
    POKE,  /* its interrupt's own registers */
    TOUCH, /* writes them all the time */
    LOOK,  /* reads them all the time */
};

/* Each word that one end writes has a cache line of its own. */
struct ring {
    uint64_t sent __attribute__((aligned(64)));
    uint64_t taken __attribute__((aligned(64)));
    uint64_t slot[SLOTS] __attribute__((aligned(64)));
};

static struct ring *const ring = (struct ring *)(uintptr_t)SHARED;
static uint64_t channel, number;
static volatile uint64_t notifications, taker;
static volatile bool is_over;

void interrupt(void) {
    uint64_t got = interrupt_take();
    if (INTERRUPT_NUMBER(got) == TIMER) {
        guest_sysreg_write(cntv_ctl_el0, 0);
        __asm__ volatile("isb");
        is_over = true;
    } else if (INTERRUPT_NUMBER(got) == number) {
        notifications++;
        taker = guest_sysreg_read(mpidr_el1) & 0xff;
    } else {
        print("interrupt %u\n", INTERRUPT_NUMBER(got));
    }
    interrupt_end(got);
}

static void mask(void) {
    __asm__ volatile("msr daifset, #2" ::: "memory");
}

static void unmask(void) {
    __asm__ volatile("msr daifclr, #2\n isb" ::: "memory");
}

/* Sleeps while the word is as before; masked, so that no notification comes before the sleep. */
static void wait_while(const uint64_t *word, uint64_t is) {
    mask();
    while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == is) {
        __asm__ volatile("wfi");
        unmask();
        mask();
    }
    unmask();
}

static void pause(uint64_t length_ns) {
    for (uint64_t end_ns = now_ns() + length_ns; now_ns() < end_ns;)
        __asm__ volatile("yield");
}

/* As soon as it may. */
static void notify(void) {
    for (;;) {
        struct results results = call_for_two(HYPERCALL_NOTIFY, channel, 0, 0);
        if (results.x0 != TOO_SOON)
            return;
        while (now_ns() < results.x1)
            __asm__ volatile("yield");
    }
}

/* That of another number is another one. */
static uint64_t message(uint64_t n) {
    return (n + 1) * 0x9e3779b97f4a7c15U;
}

static void send_all(uint64_t messages) {
    for (uint64_t sent = 0; sent < messages; sent++) {
        wait_while(&ring->taken, sent - SLOTS);
        ring->slot[sent % SLOTS] = message(sent);
        __atomic_store_n(&ring->sent, sent + 1, __ATOMIC_RELEASE);
        notify();
    }
    for (uint64_t taken; (taken = __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE)) < messages;)
        wait_while(&ring->taken, taken);
    print("%u sent\n", messages);
}

static void take_all(uint64_t messages) {
    uint64_t wrong = 0;
    for (uint64_t taken = 0; taken < messages; taken++) {
        wait_while(&ring->sent, taken);
        wrong += ring->slot[taken % SLOTS] != message(taken);
        __atomic_store_n(&ring->taken, taken + 1, __ATOMIC_RELEASE);
        notify();
    }
    print("%u taken, %u wrong\n", messages, wrong);
}

static void flood(enum deed how) {
    uint64_t calls = 0, refused = 0, to_nobody = 0;
    for (uint64_t end_ns = now_ns() + FLOOD_NS; now_ns() < end_ns; calls++) {
        uint64_t result = how == IDLE ? 0 : call(HYPERCALL_NOTIFY, channel, 0, 0);
        refused += result == TOO_SOON;
        to_nobody += result == NO_VM;
        if (how != FLOOD)
            __asm__ volatile("yield");
    }
    print("%u calls, %u too soon, %u to nobody\n", calls, refused, to_nobody);
}

/* Longer than a flood: at once; masked until the end; with its interrupt off until the end. */
static void listen(enum deed how) {
    uint64_t ticks = LISTEN_NS / 1000 * guest_sysreg_read(cntfrq_el0) / 1000000;
    guest_sysreg_write(cntv_cval_el0, guest_sysreg_read(cntvct_el0) + ticks);
    guest_sysreg_write(cntv_ctl_el0, 1);
    if (how == LISTEN_MASKED) {
        mask();
        while (!(guest_sysreg_read(cntv_ctl_el0) & 4)) /* it is due */
            __asm__ volatile("yield");
    } else {
        while (!is_over)
            __asm__ volatile("wfi");
    }
    uint64_t before = notifications;
    unmask();
    while (!is_over)
        continue;
    shared_set(number, true);
    pause(WHILE_NS);
    print("%u notifications, %u more at the end\n", before, notifications - before);
}

static void notify_once(void) {
    struct results results = call_for_two(HYPERCALL_NOTIFY, channel, 0, 0);
    int64_t result = (int64_t)results.x0;
    print("result %s%u\n", result < 0 ? "-" : "", (uint64_t)(result < 0 ? -result : result));
}

static void look_for_zeros(void) {
    uint64_t others = 0;
    for (uint64_t at = 0; at < SHARED_BYTES; at += sizeof(uint64_t))
        others += *(volatile uint64_t *)(uintptr_t)(SHARED + at) != 0;
    print("%u words that are not zero\n", others);
}

static void report_after(uint64_t length_ns, const char *when) {
    pause(length_ns);
    print("%s: pending %u, taken %u by vCPU %u\n", when, (uint64_t)shared_is_pending(number),
          notifications, taker);
}

static void report(const char *when) {
    report_after(WHILE_NS, when);
}

static void wait_until_pending(void) {
    while (!shared_is_pending(number))
        __asm__ volatile("yield");
}

void secondary(uint64_t vcpu) {
    interrupts_on(vcpu, 0);
    for (;;)
        __asm__ volatile("wfi");
}

static volatile uint32_t *word(uint64_t offset) {
    return (volatile uint32_t *)(DISTRIBUTOR + offset + number / 32 * 4);
}

static void wake_or_move(enum deed how) {
    wait_until_pending();
    report("asleep");
    if (how == WAKE && !vcpu_on(1))
        print("it does not start\n");
    if (how == MOVE)
        shared_send_to(number, 0);
    report_after(LONG_NS, how == WAKE ? "awake" : "moved");
    if (how == MOVE)
        return;
    shared_set(number, false);
    *word(ISPENDR) = 1U << number % 32;
    report("off");
    shared_set(number, true);
    report("on again");
}

static volatile uint32_t *trigger(void) {
    return (volatile uint32_t *)(DISTRIBUTOR + ICFGR + number / 16 * 4);
}

static void poke(void) {
    uint32_t bit = 1U << number % 32;
    *trigger() = 0;
    print("trigger %u\n", (uint64_t)(*trigger() >> number % 16 * 2 & 3));
    *word(ISPENDR) = bit;
    report("set");
    *word(ICPENDR) = bit;
    report("cleared");
    *word(ISPENDR) = bit;
    shared_set(number, true);
    report("on");
    shared_send_to(number, NOBODY);
    *word(ISPENDR) = bit;
    report("to nobody");
    shared_send_to(number, 0);
    report("to vCPU 0");
}

static void touch(void) {
    uint32_t bit = 1U << number % 32;
    for (uint64_t end_ns = now_ns() + FLOOD_NS; now_ns() < end_ns;) {
        __asm__ volatile("yield");
        *trigger() = ~0U;
        for (uint64_t offset = BIT_REGISTERS; offset < PRIORITIES; offset += BIT_REGISTERS) {
            if (offset != ICPENDR) /* it would undo the one before */
                *word(offset) = bit;
            __asm__ volatile("" : "+r"(offset)); /* no store that changes its base is emulated */
        }
    }
    print("still here\n");
}

static void look(void) {
    uint64_t seen = 0;
    for (uint64_t end_ns = now_ns() + FLOOD_NS; now_ns() < end_ns;) {
        __asm__ volatile("yield");
        seen |= *word(ISPENDR) | *word(ISACTIVER);
    }
    print("seen %x\n", seen);
}

void main(uint64_t deed, uint64_t messages, uint64_t which, uint64_t interrupt_number) {
    channel = which;
    number = interrupt_number;
    interrupts_on(0, 1U << TIMER);
    if (deed == WAKE || deed == MOVE)
        shared_send_to(number, 1);
    if (deed != LISTEN_LATE && deed != POKE)
        shared_set(number, true);
    switch (deed) {
    case SEND:
        send_all(messages);
        break;
    case TAKE:
        take_all(messages);
        break;
    case FLOOD:
    case FLOOD_GENTLY:
    case IDLE:
        flood(deed);
        break;
    case LISTEN:
    case LISTEN_MASKED:
    case LISTEN_LATE:
        listen(deed);
        break;
    case NOTIFY_ONCE:
        notify_once();
        break;
    case READ:
        look_for_zeros();
        break;
    case WRITE:
        ring->sent = 1;
        print("still here\n");
        break;
    case RUN:
        ((void (*)(void))(uintptr_t)SHARED)();
        break;
    case WAKE:
    case MOVE:
        wake_or_move(deed);
        break;
    case POKE:
        poke();
        break;
    case TOUCH:
        touch();
        break;
    case LOOK:
        look();
        break;
    }
}
