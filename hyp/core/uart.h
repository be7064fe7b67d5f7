/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The serial line. An image has the driver of its platform's (platform.mk): one of hyp/uart. */
#ifndef RINGFENCE_HYP_UART_H
#define RINGFENCE_HYP_UART_H

#include <stdint.h>

/* Makes sure that it sends. How fast, the firmware has set. */
void uart_init(void);
/* Has it interrupt when something was received. */
void uart_receive(void);
/* That interrupt has come: before anything is got. */
void uart_receive_begin(void);
/* The next character without errors. */
#define UART_NOTHING (-1)
int32_t uart_get(void);
/* Waits until there is room for the byte. */
void uart_put(char byte);
/* Waits until all is sent. */
void uart_drain(void);

#endif
