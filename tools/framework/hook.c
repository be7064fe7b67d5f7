// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// Lets a Python program tell callgrind what to count; without callgrind, nothing happens.

#include <valgrind/callgrind.h>

void start(void) {
    CALLGRIND_START_INSTRUMENTATION;
}

void dump(void) {
    CALLGRIND_DUMP_STATS;
}

void stop(void) {
    CALLGRIND_STOP_INSTRUMENTATION;
}
