/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Share limit: real-time work runs at most limit_ns of every window_ns.
 *
 * A fixed-priority class above everything else can starve what is below it, and
 * a kernel ejects a scheduler under which a task stays runnable without running.
 * So real-time work of a partition as a whole gets a share, like the one that
 * Linux gives its own real-time class (sched_rt_runtime_us of sched_rt_period_us).
 *
 * Rules
 *  1. Windows lie back to back on a fixed grid that starts at init.
 *  2. Time counts as used while `busy`: at least one real-time thread runs.
 *  3. When limit_ns of a window are used, the share is exhausted until it ends.
 *  4. Only rf_share_check changes whether the share is exhausted, so that the
 *     caller can tell CPUs about every change. rf_share_advance only counts.
 *  5. Time that runs backwards, as it can between the clocks of two CPUs, stands still.
 *
 * Known gaps
 *  - Use goes on from the instant of exhaustion until the caller has stopped its
 *    CPUs; that overshoot is counted, but not taken from the next window.
 *  - The end of one window and the start of the next can both be used: up to
 *    2 * limit_ns in one go.
 */
#ifndef RINGFENCE_SHARE_H
#define RINGFENCE_SHARE_H

#include "cpu_set.h"

/* Linux's own default: 5 % of each second stays for everything else. */
#define RF_SHARE_DEFAULT_LIMIT_NS 950000000U
#define RF_SHARE_DEFAULT_WINDOW_NS 1000000000U

/* Half of all time (292 years), so that sums of two windows do not wrap. */
#define RF_SHARE_MAX_WINDOW_NS 0x7fffffffffffffffU

/* A time that never comes. */
#define RF_SHARE_NEVER_NS 0xffffffffffffffffU

struct rf_share {
    uint64_t limit_ns;
    uint64_t window_ns; /* 0: no limit, and nothing is counted */
    uint64_t window_start_ns;
    uint64_t seen_ns;            /* latest time reported; lies in the window */
    uint64_t used_ns;            /* of the window, up to seen_ns */
    uint64_t exhausted_until_ns; /* 0: not exhausted */
};

enum rf_share_change {
    RF_SHARE_SAME = 0,
    RF_SHARE_EXHAUSTED,
    RF_SHARE_RENEWED,
};

/*@
  predicate rf_share_settings(integer limit_ns, integer window_ns) =
      (limit_ns == 0 && window_ns == 0) ||
      0 < limit_ns < window_ns <= RF_SHARE_MAX_WINDOW_NS;

  predicate rf_share_valid{L}(struct rf_share *s) =
      rf_share_settings(s->limit_ns, s->window_ns) &&
      (s->window_ns == 0 ==> s->exhausted_until_ns == 0) &&
      (s->window_ns > 0 ==>
          0 <= s->seen_ns - s->window_start_ns < s->window_ns &&
          s->used_ns <= s->seen_ns - s->window_start_ns);
*/

/* True for 0 < limit_ns < window_ns, and for 0 and 0: no limit. */
/*@
  assigns \nothing;
  ensures \result <==> rf_share_settings(limit_ns, window_ns);
*/
static inline bool rf_share_settings_ok(uint64_t limit_ns, uint64_t window_ns) {
    if (window_ns == 0)
        return limit_ns == 0;
    return limit_ns > 0 && limit_ns < window_ns && window_ns <= RF_SHARE_MAX_WINDOW_NS;
}

/*@
  requires \valid(share);
  requires rf_share_settings(limit_ns, window_ns);
  assigns *share;
  ensures rf_share_valid(share);
  ensures share->limit_ns == limit_ns && share->window_ns == window_ns;
  ensures share->window_start_ns == now_ns && share->seen_ns == now_ns;
  ensures share->used_ns == 0 && share->exhausted_until_ns == 0;
*/
static inline void rf_share_init(struct rf_share *share, uint64_t limit_ns, uint64_t window_ns,
                                 uint64_t now_ns) {
    share->limit_ns = limit_ns;
    share->window_ns = window_ns;
    share->window_start_ns = now_ns;
    share->seen_ns = now_ns;
    share->used_ns = 0;
    share->exhausted_until_ns = 0;
}

/* Counts the time since the last call as used if `busy`, up to now_ns. */
/*@
  requires \valid(share) && rf_share_valid(share);
  assigns share->window_start_ns, share->seen_ns, share->used_ns;
  ensures rf_share_valid(share);
  behavior stands_still:
    assumes share->window_ns == 0 || now_ns <= share->seen_ns;
    ensures share->window_start_ns == \old(share->window_start_ns);
    ensures share->seen_ns == \old(share->seen_ns);
    ensures share->used_ns == \old(share->used_ns);
  behavior same_window:
    assumes share->window_ns > 0 && now_ns > share->seen_ns;
    assumes now_ns - share->window_start_ns < share->window_ns;
    ensures share->window_start_ns == \old(share->window_start_ns);
    ensures share->seen_ns == now_ns;
    ensures share->used_ns ==
        \old(share->used_ns) + (busy ? now_ns - \old(share->seen_ns) : 0);
  behavior later_window:
    assumes share->window_ns > 0 && now_ns > share->seen_ns;
    assumes now_ns - share->window_start_ns >= share->window_ns;
    ensures share->seen_ns == now_ns;
    ensures share->used_ns == (busy ? now_ns - share->window_start_ns : 0);
  complete behaviors;
  disjoint behaviors;
*/
static inline void rf_share_advance(struct rf_share *share, uint64_t now_ns, bool busy) {
    if (share->window_ns == 0 || now_ns <= share->seen_ns)
        return;
    uint64_t into_window_ns = now_ns - share->window_start_ns;
    if (into_window_ns < share->window_ns) {
        if (busy)
            share->used_ns += now_ns - share->seen_ns;
    } else {
        into_window_ns %= share->window_ns;
        share->window_start_ns = now_ns - into_window_ns;
        /*@ assert on_the_grid: share->window_start_ns == \at(share->window_start_ns, Pre) +
              share->window_ns * ((now_ns - \at(share->window_start_ns, Pre)) / share->window_ns); */
        share->used_ns = busy ? into_window_ns : 0;
    }
    share->seen_ns = now_ns;
}

/* When the window ends; never, if that is after the last time that 64 bits hold. */
/*@
  requires \valid_read(share) && rf_share_valid(share) && share->window_ns > 0;
  assigns \nothing;
  ensures \result > share->seen_ns || \result == RF_SHARE_NEVER_NS;
  ensures share->window_start_ns + share->window_ns <= RF_SHARE_NEVER_NS ==>
      \result == share->window_start_ns + share->window_ns;
*/
static inline uint64_t rf_share_window_end_ns(const struct rf_share *share) {
    if (share->window_start_ns > RF_SHARE_NEVER_NS - share->window_ns)
        return RF_SHARE_NEVER_NS;
    return share->window_start_ns + share->window_ns;
}

/*
 * Settles at the time last reported whether the share is exhausted, and returns
 * what changed. A late caller can find one window over and the next one used up
 * already: that is RF_SHARE_EXHAUSTED.
 */
/*@
  requires \valid(share) && rf_share_valid(share);
  assigns share->exhausted_until_ns;
  ensures rf_share_valid(share);
  behavior used_up:
    assumes share->window_ns > 0 && share->used_ns >= share->limit_ns;
    assumes share->exhausted_until_ns == 0 || share->exhausted_until_ns <= share->seen_ns;
    ensures \result == RF_SHARE_EXHAUSTED;
    ensures share->exhausted_until_ns > share->seen_ns ||
            share->exhausted_until_ns == RF_SHARE_NEVER_NS;
  behavior over:
    assumes share->window_ns > 0 && share->used_ns < share->limit_ns;
    assumes 0 < share->exhausted_until_ns <= share->seen_ns;
    ensures \result == RF_SHARE_RENEWED;
    ensures share->exhausted_until_ns == 0;
  behavior same:
    assumes share->window_ns == 0 || share->exhausted_until_ns > share->seen_ns ||
            (share->exhausted_until_ns == 0 && share->used_ns < share->limit_ns);
    ensures \result == RF_SHARE_SAME;
    ensures share->exhausted_until_ns == \old(share->exhausted_until_ns);
  complete behaviors;
  disjoint behaviors;
*/
static inline enum rf_share_change rf_share_check(struct rf_share *share) {
    if (share->window_ns == 0 || share->exhausted_until_ns > share->seen_ns)
        return RF_SHARE_SAME;
    if (share->used_ns >= share->limit_ns) {
        share->exhausted_until_ns = rf_share_window_end_ns(share);
        return RF_SHARE_EXHAUSTED;
    }
    if (share->exhausted_until_ns == 0)
        return RF_SHARE_SAME;
    share->exhausted_until_ns = 0;
    return RF_SHARE_RENEWED;
}

/* True while real-time work has to wait for the end of a window. */
/*@
  requires \valid_read(share);
  assigns \nothing;
  ensures \result <==> share->exhausted_until_ns != 0;
*/
static inline bool rf_share_is_exhausted(const struct rf_share *share) {
    return share->exhausted_until_ns != 0;
}

/*
 * When rf_share_check can next have something to say, if `busy` stays as it is.
 * RF_SHARE_NEVER_NS: not before it changes.
 */
/*@
  requires \valid_read(share) && rf_share_valid(share);
  assigns \nothing;
  behavior exhausted:
    assumes share->exhausted_until_ns != 0;
    ensures \result == share->exhausted_until_ns;
  behavior idle:
    assumes share->exhausted_until_ns == 0 && (share->window_ns == 0 || !busy);
    ensures \result == RF_SHARE_NEVER_NS;
  behavior this_window:
    assumes share->exhausted_until_ns == 0 && share->window_ns > 0 && busy;
    assumes share->seen_ns + \max(0, share->limit_ns - share->used_ns) <
            share->window_start_ns + share->window_ns;
    ensures \result == \min(RF_SHARE_NEVER_NS,
        share->seen_ns + \max(0, share->limit_ns - share->used_ns));
  behavior next_window:
    assumes share->exhausted_until_ns == 0 && share->window_ns > 0 && busy;
    assumes share->seen_ns + \max(0, share->limit_ns - share->used_ns) >=
            share->window_start_ns + share->window_ns;
    ensures \result == \min(RF_SHARE_NEVER_NS,
        share->window_start_ns + share->window_ns + share->limit_ns);
  complete behaviors;
  disjoint behaviors;
*/
static inline uint64_t rf_share_next_check_ns(const struct rf_share *share, bool busy) {
    if (share->exhausted_until_ns != 0)
        return share->exhausted_until_ns;
    if (share->window_ns == 0 || !busy)
        return RF_SHARE_NEVER_NS;
    uint64_t left_ns = share->used_ns < share->limit_ns ? share->limit_ns - share->used_ns : 0;
    uint64_t to_window_end_ns = share->window_ns - (share->seen_ns - share->window_start_ns);
    /* If the window ends first, the next one starts with the whole limit. */
    uint64_t delay_ns = left_ns < to_window_end_ns ? left_ns : to_window_end_ns + share->limit_ns;
    if (delay_ns > RF_SHARE_NEVER_NS - share->seen_ns)
        return RF_SHARE_NEVER_NS;
    return share->seen_ns + delay_ns;
}

#endif
