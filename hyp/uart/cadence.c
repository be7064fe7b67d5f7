/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Cadence UART of the Zynq UltraScale+ (AMD UG1085, "UART Controller"; registers: UG1087, module
 * UART).
 */
#include "../core/uart.h"

#include "../core/platform.h"

#define CONTROL 0x00U
#define CONTROL_TXEN (1U << 4)
#define CONTROL_TXDIS (1U << 5)
#define CHANNEL_STS 0x2cU
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
