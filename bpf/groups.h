/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Control groups that belong to gangs: who is put into one, or into one below it, becomes a
 * member, and who is taken out of it is none any more.
 *
 * The kernel tells it in the thread that does so, which keeps the process from forking and ending
 * meanwhile; a fork inherits before or after it. So what is started next has the right gang. A
 * thread that runs or waits is put into another queue by the process that enforces, since
 * nothing but a change of its class does that; it is told by `moves`.
 *
 * Known gap: the kernel tells of a process with interrupts off, so that the CPU of whoever moves
 * one of thousands of threads is held up while they are gone through.
 */
#ifndef RINGFENCE_BPF_GROUPS_H
#define RINGFENCE_BPF_GROUPS_H

#include "events.h"
#include "state.h"

#define BPF_TASK_ITER_PROC_THREADS 2
/* Of the flags of clone3(2): the child begins in another group of version 2. */
#define CLONE_INTO_CGROUP 0x200000000ULL
/* Levels of groups that are looked at, from the innermost on. */
#define MAX_LEVELS 256
#define MAX_GROUPS 1024

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cgroup;

struct cgroup_subsys_state {
    struct cgroup *cgroup;
    struct cgroup_subsys_state *parent;
};

struct kernfs_node {
    u64 id;
};

struct cgroup_root {
    int hierarchy_id;
};

struct cgroup {
    struct cgroup_subsys_state self;
    struct kernfs_node *kn;
    struct cgroup_root *root;
};

struct css_set {
    struct cgroup *dfl_cgrp; /* of version 2 */
};

struct task_struct___of_groups {
    struct css_set *cgroups;
};

#pragma clang attribute pop

struct bpf_iter_task {
    u64 __opaque[3];
} __attribute__((aligned(8)));

int bpf_iter_task_new(struct bpf_iter_task *it, struct task_struct *task, u32 flags) __ksym __weak;
struct task_struct *bpf_iter_task_next(struct bpf_iter_task *it) __ksym __weak;
void bpf_iter_task_destroy(struct bpf_iter_task *it) __ksym __weak;

/* What a thread in the group becomes, and that it does by this group. User space writes it. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, MAX_GROUPS);
    __type(key, struct group);
    __type(value, struct membership);
} groups SEC(".maps");

/* A thread that is of another gang than before, by its group. */
struct move {
    u32 tid;
    u32 partition;
    u32 priority; /* 0: of none */
    u32 unused;
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 1 << 20);
} moves SEC(".maps");

static inline struct group key_of(struct cgroup *group, u32 hierarchy) {
    struct group key = {.id = BPF_CORE_READ(group, kn, id), .hierarchy = hierarchy};
    return key;
}

static inline u32 hierarchy_of(struct cgroup *group) {
    return (u32)BPF_CORE_READ(group, root, hierarchy_id);
}

/* What the innermost group makes of its threads that belongs to a gang; NULL if none does. */
static inline struct membership *membership_in(struct cgroup *group, u32 hierarchy) {
    u32 level;
    bpf_for(level, 0, MAX_LEVELS) {
        if (!group)
            return NULL;
        struct group key = key_of(group, hierarchy);
        struct membership *found = bpf_map_lookup_elem(&groups, &key);
        if (found)
            return found;
        group = BPF_CORE_READ(group, self.parent, cgroup);
    }
    return NULL;
}

static inline void tell_move(u32 tid, const struct membership *member) {
    struct move *move = bpf_ringbuf_reserve(&moves, sizeof(*move), 0);
    /* Without room it is of its new gang when it runs next. */
    if (!move)
        return;
    move->tid = tid;
    move->partition = member->partition;
    move->priority = member->priority;
    move->unused = 0;
    bpf_ringbuf_submit(move, 0);
}

/* The thread is in a group now that makes `found` of it; NULL: no gang. */
static inline void settle(struct task_struct *p, u32 hierarchy, const struct membership *found) {
    struct membership *member = bpf_task_storage_get(&memberships, p, 0, 0);
    /* The process that enforces must not wait for gangs. */
    if (!member || p->flags & TASK_IS_KERNEL_THREAD || (u32)p->tgid == agent_tgid)
        return;
    /* A member by its own number, or by a group of another hierarchy, leaves nothing here. */
    if (!found && !(member->group.id && member->group.hierarchy == hierarchy))
        return;
    struct membership none = {0};
    struct membership now = found ? *found : none;
    bool is_new = member->partition != now.partition || member->priority != now.priority;
    *member = now;
    if (is_new)
        tell_move((u32)p->pid, &now);
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(on_move, struct cgroup *group, const char *path, struct task_struct *thread,
             bool is_process) {
    u32 hierarchy = hierarchy_of(group);
    struct membership *found = membership_in(group, hierarchy);
    if (!is_process) {
        settle(thread, hierarchy, found);
        return 0;
    }
    struct task_struct *p;
    bpf_for_each(task, p, thread, BPF_TASK_ITER_PROC_THREADS) settle(p, hierarchy, found);
    return 0;
}

/* A child that inherits its parent's gang, and begins elsewhere; it has not run yet. */
SEC("tp_btf/task_newtask")
int BPF_PROG(on_clone, struct task_struct *p, u64 clone_flags) {
    if (!(clone_flags & CLONE_INTO_CGROUP))
        return 0;
    struct task_struct___of_groups *child = (void *)p;
    struct cgroup *group = BPF_CORE_READ(child, cgroups, dfl_cgrp);
    u32 hierarchy = hierarchy_of(group);
    settle(p, hierarchy, membership_in(group, hierarchy));
    return 0;
}

SEC("tp_btf/cgroup_rmdir")
int BPF_PROG(on_removal, struct cgroup *group, const char *path) {
    struct group key = key_of(group, hierarchy_of(group));
    bpf_map_delete_elem(&groups, &key);
    return 0;
}

#endif
