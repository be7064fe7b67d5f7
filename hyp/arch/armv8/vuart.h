/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The serial line that a guest sees, what the Arm Server Base
 * System Architecture (DEN 0029, appendix B) leaves of a PL011, always ready to send and with
 * nothing to receive. So all guests share the machine's line, and none waits for it but while a
 * line of its own is printed.
 */
#ifndef RINGFENCE_HYP_VUART_H
#define RINGFENCE_HYP_VUART_H

#include "../../core/vm.h"

bool vuart_has(uint64_t address);
uint64_t vuart_read(uint64_t address);
void vuart_write(struct vm *vm, uint64_t address, uint64_t value);

#endif
