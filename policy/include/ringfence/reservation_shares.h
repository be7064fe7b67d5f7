/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Shares of a reservation: a number of events divided by weights, to the event. It knows
 * of no VM and no period; reservation.h has the rules.
 *
 * The shares add up to what is divided, and none is an event or more away from its exact
 * part. Shares are cut off it one after the other, each where the weights up to and
 * including it end, rounded down: a share is what lies between two cuts.
 */
#ifndef RINGFENCE_RESERVATION_SHARES_H
#define RINGFENCE_RESERVATION_SHARES_H

#include "cpu_set.h"

#define RF_RESERVATION_MAX_WEIGHTS 0xffffffffU

/*@
  // Of the eight numbers, those before the n-th, added up.
  logic integer rf_reservation_sum(integer n, integer a, integer b, integer c, integer d,
                                   integer e, integer f, integer g, integer h) =
      (n > 0 ? a : 0) + (n > 1 ? b : 0) + (n > 2 ? c : 0) + (n > 3 ? d : 0) +
      (n > 4 ? e : 0) + (n > 5 ? f : 0) + (n > 6 ? g : 0) + (n > 7 ? h : 0);

  // floor(budget * part / whole)
  predicate rf_reservation_is_cut(integer cut, integer budget, integer part, integer whole) =
      cut * whole <= budget * part < (cut + 1) * whole;

  // Less than an event away from the exact part, budget * weight / whole.
  predicate rf_reservation_is_fair(integer share, integer budget, integer weight,
                                   integer whole) =
      (share - 1) * whole < budget * weight < (share + 1) * whole;

  // Said of cuts and not of products, which Z3 would find everywhere.
  lemma rf_reservation_cut_within:
      \forall integer cut, budget, part, whole;
          rf_reservation_is_cut(cut, budget, part, whole) ==>
              whole > 0 && budget >= 0 && part <= whole ==> cut <= budget;

  lemma rf_reservation_cuts_in_order:
      \forall integer below, upto, budget, from, to, whole;
          rf_reservation_is_cut(below, budget, from, whole) &&
          rf_reservation_is_cut(upto, budget, to, whole) ==>
              whole > 0 && budget >= 0 && from <= to ==> below <= upto;

  lemma rf_reservation_cuts_apart:
      \forall integer below, upto, budget, from, to, whole;
          rf_reservation_is_cut(below, budget, from, whole) &&
          rf_reservation_is_cut(upto, budget, to, whole) ==>
              whole > 0 ==> rf_reservation_is_fair(upto - below, budget, to - from, whole);

  lemma rf_reservation_last_cut:
      \forall integer cut, budget, whole;
          rf_reservation_is_cut(cut, budget, whole, whole) ==> whole > 0 ==> cut == budget;
*/

/* floor(rest * part / whole) */
/*@
  requires rest < whole && part <= whole;
  assigns \nothing;
  ensures rf_reservation_is_cut(\result, rest, part, whole);
  ensures \result <= rest;
*/
static inline uint64_t rf_reservation_cut_rest(uint32_t rest, uint32_t part, uint32_t whole) {
    uint64_t product = (uint64_t)rest * part;
    /*@ assert 0 <= (integer)rest * part <= RF_RESERVATION_MAX_WEIGHTS * RF_RESERVATION_MAX_WEIGHTS; */
    /*@ assert product == (integer)rest * part; */
    uint64_t cut = product / whole;
    /*@ assert cut * whole <= product < (cut + 1) * whole; */
    /*@ assert rf_reservation_is_cut(cut, rest, part, whole); */
    return cut;
}

/*
 * floor(budget * part / whole). Whole multiples of `whole` and the rest are scaled
 * apart, so that no product needs more than 64 bits.
 */
/*@
  requires part <= whole && whole > 0;
  assigns \nothing;
  ensures rf_reservation_is_cut(\result, budget, part, whole);
  ensures \result <= budget;
*/
static inline uint64_t rf_reservation_cut(uint64_t budget, uint32_t part, uint32_t whole) {
    uint64_t multiples = budget / whole;
    uint32_t rest = (uint32_t)(budget % whole);
    /*@ assert budget == multiples * whole + rest; */
    /*@ assert budget * part == (multiples * part) * whole + rest * part; */
    /*@ assert 0 <= (integer)multiples * part <= multiples * whole; */
    uint64_t of_rest = rf_reservation_cut_rest(rest, part, whole);
    /*@ assert of_rest * whole <= (integer)rest * part < of_rest * whole + whole; */
    uint64_t cut = multiples * part + of_rest;
    /*@ assert cut == (integer)multiples * part + of_rest <= budget; */
    /*@ assert cut * whole == (multiples * part) * whole + of_rest * whole; */
    /*@ assert cut * whole <= budget * part < cut * whole + whole; */
    return cut;
}

#endif
