/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * `job_api THREADS [GANG | - endless]`: so many threads, as a user who may nothing, ask for the gang
 * if one is named, and then have 30 jobs together or more and more, of which each tenth was released
 * when the machine started. Says which errors registering and joining gave.
 */
#define _GNU_SOURCE
#include <ringfence_jobs.h>
#include <stdio.h>
#include <unistd.h>

#define NOBODY 65534
#define THREADS_MAX 8
#define JOBS 30

static const char *gang;
static uint64_t jobs = JOBS;

static void *work(void *number) {
    int registered = rf_thread_register(0);
    int joined = gang ? rf_gang_join(gang) : 0;

    printf("registered: %d, joined: %d\n", registered, joined);
    for (uint64_t job = 0; job < jobs && !joined; job++) {
        if (number == NULL && job % 10 == 0)
            rf_mark(RF_RELEASED, job, 1);
        rf_job_begin();
        usleep(2000);
        rf_job_end();
    }
    rf_thread_leave();
    return NULL;
}

int main(int count, char **arguments) {
    pthread_t threads[THREADS_MAX];
    long wanted = count > 1 ? strtol(arguments[1], NULL, 10) : 1;

    /* Who executes something after it is another user may look at its own files again. */
    if (getuid() == 0)
        return setuid(NOBODY) ? 1 : execv("/proc/self/exe", arguments);
    if (count > 3)
        jobs = UINT64_MAX;
    else if (count > 2)
        gang = arguments[2];
    for (long i = 0; i < wanted && i < THREADS_MAX; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)i))
            return 1;
    for (long i = 0; i < wanted && i < THREADS_MAX; i++)
        pthread_join(threads[i], NULL);
    return 0;
}
