/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Who is typed to. One VM has the input of the serial line: what comes there is received by its vCPU 0's
 * core, at the cost of nobody else, and is for its guest to read. It keeps the input until it stops,
 * or somebody types
 *
 *   Ctrl-t n        for the next VM that runs
 *   Ctrl-t 2        for the VM with the number 2
 *   Ctrl-t Ctrl-t   for a Ctrl-t to the guest
 *
 * A VM that has no_input in its configuration never has it.
 */
#ifndef RINGFENCE_HYP_INPUT_H
#define RINGFENCE_HYP_INPUT_H

#include "vm.h"

/* The first VM that may has it. */
void input_init(void);
/* From here on this core may take the interrupt. */
void input_start_core(uint32_t core);
/* Something has come. */
void input_receive(void);
/* A VM has stopped. */
void input_stopped(const struct vm *vm);

#endif
