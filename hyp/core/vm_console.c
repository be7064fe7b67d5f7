/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What guests print, on the machine's one line. */
#include "console.h"
#include "vm.h"

static bool is_full(const struct vm *vm) {
    return vm->line_length == CONSOLE_LINE - 1;
}

static void add(struct vm *vm, char byte) {
    vm->line[vm->line_length++] = byte;
    vm->line[vm->line_length] = 0;
}

/* Lines come out whole. */
static void print_line(struct vm *vm, char byte) {
    if (byte != '\n' && byte != '\r')
        add(vm, byte);
    if (byte == '\n' || is_full(vm)) {
        print("[%s] %s\n", vm->config->name, vm->line_length ? vm->line : "");
        vm->line_length = 0;
    }
}

/*
 * Somebody types: prompts and echoes are seen at once. Where another line has come between, its begin is
 * printed again; and the VM's name where the guest goes back to the begin of its line.
 */
static void print_at_once(struct vm *vm, char byte) {
    bool is_anew = vm->has_returned && byte != '\n';
    vm->has_returned = byte == '\r';
    if (vm->has_returned)
        return;
    if (is_anew)
        vm->line_length = 0;
    if (!console_continue(vm) || is_anew)
        console_print("%s[%s] %s", is_anew ? "\r" : "", vm->config->name,
                      vm->line_length ? vm->line : "");
    bool ends = byte == '\n';
    if (!ends) {
        add(vm, byte);
        console_print("%s", &vm->line[vm->line_length - 1]);
        ends = is_full(vm);
    }
    if (ends) {
        console_print("\n");
        vm->line_length = 0;
    }
    console_pause(ends ? 0 : vm);
}

void vm_console(struct vm *vm, char byte) {
    lock(&vm->line_lock);
    if (__atomic_load_n(&vm->is_typed_to, __ATOMIC_ACQUIRE))
        print_at_once(vm, byte);
    else
        print_line(vm, byte);
    unlock(&vm->line_lock);
}
