/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
#ifndef RINGFENCE_HYP_GUEST_H
#define RINGFENCE_HYP_GUEST_H

#include "../../core/vm.h"

/* What this core may trap of guests, before any runs. */
void guest_init_core(void);
/* In vectors.S: goes on in the guest. */
_Noreturn void guest_enter(const struct registers *registers);

#endif
