/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* PrimeCell UART (PL011) TRM, Arm DDI 0183, 3.3: data, flags, control, interrupts. */
#include "../core/uart.h"

#include "../core/platform.h"

#define UARTDR 0x000U
#define UARTDR_ERRORS (7U << 8) /* of the character: framing, parity, break */
#define UARTFR 0x018U
#define UARTFR_BUSY (1U << 3) /* there is something to send */
#define UARTFR_RXFE (1U << 4) /* nothing received */
#define UARTFR_TXFF (1U << 5) /* transmit FIFO full */
#define UARTLCR_H 0x02cU
#define UARTLCR_H_FEN (1U << 4) /* FIFOs on */
#define UARTCR 0x030U
#define UARTCR_UARTEN (1U << 0)
#define UARTCR_TXE (1U << 8) /* transmit enable */
#define UARTCR_RXE (1U << 9)
#define UARTIMSC 0x038U
#define UARTIMSC_RX (1U << 4) /* the FIFO is as full as the firmware has set */
#define UARTIMSC_RT (1U << 6) /* there is something, and no more comes */

static volatile uint32_t *word(uint32_t offset) {
    return (volatile uint32_t *)(platform.uart + offset);
}

void uart_init(void) {
    *word(UARTCR) |= UARTCR_UARTEN | UARTCR_TXE;
}

/* The line is set while the UART is off (3.3.8), which it may be when all is sent. */
void uart_receive(void) {
    uart_drain();
    *word(UARTCR) &= ~UARTCR_UARTEN;
    *word(UARTLCR_H) |= UARTLCR_H_FEN;
    *word(UARTCR) |= UARTCR_UARTEN | UARTCR_RXE;
    *word(UARTIMSC) = UARTIMSC_RX | UARTIMSC_RT;
}

/* Both interrupts are there for as long as their reason is. */
void uart_receive_begin(void) {
}

int32_t uart_get(void) {
    while (!(*word(UARTFR) & UARTFR_RXFE)) {
        uint32_t data = *word(UARTDR);
        if (!(data & UARTDR_ERRORS))
            return (uint8_t)data;
    }
    return UART_NOTHING;
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
