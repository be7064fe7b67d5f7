//! Misses in flight: the entries that loads, stores and prefetches wait in.

use std::ops::Range;

use ringfence_scenario::platform::MemorySystem;

use crate::machine::Picoseconds;
use crate::machine::agenda::NEVER;
use crate::machine::error::MachineError;

/// Who waits in an entry. Each has entries of its own; the L1's miss-status
/// registers (MSHRs) bound them together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pool {
    Loads,
    Stores,
    Prefetches,
}

/// A miss in flight. It is over when the line has come and the victim has left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Miss {
    /// What the L1 will have; `u64::MAX` for a line that stays in the last-level cache.
    pub(super) line: u64,
    /// When the line is here; `NEVER` while that is unknown.
    pub(super) data_at: Picoseconds,
    /// When the victim has left; `NEVER` while that is unknown.
    pub(super) evicted_at: Picoseconds,
    /// Chains of the running stream that wait for the line.
    pub(super) chains: u64,
    /// Whether a load waits for the line.
    pub(super) load: bool,
    /// Whether a best-effort stream issued it.
    pub(super) is_best_effort: bool,
    /// Place of the load in its stream's program order, in time of dispatch.
    pub(super) position: Picoseconds,
}

impl Miss {
    fn over_at(&self) -> Picoseconds {
        self.data_at.max(self.evicted_at)
    }
}

/// The entries of one core.
#[derive(Debug, Clone)]
pub(super) struct Misses {
    entries: Vec<Miss>,
    loads: usize,
    stores: usize,
    /// Most that may be in flight for the L1 together.
    mshrs: usize,
}

impl Misses {
    pub(super) fn new(memory: &MemorySystem) -> Result<Self, MachineError> {
        let core = &memory.core;
        let of_prefetcher = core.prefetcher.iter().flat_map(|prefetcher| {
            [
                ("core.prefetcher.streams", prefetcher.streams),
                ("core.prefetcher.distance_lines", prefetcher.distance_lines),
                ("core.prefetcher.outstanding", prefetcher.outstanding),
            ]
        });
        let of_core = [
            ("core.outstanding_misses", core.outstanding_misses),
            ("core.store_buffer", core.store_buffer),
            ("l1.mshrs", memory.l1.mshrs),
        ];
        for (what, value) in of_core.into_iter().chain(of_prefetcher) {
            if !(1..=1024).contains(&value) {
                return Err(MachineError::OutOfRange {
                    what,
                    value: value.into(),
                    expected: "1 to 1024",
                });
            }
        }
        let idle = Miss {
            line: u64::MAX,
            data_at: 0,
            evicted_at: 0,
            chains: 0,
            load: false,
            is_best_effort: false,
            position: 0,
        };
        Ok(Self {
            entries: vec![idle; core.outstanding() as usize],
            loads: core.outstanding_misses as usize,
            stores: core.store_buffer as usize,
            mshrs: memory.l1.mshrs as usize,
        })
    }

    fn range(&self, pool: Pool) -> Range<usize> {
        let stores_end = self.loads + self.stores;
        match pool {
            Pool::Loads => 0..self.loads,
            Pool::Stores => self.loads..stores_end,
            Pool::Prefetches => stores_end..self.entries.len(),
        }
    }

    /// A free entry, if the L1 has a register for it, too.
    pub(super) fn free(&self, pool: Pool, now: Picoseconds) -> Option<usize> {
        if self.mshrs < self.entries.len() {
            let for_l1 = |entry: &&Miss| entry.over_at() > now && entry.line != u64::MAX;
            if self.entries.iter().filter(for_l1).count() >= self.mshrs {
                return None;
            }
        }
        self.free_entry(pool, now)
    }

    /// A free entry for a prefetch into the last-level cache.
    pub(super) fn free_beyond_l1(&self, now: Picoseconds) -> Option<usize> {
        self.free_entry(Pool::Prefetches, now)
    }

    fn free_entry(&self, pool: Pool, now: Picoseconds) -> Option<usize> {
        let mut range = self.range(pool);
        range.find(|&entry| self.entries[entry].over_at() <= now)
    }

    /// Whether `line` has been asked for and not been sent.
    pub(super) fn is_asked_for(&self, line: u64) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.line == line && entry.data_at == NEVER)
    }

    #[inline]
    pub(super) fn entry(&mut self, entry: usize) -> &mut Miss {
        &mut self.entries[entry]
    }

    pub(super) fn is_on_its_way(&self, line: u64, now: Picoseconds) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.line == line && entry.data_at > now)
    }

    /// The miss that brings `line`, if it is on its way.
    pub(super) fn find(&mut self, line: u64, now: Picoseconds) -> Option<&mut Miss> {
        let mut entries = self.entries.iter_mut();
        entries.find(|entry| entry.line == line && entry.data_at > now)
    }

    /// When the next entry changes, as far as known.
    pub(super) fn next_change(&self, now: Picoseconds) -> Option<Picoseconds> {
        let changes = self.entries.iter();
        let changes = changes.flat_map(|entry| [entry.data_at, entry.over_at()]);
        changes.filter(|&at| at > now).min()
    }

    /// The loads in flight.
    pub(super) fn loads(&self) -> impl Iterator<Item = &Miss> {
        self.entries.iter().filter(|entry| entry.load)
    }
}
