/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The job API: a program says when its jobs begin and end, and which gang it is of.
 *
 *     rf_thread_register(0);
 *     rf_gang_join("slam");
 *     for (;;) {
 *             rf_job_begin();
 *             ... one job ...
 *             rf_job_end();
 *     }
 *
 * ringfence passes the path of the log in the environment variable RINGFENCE_JOBS.
 * Without it every call does nothing and returns 0. A mark is a read of the clock and a
 * few stores into shared memory; it never waits. When the log is full the mark is lost,
 * and ringfence knows how many are. The log's layout and rules are those of
 * ringfence-workloads' Rust module job_log.
 *
 * Every function acts for the calling thread, which registers at its first call; to
 * have that done before the first job, call rf_thread_register. Threads that end
 * should call rf_thread_leave; of those that do not, ringfence finds out by itself.
 * A forked child registers anew.
 *
 * For C11 on Linux with GCC or Clang; needs _DEFAULT_SOURCE (or _GNU_SOURCE) with
 * -std=c11, and -pthread where the C library wants it.
 */
#ifndef RINGFENCE_JOBS_H
#define RINGFENCE_JOBS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a thread can say. */
enum rf_kind {
    RF_RELEASED = 1, /* a job may begin from now on */
    RF_BEGIN = 2,    /* the thread begins its part of a job */
    RF_END = 3,      /* the thread has ended its part of a job */
    RF_DROPPED = 4,  /* a job was released and will not run */
    RF_RUNNABLE = 5, /* the thread has work */
    RF_SLEEPING = 6, /* the thread is about to sleep */
};

/* How long rf_gang_join and rf_gang_leave wait for an answer. */
#define RF_PATIENCE_MS 1000

/* Layout of the log: begin of the file, then slots, each with its events after it. */
#define RF_MAGIC "RFJOBS\0"
#define RF_VERSION 1
#define RF_NAME_BYTES 256
#define RF_SLOTS_MAX 65536
#define RF_EVENTS_MAX 65536
/* In owner: the thread has left. */
#define RF_LEFT (UINT64_C(1) << 63)

struct rf_header {
    uint64_t magic;
    uint32_t version;
    _Atomic uint32_t slots;
    /* Of each slot; a power of two. */
    _Atomic uint32_t events;
    /* 1 from the time that there is news until the agent looks; a futex. */
    _Alignas(64) _Atomic uint32_t doorbell;
};

struct rf_slot {
    /* Process in the upper and thread in the lower half; 0 is a free slot. */
    _Alignas(64) _Atomic uint64_t owner;
    /* Events put in, and those for which there was no room; written by the thread. */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t lost;
    /* Events that the agent has taken. */
    _Alignas(64) _Atomic uint64_t tail;
    /*
     * Twice the requests made, and one more while the gang is written; then the last that
     * was answered, a futex, and its answer.
     */
    _Alignas(64) _Atomic uint32_t request;
    _Atomic uint32_t answered;
    _Atomic uint32_t answer;
    /* The gang to join, then zeros; all zeros: none. */
    _Alignas(64) _Atomic uint64_t gang[RF_NAME_BYTES / 8];
};

struct rf_event {
    _Atomic uint64_t time_ns;
    _Atomic uint64_t job;
    /* Kind below task. */
    _Atomic uint64_t what;
};

_Static_assert(sizeof(struct rf_header) == 128, "layout of the log");
_Static_assert(sizeof(struct rf_slot) == 512, "layout of the log");
_Static_assert(sizeof(struct rf_event) == 24, "layout of the log");
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2, "the log needs 64-bit atomics without locks");

/* The process's log, if there is one; weak, so that all files of a program share it. */
struct rf_log {
    pthread_once_t once;
    struct rf_header *header;
    /* As the header had them when they were checked. */
    uint32_t slots;
    uint32_t events;
    /* Why there is none although there should be; an errno. */
    int error;
};
__attribute__((weak)) struct rf_log rf_log = {.once = PTHREAD_ONCE_INIT};

/* The calling thread's place in it. */
struct rf_thread {
    bool is_registered;
    /* Why it has no slot; an errno. */
    int error;
    struct rf_slot *slot;
    struct rf_event *events;
    /* Events put in, and how many the agent had taken when last looked. */
    uint64_t head;
    uint64_t tail;
    uint64_t lost;
    /* Number of the job that runs or comes next. */
    uint64_t job;
    uint32_t task;
};
__attribute__((weak)) _Thread_local struct rf_thread rf_thread;

/* Bytes from one slot to the next, whole cache lines. */
static inline size_t rf_slot_bytes(uint32_t events) {
    size_t bytes = sizeof(struct rf_slot) + (size_t)events * sizeof(struct rf_event);

    return (bytes + 63) & ~(size_t)63;
}

/* Whether `bytes` bytes from `header` on are a log of this many slots and events. */
static inline bool rf_is_log(const struct rf_header *header, uint32_t slots, uint32_t events,
                             size_t bytes) {
    return memcmp(&header->magic, RF_MAGIC, sizeof(header->magic)) == 0 &&
           header->version == RF_VERSION && slots >= 1 && slots <= RF_SLOTS_MAX && events >= 2 &&
           events <= RF_EVENTS_MAX && (events & (events - 1)) == 0 &&
           sizeof(*header) + slots * rf_slot_bytes(events) <= bytes;
}

/* Maps the log at `path`; 0 or an errno. */
static inline int rf_map(const char *path) {
    int file = open(path, O_RDWR | O_CLOEXEC);
    struct stat status;
    struct rf_header *header;
    uint32_t slots, events;
    size_t bytes;

    if (file < 0)
        return errno;
    if (fstat(file, &status) < 0 || status.st_size < (off_t)sizeof(*header)) {
        close(file);
        return EPROTO;
    }
    bytes = (size_t)status.st_size;
    header = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (header == MAP_FAILED)
        return ENOMEM;
    slots = header->slots;
    events = header->events;
    if (!rf_is_log(header, slots, events, bytes)) {
        munmap(header, bytes);
        return EPROTO;
    }
    rf_log.header = header;
    rf_log.slots = slots;
    rf_log.events = events;
    return 0;
}

/* The slot is the parent's. */
static inline void rf_forked(void) {
    memset(&rf_thread, 0, sizeof(rf_thread));
}

static inline void rf_open(void) {
    const char *path = getenv("RINGFENCE_JOBS");

    if (!path || !*path)
        return;
    rf_log.error = rf_map(path);
    if (rf_log.header)
        pthread_atfork(NULL, NULL, rf_forked);
}

/* Wakes the agent, unless it has been and has not looked since. */
static inline void rf_ring(void) {
    _Atomic uint32_t *doorbell = &rf_log.header->doorbell;

    if (atomic_exchange_explicit(doorbell, 1, memory_order_acq_rel) == 0)
        syscall(SYS_futex, doorbell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Takes the first free slot; as many tries as there are slots. */
static inline int rf_claim(struct rf_thread *self) {
    uint64_t owner = (uint64_t)getpid() << 32 | (uint32_t)syscall(SYS_gettid);
    uint32_t events = rf_log.events;
    char *place = (char *)(rf_log.header + 1);

    for (uint32_t i = 0; i < rf_log.slots; i++, place += rf_slot_bytes(events)) {
        struct rf_slot *slot = (struct rf_slot *)place;
        uint64_t nobody = 0;

        if (!atomic_compare_exchange_strong_explicit(&slot->owner, &nobody, owner,
                                                     memory_order_acq_rel, memory_order_relaxed))
            continue;
        self->slot = slot;
        self->events = (struct rf_event *)(slot + 1);
        self->head = atomic_load_explicit(&slot->head, memory_order_relaxed);
        self->tail = atomic_load_explicit(&slot->tail, memory_order_acquire);
        /* Every page is in memory before the first mark. */
        for (uint32_t event = 0; event < events; event++)
            atomic_store_explicit(&self->events[event].time_ns, 0, memory_order_relaxed);
        return 0;
    }
    return ENOSPC;
}

/*
 * Takes a place in the log for the calling thread, whose marks are of task `task` from
 * now on. 0, or why there is none, and marks do nothing: ENOSPC when every place is
 * taken, EPROTO when RINGFENCE_JOBS names no log of this version, or the errno of
 * opening it.
 */
static inline int rf_thread_register(uint32_t task) {
    struct rf_thread *self = &rf_thread;

    self->task = task;
    if (!self->is_registered) {
        self->is_registered = true;
        pthread_once(&rf_log.once, rf_open);
        self->error = rf_log.header ? rf_claim(self) : rf_log.error;
    }
    return self->error;
}

/* This thread's place, NULL without one. */
static inline struct rf_thread *rf_this_thread(void) {
    if (!rf_thread.is_registered)
        (void)rf_thread_register(0);
    return rf_thread.slot ? &rf_thread : NULL;
}

/* The calling thread makes no more marks. */
static inline void rf_thread_leave(void) {
    struct rf_slot *slot = rf_thread.slot;

    memset(&rf_thread, 0, sizeof(rf_thread));
    if (!slot)
        return;
    atomic_fetch_or_explicit(&slot->owner, RF_LEFT, memory_order_release);
    rf_ring();
}

/* CLOCK_MONOTONIC in nanoseconds. */
static inline uint64_t rf_now_ns(void) {
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static inline void rf_put(struct rf_thread *self, enum rf_kind kind, uint64_t job,
                          uint64_t time_ns) {
    uint32_t room = rf_log.events;
    struct rf_event *event;

    if (self->head - self->tail >= room)
        self->tail = atomic_load_explicit(&self->slot->tail, memory_order_acquire);
    if (self->head - self->tail >= room) {
        self->lost++;
        atomic_store_explicit(&self->slot->lost, self->lost, memory_order_relaxed);
        return;
    }
    event = &self->events[self->head & (room - 1)];
    atomic_store_explicit(&event->time_ns, time_ns, memory_order_relaxed);
    atomic_store_explicit(&event->job, job, memory_order_relaxed);
    atomic_store_explicit(&event->what, (uint64_t)self->task << 32 | (uint32_t)kind,
                          memory_order_relaxed);
    self->head++;
    atomic_store_explicit(&self->slot->head, self->head, memory_order_release);
}

/* Says of job `job` that `kind` was the case at `time_ns` of CLOCK_MONOTONIC. */
static inline void rf_mark(enum rf_kind kind, uint64_t job, uint64_t time_ns) {
    struct rf_thread *self = rf_this_thread();

    if (!self)
        return;
    rf_put(self, kind, job, time_ns);
    if (kind == RF_RUNNABLE || kind == RF_SLEEPING)
        rf_ring();
}

/* The thread begins its next job. */
static inline void rf_job_begin(void) {
    struct rf_thread *self = rf_this_thread();

    if (self)
        rf_put(self, RF_BEGIN, self->job, rf_now_ns());
}

/* The thread has ended the job. */
static inline void rf_job_end(void) {
    struct rf_thread *self = rf_this_thread();

    if (self)
        rf_put(self, RF_END, self->job++, rf_now_ns());
}

/* Waits until the agent has answered `request`; 0 or an errno. */
static inline int rf_wait_for_answer(struct rf_slot *slot, uint32_t request) {
    static const int errors[] = {[1] = 0, [2] = ENOENT, [3] = EPERM};
    const uint64_t end_ns = rf_now_ns() + UINT64_C(1000000) * RF_PATIENCE_MS;

    for (;;) {
        uint32_t answered = atomic_load_explicit(&slot->answered, memory_order_acquire);
        uint64_t now_ns = rf_now_ns();
        struct timespec left;

        if (answered == request) {
            uint32_t answer = atomic_load_explicit(&slot->answer, memory_order_relaxed);

            return answer >= 1 && answer <= 3 ? errors[answer] : EPERM;
        }
        if (now_ns >= end_ns)
            return ETIMEDOUT;
        left.tv_sec = (time_t)((end_ns - now_ns) / 1000000000);
        left.tv_nsec = (long)((end_ns - now_ns) % 1000000000);
        syscall(SYS_futex, &slot->answered, FUTEX_WAIT, answered, &left, NULL, 0);
    }
}

/* Asks for gang `name`, none when it is empty. */
static inline int rf_ask(const char *name) {
    struct rf_thread *self = rf_this_thread();
    char bytes[RF_NAME_BYTES] = {0};
    uint32_t writing;

    if (!self)
        return rf_thread.error;
    memcpy(bytes, name, strlen(name));
    /* It is odd already where a thread was killed while it wrote. */
    writing = atomic_load_explicit(&self->slot->request, memory_order_relaxed) | 1;
    atomic_store_explicit(&self->slot->request, writing, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    for (size_t i = 0; i < RF_NAME_BYTES / 8; i++) {
        uint64_t word;

        memcpy(&word, bytes + 8 * i, sizeof(word));
        atomic_store_explicit(&self->slot->gang[i], word, memory_order_relaxed);
    }
    atomic_store_explicit(&self->slot->request, writing + 1, memory_order_release);
    rf_ring();
    return rf_wait_for_answer(self->slot, writing + 1);
}

/*
 * Has the calling thread become a member of the gang `name`. It waits for the agent, so
 * it is no part of a job. 0 when it is a member, ENOENT when there is no such gang,
 * EPERM when the agent refuses, ETIMEDOUT when none answers, EINVAL for a name that is
 * empty or longer than 256 bytes; or why the thread has no place in the log, as
 * rf_thread_register says it.
 */
static inline int rf_gang_join(const char *name) {
    if (!name || !*name || strlen(name) > RF_NAME_BYTES)
        return EINVAL;
    return rf_ask(name);
}

/* Has it be in no gang; 0, ETIMEDOUT, or why it has no place in the log. */
static inline int rf_gang_leave(void) {
    return rf_ask("");
}

#endif
