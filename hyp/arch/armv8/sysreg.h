/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * System registers that are used here, and their fields. All names and positions are those of the
 * Arm Architecture Reference Manual for A-profile (Arm DDI 0487), D19 "AArch64 System Register
 * Descriptions"; ICC_ and ICH_ registers are those of the GICv3 architecture (Arm IHI 0069), 12.
 */
#ifndef RINGFENCE_HYP_SYSREG_H
#define RINGFENCE_HYP_SYSREG_H

#define BIT(n) (1ULL << (n))
#define BITS(value, high, low) (((value) >> (low)) & (BIT((high) - (low) + 1) - 1))

#ifndef __ASSEMBLER__
#include <stdint.h>

#define sysreg_read(name)                                                                          \
    ({                                                                                             \
        uint64_t value_;                                                                           \
        __asm__ volatile("mrs %0, " #name : "=r"(value_)::"memory");                               \
        value_;                                                                                    \
    })
#define sysreg_write(name, value)                                                                  \
    __asm__ volatile("msr " #name ", %0" ::"r"((uint64_t)(value)) : "memory")

static inline void isb(void) {
    __asm__ volatile("isb" ::: "memory");
}
static inline void dsb(void) {
    __asm__ volatile("dsb sy" ::: "memory");
}
#endif

/* SCTLR_EL2, SCTLR_EL1 */
#define SCTLR_M BIT(0)    /* MMU on */
#define SCTLR_C BIT(2)    /* data caches on */
#define SCTLR_SA BIT(3)   /* stack alignment check */
#define SCTLR_I BIT(12)   /* instruction caches on */
#define SCTLR_WXN BIT(19) /* what can be written is not executed */
#define SCTLR_EL2_RES1                                                                             \
    (BIT(4) | BIT(5) | BIT(11) | BIT(16) | BIT(18) | BIT(22) | BIT(23) | BIT(28) | BIT(29))
#define SCTLR_EL1_RES1 (BIT(7) | BIT(8) | BIT(11) | BIT(20) | BIT(22) | BIT(23) | BIT(28) | BIT(29))

/* HCR_EL2 */
#define HCR_VM BIT(0)   /* stage 2 on */
#define HCR_SWIO BIT(1) /* invalidate by set/way cleans, too */
#define HCR_FMO BIT(3)  /* physical interrupts to EL2, virtual ones to EL1 */
#define HCR_IMO BIT(4)
#define HCR_AMO BIT(5)
#define HCR_TSC BIT(19)   /* trap SMC */
#define HCR_TIDCP BIT(20) /* trap implementation defined registers */
#define HCR_TACR BIT(21)  /* trap ACTLR_EL1 */
#define HCR_TSW BIT(22)   /* cache maintenance by set and way: of all that share the cache */
#define HCR_RW BIT(31)    /* EL1 is AArch64 */

/* CPTR_EL2 without E2H: its RES1 bits; bit 8 (TZ) traps SVE, or is RES1 without it. */
#define CPTR_EL2_RES1 (0xffULL | BIT(9) | BIT(12) | BIT(13))
#define CPTR_TZ BIT(8)

/* MDCR_EL2 */
#define MDCR_HPMN(n) ((uint64_t)(n)) /* first counter that is EL2's */
#define MDCR_TPMCR BIT(5)            /* trap PMCR_EL0 */
#define MDCR_TPM BIT(6)              /* trap all other PMU registers */
#define MDCR_HPME BIT(7)             /* EL2's counters on */

/* CNTHCTL_EL2 without E2H */
#define CNTHCTL_EL1PCTEN BIT(0) /* EL1 may read the physical counter, and has no physical timer */
/* CNTHP_CTL_EL2 */
#define CNTHP_ENABLE BIT(0)

/* TCR_EL2 and VTCR_EL2 */
#define TCR_T0SZ(bits) (64ULL - (bits))
#define TCR_IRGN0_WBWA (1ULL << 8)
#define TCR_ORGN0_WBWA (1ULL << 10)
#define TCR_SH0_INNER (3ULL << 12)
#define TCR_PS_40_BITS (2ULL << 16)
#define TCR_EL2_RES1 (BIT(31) | BIT(23))
#define VTCR_SL0_LEVEL_1 (1ULL << 6)
#define VTCR_RES1 BIT(31)
#define VTTBR_VMID(vmid) ((uint64_t)(vmid) << 48)

/* MAIR_EL2: attribute 0 device, nGnRE; attribute 1 normal, write-back, allocating */
#define MAIR_DEVICE 0x04ULL
#define MAIR_NORMAL 0xffULL
#define MAIR_VALUE (MAIR_DEVICE | MAIR_NORMAL << 8)

/* SPSR_EL2 */
#define SPSR_EL1H 5ULL
#define SPSR_DAIF (BIT(6) | BIT(7) | BIT(8) | BIT(9))

/* VMPIDR_EL2 */
#define MPIDR_RES1 BIT(31)

/* CTR_EL0 */
#define CTR_DMIN_LINE(ctr) BITS(ctr, 19, 16) /* log2 of words */

/* ESR_EL2 */
#define ESR_EC(esr) BITS(esr, 31, 26)
#define ESR_ISS(esr) BITS(esr, 24, 0)
#define EC_HVC 0x16
#define EC_SMC 0x17
#define EC_SYSREG 0x18
#define EC_INSTRUCTION_ABORT 0x20
#define EC_DATA_ABORT 0x24
#define ISS_HVC_IMMEDIATE(iss) BITS(iss, 15, 0)
/* of a system register access */
#define ISS_IS_READ(iss) BITS(iss, 0, 0)
#define ISS_RT(iss) BITS(iss, 9, 5)
#define SYSREG(op0, op1, crn, crm, op2)                                                            \
    ((uint64_t)(op0) << 20 | (op2) << 17 | (op1) << 14 | (crn) << 10 | (crm) << 1)
#define ISS_SYSREG(iss) ((iss) & SYSREG(3, 7, 15, 15, 7))
/* of a data abort */
#define ISS_ISV(iss) BITS(iss, 24, 24) /* the fields below are valid */
#define ISS_SAS(iss) BITS(iss, 23, 22) /* log2 of the bytes */
#define ISS_SRT(iss) BITS(iss, 20, 16)
#define ISS_WNR(iss) BITS(iss, 6, 6) /* a write */
#define ISS_FNV(iss) BITS(iss, 10, 10)
#define ISS_FSC(iss) BITS(iss, 5, 0)
#define FSC_TRANSLATION(fsc) (((fsc) & 0x3c) == 0x04)
#define HPFAR_FIPA(hpfar) (BITS(hpfar, 43, 4) << 12)

/* PMU, D13 "The Performance Monitors Extension" */
#define PMCR_E BIT(0)
#define PMCR_N(pmcr) BITS(pmcr, 15, 11) /* counters */
#define PMEVTYPER_NSH BIT(27)           /* count at EL2, too */
#define PMU_EVENT_SW_INCR 0x00U

/* ICC_ registers: the physical interrupts of this core */
#define ICC_SRE_SRE BIT(0)
#define ICC_SRE_DFB BIT(1)
#define ICC_SRE_DIB BIT(2)
#define ICC_SRE_ENABLE BIT(3)
#define ICC_CTLR_EOIMODE BIT(1) /* EOIR drops the priority, DIR deactivates */
#define ICC_PMR_ALL 0xffU
#define ICC_SGI1R_INTID(n) ((uint64_t)(n) << 24)
/* Fields of the same register when a guest writes it. */
#define SGI1R_TARGETS(value) BITS(value, 15, 0)
#define SGI1R_INTID(value) BITS(value, 27, 24)
#define SGI1R_IRM(value) BITS(value, 40, 40) /* all but oneself */
#define SGI1R_AFFINITIES                                                                           \
    (BITS(~0ULL, 7, 0) << 16 | BITS(~0ULL, 7, 0) << 32 | BITS(~0ULL, 7, 0) << 48)

/* ICH_ registers: the virtual interrupts of this core's guest */
#define ICH_HCR_EN BIT(0)
#define ICH_HCR_UIE BIT(1) /* interrupt when at most one list register is in use */
#define ICH_VTR_LISTS(vtr) (BITS(vtr, 4, 0) + 1)
#define ICH_LR_INTID(lr) BITS(lr, 31, 0)
#define ICH_LR_PHYSICAL(n) ((uint64_t)(n) << 32)
#define ICH_LR_AT_END BIT(41) /* of one that is not the hardware's: an interrupt at its end */
#define ICH_LR_PRIORITY(p) ((uint64_t)(p) << 48)
#define ICH_LR_PRIORITY_OF(lr) BITS(lr, 55, 48)
#define ICH_LR_GROUP1 BIT(60)
#define ICH_LR_HW BIT(61)
#define ICH_LR_PENDING BIT(62)
#define ICH_LR_ACTIVE BIT(63)

#endif
