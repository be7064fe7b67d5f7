/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#include "input.h"

#include "arch.h"
#include "console.h"
#include "uart.h"

/* Terminal programs and QEMU have Ctrl-a for themselves. */
#define ESCAPE 0x14U /* Ctrl-t */
/* Characters that are received in one go: as long as other interrupts of the core wait. */
#define MOST 64U

static struct lock input_lock; /* of what follows, and of receiving */
static struct vm *owner;       /* has the input; null: nobody */
static bool is_escaped;        /* the character before was ESCAPE */

static bool may_have(const struct vm *vm) {
    return !vm->config->no_input && !vm_is_stopped(vm);
}

/* From a number on, all round. */
static struct vm *first_from(uint32_t number) {
    for (uint32_t n = 0; n < machine_config.vms; n++) {
        struct vm *vm = vm_of_number((number + n) % machine_config.vms);
        if (may_have(vm))
            return vm;
    }
    return 0;
}

static void give_to(struct vm *vm) {
    if (owner)
        __atomic_store_n(&owner->is_typed_to, 0, __ATOMIC_RELEASE);
    owner = vm;
    if (vm)
        arch_input_to(vm->vcpu[0].core);
    else
        arch_input_off();
}

void input_init(void) {
    owner = first_from(0);
    if (!owner)
        return;
    uart_receive();
    print("ringfence: VM %s has the input; Ctrl-t n gives it to the next one\n",
          owner->config->name);
}

void input_start_core(uint32_t core) {
    lock(&input_lock);
    if (owner && owner->vcpu[0].core == core)
        give_to(owner);
    unlock(&input_lock);
}

/* Behind ESCAPE; whether it is a command. */
static bool command(uint8_t character) {
    struct vm *vm = 0;
    if (character == 'n')
        vm = first_from(owner ? owner->number + 1 : 0);
    else if ('0' <= character && character <= '9')
        vm = vm_of_number(character - '0');
    else
        return false;
    if (vm && vm != owner && may_have(vm))
        give_to(vm);
    return true;
}

/* Whether who has the input is to be said. */
static bool take(uint8_t character) {
    bool was_escaped = is_escaped;
    is_escaped = !was_escaped && character == ESCAPE;
    if (is_escaped)
        return false;
    if (was_escaped && character != ESCAPE)
        return command(character);
    if (owner) {
        __atomic_store_n(&owner->is_typed_to, 1, __ATOMIC_RELEASE);
        arch_input(owner, character);
    }
    return false;
}

/* Without the lock: on a real line that takes a while, for which no other VM's core is to wait. */
static void say(const struct vm *vm) {
    if (vm)
        print("ringfence: VM %s has the input\n", vm->config->name);
}

/* What is for another VM is left to that one's core, which is told: nothing of it costs the VM here, nor
 * does this core wait for anything of the other one's. */
static bool is_for(const struct vcpu *vcpu) {
    return vcpu && owner == vcpu->vm && vcpu->index == 0;
}

void input_receive(void) {
    bool is_asked = false;
    lock(&input_lock);
    uart_receive_begin();
    for (uint32_t n = 0; n < MOST && is_for(arch_vcpu()); n++) {
        int32_t character = uart_get();
        if (character == UART_NOTHING)
            break;
        is_asked = take((uint8_t)character) || is_asked;
    }
    if (owner && !is_for(arch_vcpu()))
        arch_input_to(owner->vcpu[0].core);
    const struct vm *vm = owner;
    unlock(&input_lock);
    if (is_asked)
        say(vm);
}

void input_stopped(const struct vm *vm) {
    lock(&input_lock);
    bool has_it = owner == vm;
    if (has_it)
        give_to(first_from(vm->number + 1));
    vm = owner;
    unlock(&input_lock);
    if (has_it)
        say(vm);
}
