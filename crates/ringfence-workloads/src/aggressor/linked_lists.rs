//! PLL: shuffled linked lists, walked in turn.

use super::{Access, LISTS_MAX};
use std::hint::black_box;

/// Seed of the shuffle: the same lists in every run.
const SEED: u64 = 1;

/// Places of a walk; the nodes are in the memory of its owner.
///
/// The first word of a line is the index of the first word of the next line, so
/// that following a list is one load and no arithmetic. The second word is what
/// a writing walk changes.
#[derive(Debug)]
pub(super) struct LinkedLists {
    /// Word at which each list goes on; the first `lists` are used.
    at: [u32; LISTS_MAX],
    lists: usize,
    nodes: u64,
}

impl LinkedLists {
    /// Links `lines`, which are at least as many as `lists`. Each list is one random
    /// cycle over its share (Sattolo, "An algorithm to generate a random cyclic
    /// permutation", 1986).
    pub(super) fn link(memory: &mut [u32], stride: usize, lines: &[u32], lists: usize) -> Self {
        let mut random = SEED;
        let mut at = [0; LISTS_MAX];
        for (list, head) in at[..lists].iter_mut().enumerate() {
            let share = &lines[lines.len() * list / lists..lines.len() * (list + 1) / lists];
            let mut cycle = share.to_vec();
            for last in (1..cycle.len()).rev() {
                cycle.swap(last, below(last as u64, &mut random) as usize);
            }
            for (&line, &next) in share.iter().zip(&cycle) {
                memory[line as usize * stride] = next * stride as u32;
            }
            *head = share[0] * stride as u32;
        }
        Self {
            at,
            lists,
            nodes: lines.len() as u64,
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Follows every list for the same number of nodes; how many these are together.
    pub(super) fn run(&mut self, memory: &mut [u32], access: Access, accesses: u64) -> u64 {
        let rounds = accesses.div_ceil(self.lists as u64);
        match (access, &mut self.at[..self.lists]) {
            // Nothing but the chain itself: it measures latencies.
            (Access::Read, [at]) => *at = chase(memory, *at, rounds),
            (Access::Read, at) => read(memory, at, rounds),
            (Access::Write, at) => write(memory, at, rounds),
        }
        rounds * self.lists as u64
    }
}

#[inline(never)]
fn chase(memory: &[u32], mut at: u32, rounds: u64) -> u32 {
    for _ in 0..rounds {
        at = memory[at as usize];
    }
    black_box(at)
}

#[inline(never)]
fn read(memory: &[u32], lists: &mut [u32], rounds: u64) {
    for _ in 0..rounds {
        for at in &mut *lists {
            *at = memory[*at as usize];
        }
    }
    black_box(lists);
}

#[inline(never)]
fn write(memory: &mut [u32], lists: &mut [u32], rounds: u64) {
    for round in 0..rounds {
        for at in &mut *lists {
            let node = *at as usize;
            *at = memory[node];
            memory[node + 1] = round as u32;
        }
    }
    black_box(memory);
}

/// A number below `bound`, at least 1, by SplitMix64 (Steele, Lea and Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014); its bias is below 2^-32.
fn below(bound: u64, state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *state;
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^= mixed >> 31;
    (u128::from(mixed) * u128::from(bound) >> 64) as u64
}
