/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Where a guest has its devices: the same on all boards, so that a guest needs to know no more than
 * the version of the interrupt controller.
 */
#ifndef RINGFENCE_HYP_GUEST_MAP_H
#define RINGFENCE_HYP_GUEST_MAP_H

#define GUEST_DISTRIBUTOR 0x08000000U
#define GUEST_CPU_INTERFACE 0x08010000U  /* GICv2 */
#define GUEST_REDISTRIBUTORS 0x080a0000U /* GICv3 */
#define GUEST_UART 0x09000000U

#endif
