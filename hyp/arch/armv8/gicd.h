/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Registers of the distributor that all versions have alike (Arm IHI 0048B 4.3, IHI 0069 12.8): a bit
 * an interrupt, a byte an interrupt (the priority), or two bits (the trigger).
 */
#ifndef RINGFENCE_HYP_GICD_H
#define RINGFENCE_HYP_GICD_H

#define GICD_CTLR 0x0000U
#define GICD_TYPER 0x0004U
#define GICD_TYPER_LINES(typer) (((typer) & 0x1fU) + 1) /* in 32 */
#define GICD_IGROUPR 0x0080U
#define GICD_ISENABLER 0x0100U
#define GICD_ICENABLER 0x0180U
#define GICD_ISPENDR 0x0200U
#define GICD_ICPENDR 0x0280U
#define GICD_ISACTIVER 0x0300U
#define GICD_ICACTIVER 0x0380U
#define GICD_BIT_BYTES 0x0080U /* of each of these */
#define GICD_IPRIORITYR 0x0400U
#define GICD_BYTE_BYTES 0x0400U
#define GICD_ICFGR 0x0c00U
#define GICD_ICFGR_BYTES 0x0100U

#endif
