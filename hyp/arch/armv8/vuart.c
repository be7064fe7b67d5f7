/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Registers and interrupts are those of the PrimeCell UART (PL011) TRM, Arm DDI 0183, 3.3, but for what
 * a line that is none has no use for: speed, modem, DMA. The FIFO for what is received is longer than
 * the PL011's 32 characters, so that a vCPU that stands still for some periods loses nothing.
 */
#include "vuart.h"

#include "../../core/arch.h"
#include "guest_map.h"
#include "tables.h"
#include "vgic_shared.h"

#define UARTDR 0x000U
#define UARTDR_OE (1U << 11) /* something before this character was lost */
#define UARTRSR 0x004U       /* to read; any write clears it */
#define UARTRSR_OE (1U << 3)
#define UARTFR 0x018U
#define UARTFR_RXFE (1U << 4) /* nothing received */
#define UARTFR_RXFF (1U << 6) /* no more can be */
#define UARTFR_TXFE (1U << 7) /* all sent */
#define UARTIBRD 0x024U
#define UARTFBRD 0x028U
#define UARTLCR_H 0x02cU
#define UARTLCR_H_FEN (1U << 4)  /* FIFOs on */
#define UARTLCR_H_8BIT (3U << 5) /* of a character */
#define UARTCR 0x030U
#define UARTCR_UARTEN (1U << 0)
#define UARTCR_TXE (1U << 8)
#define UARTCR_RXE (1U << 9)
#define UARTIFLS 0x034U
#define UARTIFLS_RX(levels) ((levels) >> 3 & 7U)
#define UARTIFLS_HALF 0x12U /* both FIFOs */
#define UARTIMSC 0x038U
#define UARTRIS 0x03cU
#define UARTMIS 0x040U
#define UARTICR 0x044U
/* Of these four. */
#define RECEIVED (1U << 4) /* as much as UARTIFLS says */
#define SENT (1U << 5)
#define RECEIVE_TIMEOUT (1U << 6) /* something, and no more has come */
#define OVERRUN (1U << 10)
#define INTERRUPTS 0x7ffU
#define UARTPERIPHID0 0xfe0U /* and seven more */

/* 3.3.15 and 3.3.16: number, revision 3. */
static const uint8_t identification[] = {0x11, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1};
/* Characters of a PL011's 32 that UARTIFLS means: an eighth to seven of them. */
static const uint8_t receive_level[] = {4, 8, 16, 24, 28, 28, 28, 28};

void vuart_init(struct vm *vm) {
    vm->arch.uart.control = UARTCR_UARTEN | UARTCR_TXE | UARTCR_RXE;
    vm->arch.uart.line_control = UARTLCR_H_FEN | UARTLCR_H_8BIT;
    vm->arch.uart.levels = UARTIFLS_HALF;
}

bool vuart_has(uint64_t address) {
    return address - GUEST_UART < PAGE_BYTES;
}

/* Without FIFOs each character is one to tell of. */
static uint32_t level_of(const struct vuart *uart) {
    return uart->line_control & UARTLCR_H_FEN ? receive_level[UARTIFLS_RX(uart->levels)] : 1;
}

static void begin(struct vm *vm) {
    lock(&vm->arch.uart.lock);
}

static void end(struct vm *vm) {
    struct vuart *uart = &vm->arch.uart;
    vgic_shared_level(vm, ARCH_GUEST_UART_INTERRUPT, uart->raw & uart->mask);
    unlock(&uart->lock);
}

static void receive(struct vuart *uart, uint8_t character) {
    if (~uart->control & (UARTCR_UARTEN | UARTCR_RXE))
        return;
    if (uart->count == VUART_FIFO) {
        uart->lost++;
        uart->is_overrun = true;
        uart->errors |= UARTRSR_OE;
        uart->raw |= OVERRUN;
        return;
    }
    uint32_t last = (uart->first + uart->count++) % VUART_FIFO;
    uart->fifo[last] = (uint16_t)(character | (uart->is_overrun ? UARTDR_OE : 0));
    uart->is_overrun = false;
    /* The machine's serial line has waited for more. */
    uart->raw |= RECEIVE_TIMEOUT;
    if (uart->count >= level_of(uart))
        uart->raw |= RECEIVED;
}

void arch_input(struct vm *to, uint8_t character) {
    begin(to);
    receive(&to->arch.uart, character);
    end(to);
}

uint64_t arch_input_lost(const struct vm *vm) {
    return vm->arch.uart.lost;
}

static uint32_t take(struct vuart *uart) {
    if (!uart->count)
        return 0;
    uint32_t character = uart->fifo[uart->first];
    uart->first = (uart->first + 1) % VUART_FIFO;
    uart->count--;
    if (uart->count < level_of(uart))
        uart->raw &= ~RECEIVED;
    if (!uart->count)
        uart->raw &= ~RECEIVE_TIMEOUT;
    return character;
}

static uint32_t read(struct vuart *uart, uint32_t offset) {
    switch (offset) {
    case UARTDR:
        return take(uart);
    case UARTRSR:
        return uart->errors;
    case UARTFR:
        return UARTFR_TXFE | (uart->count ? 0 : UARTFR_RXFE) |
               (uart->count == VUART_FIFO ? UARTFR_RXFF : 0);
    case UARTIBRD:
        return uart->baud_integer;
    case UARTFBRD:
        return uart->baud_fraction;
    case UARTLCR_H:
        return uart->line_control;
    case UARTCR:
        return uart->control;
    case UARTIFLS:
        return uart->levels;
    case UARTIMSC:
        return uart->mask;
    case UARTRIS:
        return uart->raw;
    case UARTMIS:
        return uart->raw & uart->mask;
    default:
        break;
    }
    uint32_t n = (offset - UARTPERIPHID0) / 4;
    return n < sizeof(identification) ? identification[n] : 0;
}

static void write(struct vuart *uart, uint32_t offset, uint32_t value) {
    switch (offset) {
    case UARTDR:
        uart->raw |= SENT;
        break;
    case UARTRSR:
        uart->errors = 0;
        break;
    case UARTIBRD:
        uart->baud_integer = value & 0xffff;
        break;
    case UARTFBRD:
        uart->baud_fraction = value & 0x3f;
        break;
    case UARTLCR_H:
        uart->line_control = value & 0xff;
        break;
    case UARTCR:
        uart->control = value & 0xffff;
        break;
    case UARTIFLS:
        uart->levels = value & 0x3f;
        break;
    case UARTIMSC:
        uart->mask = value & INTERRUPTS;
        break;
    case UARTICR:
        uart->raw &= ~value;
        break;
    default:
        break;
    }
}

uint64_t vuart_read(struct vm *vm, uint64_t address) {
    begin(vm);
    uint32_t value = read(&vm->arch.uart, (uint32_t)(address - GUEST_UART));
    end(vm);
    return value;
}

void vuart_write(struct vm *vm, uint64_t address, uint64_t value) {
    uint32_t offset = (uint32_t)(address - GUEST_UART);
    if (offset == UARTDR)
        vm_console(vm, (char)value);
    begin(vm);
    write(&vm->arch.uart, offset, (uint32_t)value);
    end(vm);
}
