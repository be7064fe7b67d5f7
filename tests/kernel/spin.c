/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * `spin THREADS` computes for ever in so many threads. `spin into FOLDER` starts a child in the
 * control group of version 2 that the folder is, which does so in one, and prints its number.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CHILD_BEGINS_IN_GROUP 0x200000000ULL /* CLONE_INTO_CGROUP */

/* Of clone3(2), as the call that knows groups has it. */
struct clone_request {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
        set_tid_size, cgroup;
};

static void *spin(void *nothing) {
    (void)nothing;
    for (volatile uint64_t turn = 0;; turn++)
        continue;
    return NULL;
}

static int start_in(const char *folder) {
    int group = open(folder, O_RDONLY | O_DIRECTORY);
    if (group < 0) {
        perror(folder);
        return 1;
    }
    struct clone_request request = {
        .flags = CHILD_BEGINS_IN_GROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)group};
    long child = syscall(SYS_clone3, &request, sizeof(request));
    if (child < 0) {
        perror("clone3");
        return 1;
    }
    if (child == 0)
        spin(NULL);
    printf("%ld\n", child);
    return 0;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "into") == 0)
        return start_in(arguments[2]);
    int threads = count == 2 ? atoi(arguments[1]) : 1;
    for (int i = 1; i < threads; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, spin, NULL))
            return 1;
    }
    spin(NULL);
}
