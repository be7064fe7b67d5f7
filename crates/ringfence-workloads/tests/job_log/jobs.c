/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A program of the tests, for each thing that it can do a word: see c_program.rs. */
#include "ringfence_jobs.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

void mark_from_another_file(void);

/* As fast as it can, until it is killed. */
static void *mark_for_ever(void *task) {
    if (rf_thread_register(*(uint32_t *)task) != 0)
        abort();
    for (;;) {
        rf_job_begin();
        rf_job_end();
    }
    return NULL;
}

static void mark_every_kind(void) {
    rf_thread_register(5);
    rf_job_begin();
    rf_job_end();
    mark_from_another_file();
    for (int kind = RF_RELEASED; kind <= RF_SLEEPING; kind++)
        rf_mark((enum rf_kind)kind, UINT64_MAX - 1, 1234567890123456789);
    rf_thread_leave();
}

static void overflow(void) {
    for (uint64_t job = 0; job < 100; job++)
        rf_mark(RF_BEGIN, job, job);
}

static void mark_from_a_child(void) {
    rf_job_begin();
    if (fork() == 0) {
        rf_thread_register(1);
        rf_job_begin();
        rf_job_end();
        _exit(0);
    }
    wait(NULL);
    rf_job_end();
}

static int join(void) {
    char too_long[RF_NAME_BYTES + 2];

    memset(too_long, 'x', sizeof(too_long) - 1);
    too_long[sizeof(too_long) - 1] = 0;
    printf("%d %d %d ", rf_gang_join(""), rf_gang_join(NULL), rf_gang_join(too_long));
    printf("%d ", rf_gang_join("slam"));
    printf("%d ", rf_gang_join("smal"));
    printf("%d ", rf_gang_join("control"));
    printf("%d\n", rf_gang_leave());
    return 0;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";

    if (!strcmp(what, "kinds"))
        mark_every_kind();
    else if (!strcmp(what, "overflow"))
        overflow();
    else if (!strcmp(what, "fork"))
        mark_from_a_child();
    else if (!strcmp(what, "join"))
        return join();
    else if (!strcmp(what, "register"))
        printf("%d\n", rf_thread_register(0));
    else if (!strcmp(what, "endless")) {
        static uint32_t tasks[] = {1, 2};
        pthread_t thread;

        /* A test that is killed cannot end it. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pthread_create(&thread, NULL, mark_for_ever, &tasks[0]);
        mark_for_ever(&tasks[1]);
    }
    return 0;
}
