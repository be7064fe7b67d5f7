/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef RINGFENCE_HYP_PSCI_H
#define RINGFENCE_HYP_PSCI_H

#include <stdbool.h>
#include <stdint.h>

/* Asks the firmware to start a core at a physical address, with its number in x0. */
bool psci_core_on(uint32_t core, uint64_t entry);

#endif
