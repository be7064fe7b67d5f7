/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Registers of GICv2 (Arm IHI 0048B), 4.3, 4.4 and 5.3: ours and the emulated. */
#ifndef RINGFENCE_HYP_GICV2_H
#define RINGFENCE_HYP_GICV2_H

#include <stdint.h>

#include "../../../core/platform.h"
#include "gicd.h"

#define GICD_BYTES 0x1000U
#define GICC_BYTES 0x2000U /* and GICV */
#define GICH_BYTES 0x1000U

#define GICD_CTLR_ENABLE (1U << 0)
#define GICD_ITARGETSR 0x800U
#define GICD_SGIR 0xf00U
#define GICD_SGIR_TARGETS(set) ((uint32_t)(set) << 16)
#define GICD_PIDR2 0xfe8U
#define GICD_PIDR2_GICV2 (2U << 4)

#define GICC_CTLR 0x0000U
/* Without security or seen from non-secure state alike (4.4.1). */
#define GICC_CTLR_ENABLE (1U << 0)
#define GICC_CTLR_EOIMODE (1U << 9) /* EOIR drops the priority, DIR deactivates */
#define GICC_PMR 0x0004U
#define GICC_PMR_ALL 0xffU
#define GICC_IAR 0x000cU
#define GICC_EOIR 0x0010U
#define GICC_DIR 0x1000U

#define GICH_HCR 0x000U
#define GICH_HCR_EN (1U << 0)
#define GICH_HCR_UIE (1U << 1) /* interrupt when at most one list register is in use */
#define GICH_VTR 0x004U
#define GICH_VTR_LISTS(vtr) (((vtr) & 0x3fU) + 1)
#define GICH_VMCR 0x008U
#define GICH_EISR0 0x020U
#define GICH_EISR1 0x024U
#define GICH_APR 0x0f0U
#define GICH_LR 0x100U
#define GICH_LR_INTERRUPT(lr) ((uint32_t)(lr) & 0x3ffU)
#define GICH_LR_PHYSICAL(n) ((n) << 10)
/* Of one that is not the hardware's: the vCPU that has sent it, and an interrupt at its end. */
#define GICH_LR_SENDER(v) ((uint32_t)(v) << 10)
#define GICH_LR_SENDER_OF(lr) ((uint32_t)(lr) >> 10 & 7U)
#define GICH_LR_AT_END (1U << 19)
#define GICH_LR_PRIORITY(p) ((uint32_t)(p) >> 3 << 23)
#define GICH_LR_PRIORITY_OF(lr) (((lr) >> 23 & 0x1fU) << 3)
#define GICH_LR_PENDING (1U << 28)
#define GICH_LR_ACTIVE (1U << 29)
#define GICH_LR_HARDWARE (1U << 31)

static inline volatile uint32_t *gic_word(uint64_t frame, uint32_t offset) {
    return (volatile uint32_t *)(frame + offset);
}

#endif
