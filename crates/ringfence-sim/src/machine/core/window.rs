//! What an out-of-order core has begun and not finished: its reorder window.

use std::collections::VecDeque;

use crate::machine::Picoseconds;
use crate::machine::agenda::NEVER;
use crate::program::Access;

/// An access that waits for the load before it in its chain.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deferred {
    pub(super) line: u64,
    pub(super) access: Access,
    /// It cannot issue earlier.
    pub(super) dispatched_at: Picoseconds,
    /// Place in the program order, in time of dispatch.
    pub(super) position: Picoseconds,
}

/// The accesses of one stream that its core has dispatched and not issued.
///
/// It belongs to the stream: a thread that is interrupted issues them when it
/// comes back, as a core would that had thrown them away.
#[derive(Debug, Clone, Default)]
pub(crate) struct Window {
    /// By chain, in program order; as long as the highest chain that has been deferred.
    chains: Vec<VecDeque<Deferred>>,
    /// Chains with deferred accesses, a bit each.
    waiting: u64,
    /// Time that dispatching everything so far took.
    pub(super) position: Picoseconds,
}

impl Window {
    /// A new job begins.
    pub(crate) fn clear(&mut self) {
        self.chains.iter_mut().for_each(VecDeque::clear);
        self.waiting = 0;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    #[inline]
    pub(super) fn has(&self, chain: usize) -> bool {
        self.waiting >> chain & 1 == 1
    }

    pub(super) fn defer(&mut self, chain: usize, access: Deferred) {
        if self.chains.len() <= chain {
            self.chains.resize_with(chain + 1, VecDeque::new);
        }
        self.chains[chain].push_back(access);
        self.waiting |= 1 << chain;
    }

    /// The chain whose next access can issue first, and when, if that is known.
    /// `chain_ready` says when each chain's last load has its data.
    pub(super) fn first_ready(
        &self,
        chain_ready: &[Picoseconds; 64],
    ) -> Option<(usize, Picoseconds)> {
        self.waiting_chains()
            .filter(|&chain| chain_ready[chain] != NEVER)
            .map(|chain| {
                (
                    chain,
                    chain_ready[chain].max(self.front(chain).dispatched_at),
                )
            })
            .min_by_key(|&(_, at)| at)
    }

    pub(super) fn front(&self, chain: usize) -> Deferred {
        self.chains[chain][0]
    }

    pub(super) fn pop(&mut self, chain: usize) {
        self.chains[chain].pop_front();
        if self.chains[chain].is_empty() {
            self.waiting &= !(1 << chain);
        }
    }

    /// Position of the oldest deferred access, and when it can issue; `NEVER`
    /// while that is unknown.
    pub(super) fn oldest(
        &self,
        chain_ready: &[Picoseconds; 64],
    ) -> Option<(Picoseconds, Picoseconds)> {
        self.waiting_chains()
            .map(|chain| {
                let front = self.front(chain);
                (front.position, chain_ready[chain].max(front.dispatched_at))
            })
            .min()
    }

    fn waiting_chains(&self) -> impl Iterator<Item = usize> {
        let mut left = self.waiting;
        std::iter::from_fn(move || {
            (left != 0).then(|| {
                let chain = left.trailing_zeros() as usize;
                left &= left - 1;
                chain
            })
        })
    }
}
