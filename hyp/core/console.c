/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "console.h"

#include "arch.h"
#include "uart.h"

#include <stdarg.h>

static struct lock console_lock;
static const void *left_open; /* whose line has not ended; null: nobody's */

static void put_text(const char *text) {
    while (*text)
        uart_put(*text++);
}

static void put_decimal(uint64_t value) {
    char digits[20];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        uart_put(digits[--count]);
}

static void put_hexadecimal(uint64_t value) {
    put_text("0x");
    for (int32_t shift = 60; shift >= 0; shift -= 4)
        uart_put("0123456789abcdef"[(value >> shift) & 15]);
}

static void put_formatted(const char *format, va_list arguments) {
    for (; *format; format++) {
        if (*format == '\n') {
            put_text("\r\n");
        } else if (*format != '%') {
            uart_put(*format);
        } else if (*++format == 's') {
            put_text(va_arg(arguments, const char *));
        } else if (*format == 'u') {
            put_decimal(va_arg(arguments, uint64_t));
        } else {
            put_hexadecimal(va_arg(arguments, uint64_t));
        }
    }
}

bool console_continue(const void *whose) {
    lock(&console_lock);
    if (left_open == whose)
        return true;
    if (left_open)
        console_print("\n");
    return false;
}

void console_pause(const void *whose) {
    left_open = whose;
    unlock(&console_lock);
}

void console_begin(void) {
    console_continue(0);
    left_open = 0;
}

void console_end(void) {
    unlock(&console_lock);
}

void console_print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    put_formatted(format, arguments);
    va_end(arguments);
}

void print(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    console_begin();
    put_formatted(format, arguments);
    console_end();
    va_end(arguments);
}
