/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A set of up to RF_MAX_CPUS CPUs, one bit a CPU, and the sizes that all policies share.
 *
 * CPU numbers are the caller's to check: every function here requires cpu < RF_MAX_CPUS.
 * The contracts (ACSL) are discharged by policy/proofs/prove.sh.
 */
#ifndef RINGFENCE_CPU_SET_H
#define RINGFENCE_CPU_SET_H

/* In BPF the kernel's own types, generated from BTF, define these names already. */
#ifndef __VMLINUX_H__
#include <stdbool.h>
#include <stdint.h>
#endif

/*
 * CPUs that a set can hold, a multiple of 64, and partitions of them that a machine can
 * have. A place that knows its machine may build with fewer: shorter loops, same code.
 */
#ifndef RF_MAX_CPUS
#define RF_MAX_CPUS 512U
#endif
#define RF_MAX_PARTITIONS 64U

/*
 * An index into an array of `size` elements, which the code around it has checked. The
 * verifier of BPF cannot always follow that check to the index: there it is made once more.
 */
#ifndef RF_INDEX
#define RF_INDEX(index, size) (index)
#endif

#define RF_CPU_SET_WORD_BITS 64U
#define RF_CPU_SET_WORDS (RF_MAX_CPUS / RF_CPU_SET_WORD_BITS)

/* Bit cpu % 64 of word cpu / 64 is CPU `cpu`. */
struct rf_cpu_set {
    uint64_t word[RF_CPU_SET_WORDS];
};

/*@
  predicate rf_cpu_set_has{L}(struct rf_cpu_set *s, integer cpu) =
      ((s->word[cpu / 64] >> (cpu % 64)) & 1) != 0;

  predicate rf_cpu_set_empty{L}(struct rf_cpu_set *s) =
      \forall integer i; 0 <= i < 8 ==> s->word[i] == 0;

  predicate rf_cpu_set_copied{From, To}(struct rf_cpu_set *from, struct rf_cpu_set *to) =
      \forall integer i; 0 <= i < 8 ==> \at(from->word[i], From) == \at(to->word[i], To);

  predicate rf_cpu_set_added{From, To}(struct rf_cpu_set *s, integer cpu) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          (rf_cpu_set_has{To}(s, c) <==> c == cpu || rf_cpu_set_has{From}(s, c));

  predicate rf_cpu_set_removed{From, To}(struct rf_cpu_set *s, integer cpu) =
      \forall integer c; 0 <= c < RF_MAX_CPUS ==>
          (rf_cpu_set_has{To}(s, c) <==> c != cpu && rf_cpu_set_has{From}(s, c));
*/

/*@
  requires \valid(set);
  assigns *set;
  ensures rf_cpu_set_empty(set);
  ensures \forall integer c; 0 <= c < RF_MAX_CPUS ==> !rf_cpu_set_has(set, c);
*/
static inline void rf_cpu_set_clear(struct rf_cpu_set *set) {
    /*@
      loop invariant 0 <= i <= 8;
      loop invariant \forall integer k; 0 <= k < i ==> set->word[k] == 0;
      loop assigns i, set->word[0 .. 7];
      loop variant 8 - i;
    */
    for (uint32_t i = 0; i < RF_CPU_SET_WORDS; i++)
        set->word[i] = 0;
}

/*@
  requires \valid(to) && \valid_read(from) && \separated(to, from);
  assigns *to;
  ensures rf_cpu_set_copied{Pre, Post}(from, to);
*/
static inline void rf_cpu_set_copy(struct rf_cpu_set *to, const struct rf_cpu_set *from) {
    /*@
      loop invariant 0 <= i <= 8;
      loop invariant \forall integer k; 0 <= k < i ==> to->word[k] == from->word[k];
      loop assigns i, to->word[0 .. 7];
      loop variant 8 - i;
    */
    for (uint32_t i = 0; i < RF_CPU_SET_WORDS; i++)
        to->word[i] = from->word[i];
}

/*@
  requires \valid_read(set);
  assigns \nothing;
  ensures \result <==> rf_cpu_set_empty(set);
*/
static inline bool rf_cpu_set_is_empty(const struct rf_cpu_set *set) {
    /*@
      loop invariant 0 <= i <= 8;
      loop invariant \forall integer k; 0 <= k < i ==> set->word[k] == 0;
      loop assigns i;
      loop variant 8 - i;
    */
    for (uint32_t i = 0; i < RF_CPU_SET_WORDS; i++) {
        if (set->word[i] != 0)
            return false;
    }
    return true;
}

/*@
  requires \valid_read(set);
  requires cpu < RF_MAX_CPUS;
  assigns \nothing;
  ensures \result <==> rf_cpu_set_has(set, cpu);
*/
static inline bool rf_cpu_set_contains(const struct rf_cpu_set *set, uint32_t cpu) {
    return ((set->word[RF_INDEX(cpu / RF_CPU_SET_WORD_BITS, RF_CPU_SET_WORDS)] >>
             (cpu % RF_CPU_SET_WORD_BITS)) &
            1) != 0;
}

/*@
  requires \valid(set);
  requires cpu < RF_MAX_CPUS;
  assigns *set;
  ensures rf_cpu_set_added{Pre, Post}(set, cpu);
  ensures !rf_cpu_set_empty(set);
*/
static inline void rf_cpu_set_insert(struct rf_cpu_set *set, uint32_t cpu) {
    set->word[RF_INDEX(cpu / RF_CPU_SET_WORD_BITS, RF_CPU_SET_WORDS)] |=
        (uint64_t)1 << (cpu % RF_CPU_SET_WORD_BITS);
    /*@ assert \forall integer b; 0 <= b < 64 ==>
          (((set->word[cpu / 64] >> b) & 1) != 0 <==>
           b == cpu % 64 || ((\at(set->word[cpu / 64], Pre) >> b) & 1) != 0); */
    /*@ assert \forall integer c; 0 <= c < 512 ==> c / 64 == cpu / 64 ==> c % 64 == cpu % 64 ==>
          c == cpu; */
}

/*@
  requires \valid(set);
  requires cpu < RF_MAX_CPUS;
  assigns set->word[cpu / 64];
  ensures rf_cpu_set_removed{Pre, Post}(set, cpu);
  ensures \forall integer i; 0 <= i < 8 ==> \old(set->word[i]) == 0 ==> set->word[i] == 0;
*/
static inline void rf_cpu_set_remove(struct rf_cpu_set *set, uint32_t cpu) {
    set->word[RF_INDEX(cpu / RF_CPU_SET_WORD_BITS, RF_CPU_SET_WORDS)] &=
        ~((uint64_t)1 << (cpu % RF_CPU_SET_WORD_BITS));
    /*@ assert \forall integer b; 0 <= b < 64 ==>
          (((set->word[cpu / 64] >> b) & 1) != 0 <==>
           b != cpu % 64 && ((\at(set->word[cpu / 64], Pre) >> b) & 1) != 0); */
    /*@ assert \forall integer c; 0 <= c < 512 ==> c / 64 == cpu / 64 ==> c % 64 == cpu % 64 ==>
          c == cpu; */
}

#endif
