/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What ringfence's BPF programs use of the kernel: types cut down to the members they
 * touch (CO-RE relocates those to where the running kernel has them), constants, and
 * kernel functions.
 *
 * Names and meanings are those of Linux 6.12 to 7.0, which BTF of the running kernel
 * confirms at load. Values that differ between them are relocated (bpf_core_enum_value).
 */
#ifndef RINGFENCE_BPF_KERNEL_H
#define RINGFENCE_BPF_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef int16_t __s16;
typedef s32 __s32;
typedef s64 __s64;
typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;
typedef u32 __wsum;
typedef u16 __sum16;

struct bpf_iter_num {
    u64 __opaque[1];
} __attribute__((aligned(8)));

#include <bpf/bpf_helpers.h>
/* After the types that it uses. */
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

/*
 * The compiler compares a copy of an index and uses another, of which the verifier then
 * knows nothing; and it drops a second comparison, unless it cannot look into it.
 */
static inline u32 verified_index(u32 index, u32 last) {
    asm volatile("if %0 <= %1 goto +1\n"
                 "%0 = %1"
                 : "+r"(index)
                 : "r"(last));
    return index;
}

#define RF_INDEX(index, size) verified_index(index, (size) - 1)

enum bpf_map_type {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_RINGBUF = 27,
    BPF_MAP_TYPE_TASK_STORAGE = 29,
};

enum {
    BPF_F_NO_PREALLOC = 1,
    BPF_LOCAL_STORAGE_GET_F_CREATE = 1,
    BPF_F_TIMER_ABS = 1,
    BPF_RB_NO_WAKEUP = 1,
    BPF_RB_FORCE_WAKEUP = 2,
};

#define BPF_F_CURRENT_CPU 0xffffffffULL

#define NULL ((void *)0)
#define CLOCK_MONOTONIC 1
#define ENOMEM 12
#define EBUSY 16
#define EINVAL 22

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_spin_lock {
    __u32 val;
};

struct bpf_timer {
    __u64 __opaque[2];
};

struct cpumask {
    unsigned long bits[128];
};
typedef struct cpumask cpumask_t;

struct sched_ext_entity {
    u32 flags;
    u32 weight;
    u64 slice;
    u64 dsq_vtime;
};

struct task_struct {
    unsigned int __state;
    unsigned int flags;
    unsigned int policy;
    int nr_cpus_allowed;
    const cpumask_t *cpus_ptr;
    unsigned short migration_disabled;
    int pid;
    int tgid;
    int rcu_read_lock_nesting; /* where readers of RCU may be preempted */
    struct sched_ext_entity scx;
};

struct rt_rq {
    int rt_queued;
};

struct rq {
    struct rt_rq rt;
    struct task_struct *curr;
};

struct scx_init_task_args {
    bool fork;
};

enum scx_exit_kind {
    SCX_EXIT_NONE,
};

struct scx_exit_info {
    enum scx_exit_kind kind;
    s64 exit_code;
    const char *reason;
    char *msg;
};

struct scx_cpu_release_args;

struct sched_ext_ops {
    s32 (*select_cpu)(struct task_struct *p, s32 prev_cpu, u64 wake_flags);
    void (*enqueue)(struct task_struct *p, u64 enq_flags);
    void (*dispatch)(s32 cpu, struct task_struct *prev);
    void (*runnable)(struct task_struct *p, u64 enq_flags);
    bool (*yield)(struct task_struct *from, struct task_struct *to);
    void (*stopping)(struct task_struct *p, bool runnable);
    void (*quiescent)(struct task_struct *p, u64 deq_flags);
    void (*cpu_release)(s32 cpu, struct scx_cpu_release_args *args);
    void (*enable)(struct task_struct *p);
    s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
    s32 (*init)(void);
    void (*exit)(struct scx_exit_info *info);
    u64 flags;
    u32 timeout_ms;
    char name[128];
};

struct bpf_perf_event_data;

struct bpf_perf_event_value {
    __u64 counter;
    __u64 enabled;
    __u64 running;
};

#pragma clang attribute pop

/* Of task_struct.policy: SCHED_FIFO, SCHED_RR and SCHED_DEADLINE. */
enum {
    CLASS_FIFO = 1,
    CLASS_ROUND_ROBIN = 2,
    CLASS_DEADLINE = 6,
};

/* Of task_struct.flags (PF_KTHREAD). */
#define TASK_IS_KERNEL_THREAD 0x00200000

/* Their values differ from kernel to kernel: ENQ() asks the running one. */
enum scx_enq_flags {
    SCX_ENQ_WAKEUP = 1,
    SCX_ENQ_HEAD = 1 << 4,
    SCX_ENQ_PREEMPT = 1LLU << 32,
};

#define ENQ(name) bpf_core_enum_value(enum scx_enq_flags, SCX_ENQ_##name)

enum scx_kick_flags {
    SCX_KICK_IDLE = 1,
    SCX_KICK_PREEMPT = 2,
};

enum scx_ops_flags {
    SCX_OPS_ENQ_LAST = 1 << 1,
    SCX_OPS_ENQ_EXITING = 1 << 2,
    SCX_OPS_ENQ_MIGRATION_DISABLED = 1 << 4,
};

enum scx_dsq_id_flags {
    SCX_DSQ_LOCAL = 0x8000000000000002LLU,
    SCX_DSQ_LOCAL_ON = 0xC000000000000000LLU,
};

enum scx_ent_flags {
    SCX_TASK_QUEUED = 1,
};

#define SCX_SLICE_DEFAULT_NS 20000000ULL
#define SCX_SLICE_ENDLESS 0xffffffffffffffffULL

struct bpf_iter_scx_dsq {
    u64 __opaque[6];
};

extern const struct rq runqueues __ksym;
void bpf_rcu_read_lock(void) __ksym;
void bpf_rcu_read_unlock(void) __ksym;
s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
s32 scx_bpf_pick_idle_cpu(const cpumask_t *cpus_allowed, u64 flags) __ksym;
s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev_cpu, u64 wake_flags,
                           bool *is_idle) __ksym;
void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags) __ksym __weak;
void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
                              u64 enq_flags) __ksym __weak;
bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;
u32 scx_bpf_reenqueue_local(void) __ksym __weak;
bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *iterator, struct task_struct *p, u64 dsq_id,
                      u64 enq_flags) __ksym __weak;
int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
bool scx_bpf_task_running(const struct task_struct *p) __ksym;
s32 scx_bpf_task_cpu(const struct task_struct *p) __ksym;
u32 bpf_cpumask_first(const struct cpumask *cpumask) __ksym;
bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *cpumask) __ksym;

#endif
