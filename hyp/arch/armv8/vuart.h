/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The serial line that a guest sees: a PL011, which is also what the Arm Server Base System
 * Architecture (DEN 0029, appendix B) makes of one. It is always ready to send: all guests share the
 * machine's line, and none waits for it but while a line of its own is printed. It receives what is
 * typed while the VM has the input (core/input.h).
 */
#ifndef RINGFENCE_HYP_VUART_H
#define RINGFENCE_HYP_VUART_H

#include "../../core/vm.h"

/* As firmware leaves it: it sends and receives, with its FIFOs on. */
void vuart_init(struct vm *vm);
bool vuart_has(uint64_t address);
uint64_t vuart_read(struct vm *vm, uint64_t address);
void vuart_write(struct vm *vm, uint64_t address, uint64_t value);

#endif
