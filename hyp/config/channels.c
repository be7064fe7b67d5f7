/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Two VMs with a channel, and one without, beside a writer with a reservation; the one that may be
 * busy and never yield is the last, see TURN_US in tests/hyp/machine.py.
 */
#include "../core/config.h"

/* What each does, see the guest. */
#ifndef TAKER
#define TAKER 0
#endif
#ifndef OUTSIDER
#define OUTSIDER 0
#endif
#ifndef SENDER
#define SENDER 0
#endif
#ifndef MESSAGES
#define MESSAGES 200
#endif
#ifndef NUMBER
#define NUMBER 0
#endif
/* 2: those that the outsider's core would be one of; there is no outsider then. */
#ifndef TAKER_VCPUS
#define TAKER_VCPUS 1
#endif
#define VMS (TAKER_VCPUS == 1 ? 4 : 3)
/* The first core's interrupts have their turn at once. */
#ifndef WRITER_CORE
#define WRITER_CORE 0
#endif
#ifndef OUTSIDER_CORE
#define OUTSIDER_CORE 2
#endif
/* Of the outsider. */
#ifndef CLOCK
#define CLOCK .size = 0
#endif
#ifndef CLOCK_INTERRUPT
#define CLOCK_INTERRUPT 0
#endif
/* Of the channel: its ends; its memory; how often. */
#ifndef FIRST
#define FIRST .vm = 1, .interrupt = 34, .guest_address = 0x60000000
#endif
#ifndef SECOND
#define SECOND .vm = VMS - 1, .interrupt = 35, .guest_address = 0x60000000
#endif
#ifndef MEMORY
#define MEMORY .address = 0x4c000000, .size = 0x10000
#endif
#ifndef INTERVAL_NS
#define INTERVAL_NS 100000
#endif
/* Of another channel, which the writer has with the outsider. */
#ifndef OTHER_FIRST
#define OTHER_FIRST .vm = 0, .interrupt = 40
#endif
#ifndef OTHER_SECOND
#define OTHER_SECOND .vm = 2, .interrupt = 40
#endif
#ifndef OTHER_MEMORY
#define OTHER_MEMORY .size = 0
#endif
#ifndef CHANNELS
#define CHANNELS 2
#endif
#ifndef TRACED
#define TRACED .size = 0
#endif
#define PERIOD_NS 100000
#define PERIODS 60

static const struct vm_config vms[] = {
    {
        .name = "writer",
        .entry = 0x40000000,
        .arguments = {PERIOD_NS, PERIODS, 1},
        .memory = {{.guest_address = 0x40000000, .address = 0x44000000, .size = 0x1000000}},
        .cores = {WRITER_CORE},
        .vcpus = 1,
        .reservation = {.budget = 125, .period_ns = PERIOD_NS},
        .statistics = {.guest_address = 0x70000000, .of = 1},
    },
    {
        .name = "taker",
        .entry = 0x40000000,
        .arguments = {TAKER, MESSAGES, NUMBER, 34},
        .memory = {{.guest_address = 0x40000000, .address = 0x48000000, .size = 0x200000}},
        .cores = {1, 2},
        .vcpus = TAKER_VCPUS,
    },
#if TAKER_VCPUS == 1
    {
        .name = "outsider",
        .entry = 0x40000000,
        .arguments = {OUTSIDER, MESSAGES, NUMBER, 34},
        .memory = {{.guest_address = 0x40000000, .address = 0x48200000, .size = 0x200000}},
        .devices = {{CLOCK}},
        .interrupts = {CLOCK_INTERRUPT},
        .cores = {OUTSIDER_CORE},
        .vcpus = 1,
    },
#endif
    {
        .name = "sender",
        .entry = 0x40000000,
        .arguments = {SENDER, MESSAGES, NUMBER, 35},
        .memory = {{.guest_address = 0x40000000, .address = 0x48400000, .size = 0x200000}},
        .cores = {3},
        .vcpus = 1,
    },
};

static const struct channel_config channels[] = {
    {.end = {{FIRST}, {SECOND}}, MEMORY, .interval_ns = INTERVAL_NS},
    {.end = {{OTHER_FIRST}, {OTHER_SECOND}}, OTHER_MEMORY, .interval_ns = 1000},
};

const struct machine_config machine_config = {
    .vm = vms,
    .vms = VMS,
    .channel = channels,
    .channels = CHANNELS,
    .trace = {TRACED},
};
