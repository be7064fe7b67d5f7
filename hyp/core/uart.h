/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The serial line. An image has the driver of its platform's (platform.mk): one of hyp/uart. */
#ifndef RINGFENCE_HYP_UART_H
#define RINGFENCE_HYP_UART_H

/* Makes sure that it sends. How fast, the firmware has set. */
void uart_init(void);
/* Waits until there is room for the byte. */
void uart_put(char byte);
/* Waits until all is sent. */
void uart_drain(void);

#endif
