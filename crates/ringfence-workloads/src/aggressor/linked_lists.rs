//! PLL: shuffled linked lists, walked in turn.

use super::Access;
use ringfence_victims::random::Random;
use std::hint::black_box;

/// Seed of the shuffle: the same lists in every run.
const SEED: u64 = 1;

/// Places of a walk; the nodes are in the memory of its owner.
///
/// The first word of a node is the index of the first word of the next node, so that
/// following a list is one load and no arithmetic. The second word is what a writing
/// walk changes.
#[derive(Debug)]
pub(super) struct LinkedLists {
    /// Word at which each list goes on.
    at: Vec<u32>,
    nodes: u64,
}

impl LinkedLists {
    /// Links `nodes`, words of `memory` that are at least as many as `lists`. Each list is
    /// one random cycle over its share (Sattolo, "An algorithm to generate a random cyclic
    /// permutation", 1986).
    pub(super) fn link(memory: &mut [u32], nodes: &[u32], lists: usize) -> Self {
        let mut random = Random::new(SEED);
        let mut at = vec![0; lists];
        for (list, head) in at.iter_mut().enumerate() {
            let share = &nodes[nodes.len() * list / lists..nodes.len() * (list + 1) / lists];
            let mut cycle = share.to_vec();
            for last in (1..cycle.len()).rev() {
                cycle.swap(last, random.below(last as u32) as usize);
            }
            for (&node, &next) in share.iter().zip(&cycle) {
                memory[node as usize] = next;
            }
            *head = share[0];
        }
        Self {
            at,
            nodes: nodes.len() as u64,
        }
    }

    pub(super) fn nodes(&self) -> u64 {
        self.nodes
    }

    /// Follows every list for the same number of nodes; how many these are together.
    pub(super) fn run(&mut self, memory: &mut [u32], access: Access, accesses: u64) -> u64 {
        let rounds = accesses.div_ceil(self.at.len() as u64);
        match (access, &mut self.at[..]) {
            // Nothing but the chain itself: it measures latencies.
            (Access::Read, [at]) => *at = chase(memory, *at, rounds),
            (Access::Read, at) => read(memory, at, rounds),
            (Access::Write, at) => write(memory, at, rounds),
        }
        rounds * self.at.len() as u64
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
