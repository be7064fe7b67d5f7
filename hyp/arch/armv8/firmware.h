/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the machine's firmware does for us: it starts cores and turns the machine off. Which
 * firmware that is, the platform says (platform.mk): one of firmware/.
 */
#ifndef RINGFENCE_HYP_FIRMWARE_H
#define RINGFENCE_HYP_FIRMWARE_H

#include <stdbool.h>
#include <stdint.h>

/* Has what it is spoken to by mapped for EL2, as a device. */
void firmware_map(void (*map)(uint64_t address, uint64_t size));
/* Starts a core at secondary_start (boot.S), at EL2 with its MMU off; whether it could be asked. */
bool firmware_core_on(uint32_t core);
/* Asks for the machine to be turned off; returns if that takes a while, or is not to be had. */
void firmware_power_off(void);

#endif
