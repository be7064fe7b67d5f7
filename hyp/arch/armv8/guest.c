/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A core's guest: which rights it has, how it starts, how it is left. */
#include "guest.h"

#include "../../core/arch.h"
#include "pmu.h"
#include "stage2.h"
#include "sysreg.h"
#include "vgic.h"
#include "vgic_shared.h"
#include "vuart.h"

extern char stacks[];
_Noreturn void arch_restart(void *stack_top, void (*next)(void));

void arch_vm_init(struct vm *vm) {
    vgic_shared_init(vm);
    vuart_init(vm);
    stage2_build(vm);
}

void guest_init_core(void) {
    sysreg_write(hcr_el2, HCR_VM | HCR_SWIO | HCR_FMO | HCR_IMO | HCR_AMO | HCR_TSC | HCR_TIDCP |
                              HCR_TACR | HCR_TSW | HCR_RW);
    sysreg_write(cptr_el2, CPTR_EL2_RES1 | CPTR_TZ);
    sysreg_write(hstr_el2, 0);
    sysreg_write(cnthctl_el2, CNTHCTL_EL1PCTEN);
    sysreg_write(cntvoff_el2, 0);
    sysreg_write(vpidr_el2, sysreg_read(midr_el1));
    pmu_init();
}

/* What a reset leaves behind, DDI 0487 D1.3.7. */
static void reset_el1(const struct vcpu *vcpu) {
    sysreg_write(vmpidr_el2, MPIDR_RES1 | vcpu->index);
    sysreg_write(sctlr_el1, SCTLR_EL1_RES1);
    sysreg_write(cntkctl_el1, 0);
    sysreg_write(cntv_ctl_el0, 0);
    sysreg_write(cpacr_el1, 0);
    sysreg_write(mdscr_el1, 0);
}

void arch_vcpu_enter(struct vcpu *vcpu, uint64_t entry, const uint64_t *arguments) {
    struct registers registers = {.pc = entry, .state = SPSR_EL1H | SPSR_DAIF};
    for (uint32_t a = 0; a < BOOT_ARGUMENTS; a++)
        registers.x[a] = arguments[a];
    reset_el1(vcpu);
    vgic_reset(vcpu);
    stage2_enable(vcpu->vm);
    vcpu_before_return(vcpu);
    guest_enter(&registers);
}

void arch_vcpu_silence(struct vcpu *vcpu) {
    sysreg_write(cntv_ctl_el0, 0);
    vgic_off(vcpu);
}

void arch_vcpu_leave(void) {
    arch_restart(stacks + (arch_vcpu()->core + 1) * STACK_SIZE, vcpu_main);
}
