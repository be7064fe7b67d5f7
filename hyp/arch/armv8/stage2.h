/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What of the machine's memory a guest sees, and where: its regions and nothing else. */
#ifndef RINGFENCE_HYP_STAGE2_H
#define RINGFENCE_HYP_STAGE2_H

#include "../../core/vm.h"

void stage2_build(struct vm *vm);
/* Makes it what this core's guest sees. */
void stage2_enable(const struct vm *vm);

#endif
