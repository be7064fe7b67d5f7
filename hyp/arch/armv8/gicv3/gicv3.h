/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Registers of GICv3 (Arm IHI 0069) in memory, ours and the emulated. */
#ifndef RINGFENCE_HYP_GICV3_H
#define RINGFENCE_HYP_GICV3_H

#include "gicd.h"

#define GICD_BYTES 0x10000U
#define GICR_BYTES 0x20000U /* a core: RD_base and SGI_base */
#define GICR_SGI_BASE 0x10000U

/* IHI 0069 12.8 and 12.10: registers of distributor and redistributor, ours and the emulated. */
#define GICD_IROUTER 0x6000U
#define GICD_IROUTER_ANY (1U << 31) /* Interrupt_Routing_Mode */
#define GICD_CTLR_ENABLE_GROUP1 (1U << 1)
#define GICD_CTLR_ARE (1U << 4)
#define GICD_CTLR_DS (1U << 6)
#define GICR_TYPER 0x0008U
#define GICR_TYPER_LAST (1U << 4)
#define GICR_WAKER 0x0014U
#define GICR_WAKER_SLEEP (1U << 1)  /* ProcessorSleep */
#define GICR_WAKER_ASLEEP (1U << 2) /* ChildrenAsleep */
#define GIC_PIDR2 0xffe8U           /* both frames */
#define GIC_PIDR2_GICV3 (3U << 4)
/* In SGI_base: */
#define GICR_IGROUPR0 0x0080U
#define GICR_ISENABLER0 0x0100U
#define GICR_ICENABLER0 0x0180U
#define GICR_ISPENDR0 0x0200U
#define GICR_ICPENDR0 0x0280U
#define GICR_ICACTIVER0 0x0380U
#define GICR_IPRIORITYR 0x0400U
#define GICR_ICFGR1 0x0c04U

#endif
