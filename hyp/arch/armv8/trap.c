/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Why a guest comes to EL2: interrupts, calls, and accesses to what is emulated. Whatever else
 * brings it here ends its VM, with a report; nothing that it did is undone or guessed.
 */
#include "../../core/arch.h"
#include "../../core/console.h"
#include "../../core/go_on.h"
#include "../../core/hypercall.h"
#include "../../core/platform.h"
#include "counter.h"
#include "gic.h"
#include "gic_hardware.h"
#include "guest.h"
#include "sysreg.h"
#include "vgic.h"
#include "vuart.h"

#define NO_REGISTER 31U
#define INSTRUCTION_BYTES 4U

/* Known to vectors.S. */
void trap_synchronous(struct registers *registers);
void trap_interrupt(void);
_Noreturn void trap_wild(struct registers *registers);
_Noreturn void hypervisor_fault(uint64_t kind);

static void report(const struct vcpu *vcpu, const struct registers *registers, const char *what) {
    console_begin();
    console_print("ringfence: VM %s, vCPU %u on core %u: %s\n", vcpu->vm->config->name,
                  (uint64_t)vcpu->index, (uint64_t)vcpu->core, what);
    console_print("    pc %x  state %x  syndrome %x\n", registers->pc, registers->state,
                  sysreg_read(esr_el2));
    console_print("    address %x  of the guest's memory %x\n", sysreg_read(far_el2),
                  HPFAR_FIPA(sysreg_read(hpfar_el2)));
    for (uint64_t n = 0; n < 31; n++)
        console_print("%sx%u %x%s", n % 4 ? "  " : "    ", n, registers->x[n],
                      n % 4 == 3 || n == 30 ? "\n" : "");
    console_end();
}

static _Noreturn void fault(struct vcpu *vcpu, const struct registers *registers,
                            const char *what) {
    report(vcpu, registers, what);
    vm_stop(vcpu->vm, what);
}

static uint64_t register_read(const struct registers *registers, uint64_t n) {
    return n == NO_REGISTER ? 0 : registers->x[n];
}

static void register_write(struct registers *registers, uint64_t n, uint64_t value) {
    if (n != NO_REGISTER)
        registers->x[n] = value;
}

/* D13.3: all registers of the PMU, which are op0 3 and CRn 9 or, for the counters, 14. */
static bool is_pmu(uint64_t iss) {
    uint64_t sysreg = ISS_SYSREG(iss);
    uint64_t crm = BITS(sysreg, 4, 1);
    uint64_t of_group = sysreg & SYSREG(3, 7, 15, 0, 0);
    return (of_group == SYSREG(3, 3, 9, 0, 0) && crm >= 12 && crm <= 14) ||
           (of_group == SYSREG(3, 0, 9, 0, 0) && crm == 14) ||
           (of_group == SYSREG(3, 3, 14, 0, 0) && crm >= 8);
}

#define SYSREG_PMSWINC SYSREG(3, 3, 9, 12, 4)

static void system_register(struct vcpu *vcpu, struct registers *registers, uint64_t iss) {
    uint64_t value = register_read(registers, ISS_RT(iss));
    if (ISS_SYSREG(iss) == SYSREG_PMSWINC && !ISS_IS_READ(iss))
        counter_software_increment(value);
    else if (!is_pmu(iss) &&
             (ISS_IS_READ(iss) || !vgic_system_register(vcpu, ISS_SYSREG(iss), value)))
        fault(vcpu, registers, "a system register that it may not access");
    else if (is_pmu(iss) && ISS_IS_READ(iss))
        register_write(registers, ISS_RT(iss), 0);
    registers->pc += INSTRUCTION_BYTES;
}

/* What of the guest's memory a data abort is about; the page is HPFAR's, the rest FAR's. */
static uint64_t fault_address(void) {
    return HPFAR_FIPA(sysreg_read(hpfar_el2)) | BITS(sysreg_read(far_el2), 11, 0);
}

static void data_abort(struct vcpu *vcpu, struct registers *registers, uint64_t iss) {
    uint64_t address = fault_address();
    uint32_t bytes = 1U << ISS_SAS(iss);
    const char *what =
        ISS_WNR(iss) ? "a write to memory that it has not" : "a read from memory that it has not";
    if (!ISS_ISV(iss) || ISS_FNV(iss) || !FSC_TRANSLATION(ISS_FSC(iss)))
        fault(vcpu, registers, what);
    bool is_vgic = vgic_has(vcpu->vm, address) && address % bytes == 0;
    if (!is_vgic && !vuart_has(address))
        fault(vcpu, registers, what);
    uint64_t value = register_read(registers, ISS_SRT(iss));
    if (!ISS_WNR(iss))
        register_write(registers, ISS_SRT(iss),
                       is_vgic ? vgic_read(vcpu, address, bytes) : vuart_read(vcpu->vm, address));
    else if (is_vgic)
        vgic_write(vcpu, address, bytes, value);
    else
        vuart_write(vcpu->vm, address, value);
    registers->pc += INSTRUCTION_BYTES;
}

/* The last thing before a core goes back to its guest. */
static void before_return(struct vcpu *vcpu) {
    vcpu_before_return(vcpu);
    vgic_flush(vcpu);
}

void trap_synchronous(struct registers *registers) {
    struct vcpu *vcpu = arch_vcpu();
    uint64_t esr = sysreg_read(esr_el2);
    uint64_t iss = ESR_ISS(esr);
    switch (ESR_EC(esr)) {
    case EC_SYSREG:
        system_register(vcpu, registers, iss);
        break;
    case EC_DATA_ABORT:
        data_abort(vcpu, registers, iss);
        break;
    case EC_HVC:
        if (ISS_HVC_IMMEDIATE(iss) != 0 || !hypercall(vcpu, registers->x))
            fault(vcpu, registers, "a hypercall that is none");
        break;
    case EC_SMC:
        fault(vcpu, registers, "a call to the firmware (SMC)");
    case EC_INSTRUCTION_ABORT:
        fault(vcpu, registers, "an instruction from memory that it has not");
    default:
        fault(vcpu, registers, "an exception that nothing here expects");
    }
    before_return(vcpu);
}

/* A function of its own, so that the short way saves no registers for it. */
static __attribute__((noinline)) void interrupt(struct vcpu *vcpu, uint32_t acknowledged) {
    gic_handle(vcpu, acknowledged);
    before_return(vcpu);
}

/*
 * A guest that goes on into another period goes on at once: whoever has anything else for it kicks its
 * core, as those do that have something for a guest without periods.
 */
void trap_interrupt(void) {
    struct vcpu *vcpu = arch_vcpu();
    uint32_t acknowledged = gic_acknowledge();
    if (GIC_INTERRUPT(acknowledged) == platform.period_interrupt && go_on(vcpu)) {
        gic_end(acknowledged);
        gic_deactivate(acknowledged);
    } else {
        interrupt(vcpu, acknowledged);
    }
}

void trap_wild(struct registers *registers) {
    fault(arch_vcpu(), registers, "an exception that no guest may cause");
}

/* Ours: there is nothing left to trust, nor a lock that would be given back. */
void hypervisor_fault(uint64_t kind) {
    console_print(
        "ringfence: fault %u of the hypervisor at %x: syndrome %x, address %x; the machine is "
        "turned off\n",
        kind, sysreg_read(elr_el2), sysreg_read(esr_el2), sysreg_read(far_el2));
    arch_power_off();
}
