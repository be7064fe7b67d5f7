/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The machine's one serial line, a PL011 that the boot loader has set up. Whole lines, from
 * whichever core.
 */
#ifndef RINGFENCE_HYP_CONSOLE_H
#define RINGFENCE_HYP_CONSOLE_H

#include <stdint.h>

/* Prints with %s, %u (uint64_t, decimal) and %x (uint64_t, 16 hexadecimal digits). */
void print(const char *format, ...);
/* The same in one go with what other calls between the two print. */
void console_begin(void);
void console_print(const char *format, ...);
void console_end(void);

#endif
