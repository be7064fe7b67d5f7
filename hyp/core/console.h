/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The machine's one serial line, which the boot loader has set up. Whole lines, from whichever core,
 * but for one at a time that goes on until others print.
 */
#ifndef RINGFENCE_HYP_CONSOLE_H
#define RINGFENCE_HYP_CONSOLE_H

#include <stdbool.h>
#include <stdint.h>

/* Prints with %s, %u (uint64_t, decimal) and %x (uint64_t, 16 hexadecimal digits). */
void print(const char *format, ...);
/* The same in one go with what other calls between the two print. */
void console_begin(void);
void console_print(const char *format, ...);
void console_end(void);
/* The same for a part of a line, which is somebody's. False: the line is not where that has left it. */
bool console_continue(const void *whose);
/* Ends it there; null: the line has ended. */
void console_pause(const void *whose);

#endif
