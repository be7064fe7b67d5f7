/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "vm.h"

#include "arch.h"
#include "change.h"
#include "channel.h"
#include "console.h"
#include "input.h"
#include "lend.h"
#include "platform.h"
#include "regulate.h"
#include "statistics.h"
#include "trace.h"

static struct vm vms[MAX_CORES];
static uint32_t vms_running;

static void refuse(const char *name, const char *why) {
    print("ringfence: the configuration cannot be used: %s: %s\n", name, why);
    arch_power_off();
}

static void vm_init(struct vm *vm, uint32_t number, const struct vm_config *config) {
    vm->config = config;
    vm->number = number;
    const char *wrong = is_regulated(vm) ? regulate_init(vm) : 0;
    if (wrong)
        refuse(config->name, wrong);
    for (uint32_t v = 0; v < config->vcpus; v++) {
        vm->vcpu[v].vm = vm;
        vm->vcpu[v].index = v;
        vm->vcpu[v].core = config->cores[v];
    }
    arch_vm_init(vm);
    vm->vcpu[0].entry = config->entry;
    for (uint32_t a = 0; a < BOOT_ARGUMENTS; a++)
        vm->vcpu[0].arguments[a] = config->arguments[a];
    vm->vcpu[0].state = VCPU_STARTING;
}

void vm_init_all(void) {
    const char *wrong = config_error(&machine_config);
    if (wrong)
        refuse(platform.name, wrong);
    channels_init();
    vms_running = machine_config.vms;
    for (uint32_t n = 0; n < machine_config.vms; n++) {
        vm_init(&vms[n], n, &machine_config.vm[n]);
        change_init(&vms[n]);
        lend_init(&vms[n]);
        statistics_init(&vms[n]);
    }
}

struct vm *vm_of_number(uint64_t number) {
    return number < machine_config.vms ? &vms[number] : 0;
}

struct vcpu *vm_vcpu_of_core(uint32_t core) {
    for (uint32_t n = 0; n < machine_config.vms; n++)
        for (uint32_t v = 0; v < vms[n].config->vcpus; v++)
            if (vms[n].vcpu[v].core == core)
                return &vms[n].vcpu[v];
    return 0;
}

/* Whether this core is to start its vCPU now. */
static bool take_start(struct vcpu *vcpu) {
    uint32_t starting = VCPU_STARTING;
    return vcpu && !vm_is_stopped(vcpu->vm) &&
           __atomic_compare_exchange_n(&vcpu->state, &starting, VCPU_ON, false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_ACQUIRE);
}

void vcpu_main(void) {
    struct vcpu *vcpu = arch_vcpu();
    if (vcpu)
        regulate_off(vcpu);
    while (!take_start(vcpu))
        arch_wait();
    __atomic_add_fetch(&vcpu->vm->on, 1, __ATOMIC_ACQ_REL);
    regulate_start(vcpu);
    arch_vcpu_enter(vcpu, vcpu->entry, vcpu->arguments);
}

/* None of its cores will ever serve it again. */
static void vm_end(struct vm *vm) {
    if (__atomic_exchange_n(&vm->ended, 1, __ATOMIC_ACQ_REL))
        return;
    if (__atomic_sub_fetch(&vms_running, 1, __ATOMIC_ACQ_REL) == 0) {
        print("ringfence: no VM is left, the machine is turned off\n");
        arch_power_off();
    }
}

/* Its core serves it no more. */
static void silence(struct vcpu *vcpu) {
    regulate_stop(vcpu);
    trace(vcpu, TRACE_OFF);
    arch_vcpu_silence(vcpu);
    __atomic_store_n(&vcpu->state, VCPU_OFF, __ATOMIC_RELEASE);
    if (__atomic_sub_fetch(&vcpu->vm->on, 1, __ATOMIC_ACQ_REL) == 0 && vm_is_stopped(vcpu->vm))
        vm_end(vcpu->vm);
}

void vcpu_before_return(struct vcpu *vcpu) {
    while (vcpu->regulation.throttled && !vm_is_stopped(vcpu->vm)) {
        arch_wait();
        regulate_retry(vcpu);
    }
    if (vm_is_stopped(vcpu->vm)) {
        silence(vcpu);
        arch_vcpu_leave();
    }
}

bool vcpu_start(struct vcpu *vcpu, uint64_t entry, uint64_t argument) {
    lock(&vcpu->vm->lock);
    bool is_off = __atomic_load_n(&vcpu->state, __ATOMIC_ACQUIRE) == VCPU_OFF;
    if (is_off) {
        vcpu->entry = entry;
        vcpu->arguments[0] = argument;
        for (uint32_t a = 1; a < BOOT_ARGUMENTS; a++)
            vcpu->arguments[a] = 0;
        __atomic_store_n(&vcpu->state, VCPU_STARTING, __ATOMIC_RELEASE);
    }
    unlock(&vcpu->vm->lock);
    if (is_off)
        arch_kick(vcpu->core);
    return is_off;
}

void vcpu_off(struct vcpu *vcpu) {
    silence(vcpu);
    arch_vcpu_leave();
}

static void report_stop(const struct vm *vm, const char *why) {
    uint64_t refills = 0, overflows = 0;
    for (uint32_t v = 0; v < vm->config->vcpus; v++) {
        refills += vm->vcpu[v].regulation.refills;
        overflows += vm->vcpu[v].regulation.overflows;
    }
    print("ringfence: VM %s has stopped: %s; %u refills, %u overflows\n", vm->config->name, why,
          refills, overflows);
    if (arch_input_lost(vm))
        print("ringfence: VM %s has not read %u characters of its input in time\n",
              vm->config->name, arch_input_lost(vm));
}

void vm_stop(struct vm *vm, const char *why) {
    struct vcpu *self = arch_vcpu();
    if (!__atomic_exchange_n(&vm->stopped, 1, __ATOMIC_ACQ_REL)) {
        report_stop(vm, why);
        input_stopped(vm);
        for (uint32_t v = 0; v < vm->config->vcpus; v++)
            if (&vm->vcpu[v] != self)
                arch_kick(vm->vcpu[v].core);
    }
    silence(self);
    arch_vcpu_leave();
}
