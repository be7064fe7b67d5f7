/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Cadence UART of the Zynq UltraScale+ (AMD UG1085, "UART Controller"; registers: UG1087, module
 * UART).
 */
#include "../core/uart.h"

#include "../core/platform.h"

#define CONTROL 0x00U
#define CONTROL_RXEN (1U << 2)
#define CONTROL_RXDIS (1U << 3)
#define CONTROL_TXEN (1U << 4)
#define CONTROL_TXDIS (1U << 5)
#define INTRPT_EN 0x08U
#define INTRPT_DIS 0x0cU
#define CHNL_INT_STS 0x14U       /* what is there, until a one is written to it */
#define INTRPT_RTRIG (1U << 0)   /* the FIFO is as full as the level below says */
#define INTRPT_TIMEOUT (1U << 8) /* there is something, and no more comes */
#define INTRPT_ALL 0x3fffU
#define RCVR_FIFO_TRIGGER_LEVEL 0x20U
#define CHANNEL_STS 0x2cU
#define CHANNEL_STS_REMPTY (1U << 1)
#define CHANNEL_STS_TXEMPTY (1U << 3)
#define CHANNEL_STS_TXFULL (1U << 4)
#define CHANNEL_STS_TACTIVE (1U << 11) /* a byte is on its way */
#define TX_RX_FIFO 0x30U

static volatile uint32_t *word(uint32_t offset) {
    return (volatile uint32_t *)(platform.uart + offset);
}

void uart_init(void) {
    *word(CONTROL) = (*word(CONTROL) & ~CONTROL_TXDIS) | CONTROL_TXEN;
}

void uart_receive(void) {
    *word(INTRPT_DIS) = INTRPT_ALL;
    *word(RCVR_FIFO_TRIGGER_LEVEL) = 1;
    *word(CONTROL) = (*word(CONTROL) & ~CONTROL_RXDIS) | CONTROL_RXEN;
    *word(INTRPT_EN) = INTRPT_RTRIG | INTRPT_TIMEOUT;
}

/* What comes from here on interrupts again. */
void uart_receive_begin(void) {
    *word(CHNL_INT_STS) = INTRPT_RTRIG | INTRPT_TIMEOUT;
}

int32_t uart_get(void) {
    if (*word(CHANNEL_STS) & CHANNEL_STS_REMPTY)
        return UART_NOTHING;
    return (uint8_t)*word(TX_RX_FIFO);
}

void uart_put(char byte) {
    while (*word(CHANNEL_STS) & CHANNEL_STS_TXFULL)
        continue;
    *word(TX_RX_FIFO) = (uint8_t)byte;
}

void uart_drain(void) {
    while ((*word(CHANNEL_STS) & (CHANNEL_STS_TXEMPTY | CHANNEL_STS_TACTIVE)) !=
           CHANNEL_STS_TXEMPTY)
        continue;
}
