/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* PrimeCell UART (PL011) TRM, Arm DDI 0183, 3.3: data, flags, control. */
#include "../core/uart.h"

#include "../core/platform.h"

#define UARTDR 0x000U
#define UARTFR 0x018U
#define UARTFR_BUSY (1U << 3) /* there is something to send */
#define UARTFR_TXFF (1U << 5) /* transmit FIFO full */
#define UARTCR 0x030U
#define UARTCR_UARTEN (1U << 0)
#define UARTCR_TXE (1U << 8) /* transmit enable */

static volatile uint32_t *word(uint32_t offset) {
    return (volatile uint32_t *)(platform.uart + offset);
}

void uart_init(void) {
    *word(UARTCR) |= UARTCR_UARTEN | UARTCR_TXE;
}

void uart_put(char byte) {
    while (*word(UARTFR) & UARTFR_TXFF)
        continue;
    *word(UARTDR) = (uint8_t)byte;
}

void uart_drain(void) {
    while (*word(UARTFR) & UARTFR_BUSY)
        continue;
}
