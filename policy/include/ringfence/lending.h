/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Lending: what vCPUs of some VMs will probably not use of a period is used by others, in
 * that period. Who takes part is configured: VMs that lend, VMs that borrow, or both.
 *
 * Beyond H-MBR (NG-RES 2025), which leaves what is unused unused. That a core is predicted to
 * use what it has used in the period before is MemGuard's (RTAS 2013, IV-B); that it keeps
 * twice as much, and what happens when that was too little, is ours.
 *
 * Rules
 *  1. A lender gives at the begin of a period, out of its share of that same period. It
 *     keeps twice what it used of its share in the period before, and one event: by that
 *     one it is seen to wake. What is given is used, for reservation.h.
 *  2. A lender that had nothing left at any time of a period was too generous, or needs all
 *     it has: it gives nothing in the next. Nor does one that did not begin the period
 *     before.
 *  3. What is given is in the pool for that period alone. A vCPU that has used its share
 *     borrows from the pool of the period that it is in. What it borrowed and did not use
 *     ends with the period, and so does what nobody borrowed.
 *  4. A period that is late gives nothing: once somebody has given in a later one, the
 *     pool is for that.
 *  5. Use is of what is borrowed first, then of the share, and beyond that is debt in
 *     reservation.h.
 *
 * What follows
 *  a. Events move and none is made: what is in the pool, and what was borrowed, is together
 *     what was given in that period. So in each period all that VMs may use is together at
 *     most the sum of their shares.
 *  b. A VM that does not lend has its whole share in each period. Nothing here is called for
 *     it unless it borrows, and borrowing never takes from its share.
 *  c. A lender that wakes has at once what it kept, and its whole share from its next period
 *     on, unless it owes: nobody else holds any of that.
 *  d. A loan is for less than a period, and needs no word from the lender to end.
 *
 * State: a pool for all that take part, and of each vCPU what it used and has borrowed.
 *
 * The caller serialises all calls for one pool and all for one vCPU. All that take part have
 * periods of the same length and with the same numbers (periods.h). It calls
 * rf_lending_begin behind each refill and charges what is given to the lender's share;
 * calls rf_lending_use for each use before it charges what that leaves; and arms a core's
 * counter with what it has left and has borrowed.
 *
 * Known gaps
 *  - Cores begin a period at slightly different times: who is late can use what it borrowed
 *    until it finds out, as with its share.
 *  - A borrower's overshoot is paid back out of its own shares, but in the period that it
 *    happens in it comes on top, as without lending.
 *  - Who asks first gets all that he asks for.
 */
#ifndef RINGFENCE_LENDING_H
#define RINGFENCE_LENDING_H

#include "budget.h"

/* A period that never begins. */
#define RF_LENDING_NEVER 0xffffffffffffffffU
/* Events that a lender keeps: whatever it has. */
#define RF_LENDING_ALL 0xffffffffffffffffU

/* What lenders gave for a period and nobody has borrowed. */
struct rf_lending_pool {
    uint64_t period;
    uint64_t events;
};

struct rf_lending_vcpu {
    uint64_t next_period; /* behind the one that it is in; 0 before its first */
    uint64_t used;        /* of its share in this period; RF_LENDING_ALL: nothing was left */
    uint64_t borrowed;    /* in this period, and not used yet */
};

/*@
  logic integer rf_lending_kept(integer used) =
      \min(2 * used + 1, RF_LENDING_ALL);

  // What a lender gives.
  logic integer rf_lending_gift{L}(struct rf_lending_pool *pool,
                                   struct rf_lending_vcpu *vcpu, integer period, integer left) =
      vcpu->next_period != period || period < pool->period ? 0 :
          \max(0, left - rf_lending_kept(vcpu->used));

  // What is in the pool for a period.
  logic integer rf_lending_in_pool{L}(struct rf_lending_pool *pool, integer period) =
      pool->period == period ? pool->events : 0;

  predicate rf_lending_pool_kept{From, To}(struct rf_lending_pool *pool) =
      \at(pool->period, To) == \at(pool->period, From) &&
      \at(pool->events, To) == \at(pool->events, From);
*/

/* Nothing is lent. */
/*@
  requires \valid(pool);
  assigns *pool;
  ensures pool->events == 0 && pool->period == 0;
*/
static inline void rf_lending_init(struct rf_lending_pool *pool) {
    pool->period = 0;
    pool->events = 0;
}

/* A vCPU that is in no period yet. */
/*@
  requires \valid(vcpu);
  assigns *vcpu;
  ensures vcpu->next_period == 0 && vcpu->used == RF_LENDING_ALL && vcpu->borrowed == 0;
*/
static inline void rf_lending_init_vcpu(struct rf_lending_vcpu *vcpu) {
    vcpu->next_period = 0;
    vcpu->used = RF_LENDING_ALL;
    vcpu->borrowed = 0;
}

/*@
  assigns \nothing;
  ensures \result == rf_lending_kept(used);
  ensures \result >= 1;
*/
static inline uint64_t rf_lending_keep(uint64_t used) {
    return used <= (RF_LENDING_ALL - 1) / 2 ? 2 * used + 1 : RF_LENDING_ALL;
}

/* Puts events into the pool for a period that is not before the pool's. How many: all that
 * it can count. */
/*@
  requires \valid(pool) && period >= pool->period;
  assigns *pool;
  ensures pool->period == period;
  ensures moved: pool->events == \old(rf_lending_in_pool(pool, period)) + \result;
  ensures \result <= events;
  ensures all: \old(rf_lending_in_pool(pool, period)) + events <= RF_LENDING_ALL ==>
      \result == events;
*/
static inline uint64_t rf_lending_give(struct rf_lending_pool *pool, uint64_t period,
                                       uint64_t events) {
    if (period > pool->period) {
        pool->period = period;
        pool->events = 0;
    }
    uint64_t room = RF_LENDING_ALL - pool->events;
    uint64_t given = events < room ? events : room;
    pool->events += given;
    return given;
}

/*
 * A vCPU has begun `period`, with `left` of its share; a lender gives some of it. How much:
 * to be charged to its share. Whatever it had borrowed is gone. 0, and nothing has changed,
 * if it has begun that period before.
 */
/*@
  requires \valid(pool) && \valid(vcpu) && \separated(pool, vcpu);
  assigns *pool, *vcpu;
  behavior again:
    assumes period < vcpu->next_period || period == RF_LENDING_NEVER;
    assigns \nothing;
    ensures \result == 0;
  behavior begun:
    assumes vcpu->next_period <= period < RF_LENDING_NEVER;
    ensures vcpu->next_period == period + 1 && vcpu->borrowed == 0;
    ensures vcpu->used == (left == 0 ? RF_LENDING_ALL : 0);
    ensures keeps_one: \result == 0 || \result < left;
    ensures at_most: \result <= \old(rf_lending_gift(pool, vcpu, period, left));
    ensures no_lender: !lends ==> \result == 0;
    ensures exact: lends && \old(rf_lending_in_pool(pool, period)) + left <= RF_LENDING_ALL ==>
        \result == \old(rf_lending_gift(pool, vcpu, period, left));
    ensures moved: \result > 0 ==> pool->period == period &&
        pool->events == \old(rf_lending_in_pool(pool, period)) + \result;
    ensures nothing: \result == 0 ==> rf_lending_pool_kept{Pre, Post}(pool) ||
        (pool->period == period && pool->events == \old(rf_lending_in_pool(pool, period)));
  complete behaviors;
  disjoint behaviors;
*/
static inline uint64_t rf_lending_begin(struct rf_lending_pool *pool, struct rf_lending_vcpu *vcpu,
                                        uint64_t period, uint64_t left, bool lends) {
    if (period < vcpu->next_period || period == RF_LENDING_NEVER)
        return 0;
    bool may_give = lends && period == vcpu->next_period && period >= pool->period;
    uint64_t keep = may_give ? rf_lending_keep(vcpu->used) : RF_LENDING_ALL;
    vcpu->next_period = period + 1;
    vcpu->used = left == 0 ? RF_LENDING_ALL : 0;
    vcpu->borrowed = 0;
    return left > keep ? rf_lending_give(pool, period, left - keep) : 0;
}

/*
 * A vCPU with `left` of its share has used events. How many of them are to be charged to the
 * share: those that are not of what it has borrowed.
 */
/*@
  requires \valid(vcpu);
  assigns vcpu->used, vcpu->borrowed;
  ensures moved: \result + (\old(vcpu->borrowed) - vcpu->borrowed) == events;
  ensures borrowed_first: vcpu->borrowed == \max(0, \old(vcpu->borrowed) - events);
  ensures short: \result >= left ==> vcpu->used == RF_LENDING_ALL;
  ensures counted: \result < left ==>
      vcpu->used == \min(\old(vcpu->used) + \result, RF_LENDING_ALL);
*/
static inline uint64_t rf_lending_use(struct rf_lending_vcpu *vcpu, uint64_t events,
                                      uint64_t left) {
    uint64_t of_loan = events < vcpu->borrowed ? events : vcpu->borrowed;
    uint64_t of_share = events - of_loan;
    vcpu->borrowed -= of_loan;
    if (of_share >= left || of_share > RF_LENDING_ALL - vcpu->used)
        vcpu->used = RF_LENDING_ALL;
    else
        vcpu->used += of_share;
    return of_share;
}

/* A vCPU borrows for the period that it is in, at most so many events. How many: those that
 * there are. */
/*@
  requires \valid(pool) && \valid(vcpu) && \separated(pool, vcpu);
  assigns pool->events, vcpu->borrowed;
  ensures moved: pool->events + vcpu->borrowed == \old(pool->events + vcpu->borrowed);
  ensures vcpu->borrowed == \old(vcpu->borrowed) + \result;
  ensures \result <= most;
  ensures its_period: \result > 0 ==> pool->period + 1 == vcpu->next_period;
  ensures all: pool->period + 1 == vcpu->next_period && \old(vcpu->borrowed) == 0 ==>
      \result == \min(most, \old(pool->events));
*/
static inline uint64_t rf_lending_borrow(struct rf_lending_pool *pool, struct rf_lending_vcpu *vcpu,
                                         uint64_t most) {
    if (vcpu->next_period == 0 || pool->period != vcpu->next_period - 1)
        return 0;
    uint64_t room = RF_LENDING_ALL - vcpu->borrowed;
    uint64_t taken = pool->events < most ? pool->events : most;
    taken = taken < room ? taken : room;
    pool->events -= taken;
    vcpu->borrowed += taken;
    return taken;
}

#endif
