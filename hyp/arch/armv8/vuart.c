/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "vuart.h"

#include "guest_map.h"
#include "tables.h"

#define UART_DR 0x000U
#define UART_FR 0x018U
#define UART_FR_RXFE (1U << 4) /* nothing received */
#define UART_FR_TXFE (1U << 7) /* all sent */

bool vuart_has(uint64_t address) {
    return address - GUEST_UART < PAGE_BYTES;
}

uint64_t vuart_read(uint64_t address) {
    return address - GUEST_UART == UART_FR ? UART_FR_RXFE | UART_FR_TXFE : 0;
}

void vuart_write(struct vm *vm, uint64_t address, uint64_t value) {
    if (address - GUEST_UART == UART_DR)
        vm_console(vm, (char)value);
}
