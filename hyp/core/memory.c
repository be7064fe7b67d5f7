/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a compiler calls even in freestanding code (C11 4, and GCC's manual). */
#include <stddef.h>

void *memset(void *to, int byte, size_t size);
void *memcpy(void *restrict to, const void *restrict from, size_t size);

/* Not by the compiler's own pattern for them: that would call these again. */
__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *memset(void *to, int byte,
                                                                           size_t size) {
    unsigned char *bytes = to;
    for (size_t n = 0; n < size; n++)
        bytes[n] = (unsigned char)byte;
    return to;
}

__attribute__((optimize("no-tree-loop-distribute-patterns"))) void *
memcpy(void *restrict to, const void *restrict from, size_t size) {
    unsigned char *bytes = to;
    const unsigned char *source = from;
    for (size_t n = 0; n < size; n++)
        bytes[n] = source[n];
    return to;
}
