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
    Loads = 0,
    Stores = 1,
    Prefetches = 2,
}

const POOLS: [Pool; 3] = [Pool::Loads, Pool::Stores, Pool::Prefetches];

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
    /// Whether it takes a register of the L1 while it is in flight.
    fn is_for_l1(&self) -> bool {
        self.line != u64::MAX
    }

    fn over_at(&self) -> Picoseconds {
        self.data_at.max(self.evicted_at)
    }
}

/// The entries of one core.
///
/// How many are in flight is counted when one changes and not whenever somebody asks.
#[derive(Debug, Clone)]
pub(super) struct Misses {
    entries: Vec<Miss>,
    loads: usize,
    stores: usize,
    /// Most that may be in flight for the L1 together.
    mshrs: usize,
    /// Entries in flight, by pool.
    in_flight: [usize; 3],
    /// Entries in flight for the L1.
    for_l1: usize,
    /// When the next entry changes, as far as known. The counts are right until then.
    changes_at: Picoseconds,
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
            in_flight: [0; 3],
            for_l1: 0,
            changes_at: NEVER,
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
    #[inline]
    pub(super) fn free(&mut self, pool: Pool, now: Picoseconds) -> Option<usize> {
        self.catch_up(now);
        if self.for_l1 >= self.mshrs {
            return None;
        }
        self.free_entry(pool, now)
    }

    /// A free entry for a prefetch into the last-level cache.
    pub(super) fn free_beyond_l1(&mut self, now: Picoseconds) -> Option<usize> {
        self.catch_up(now);
        self.free_entry(Pool::Prefetches, now)
    }

    #[inline]
    fn free_entry(&self, pool: Pool, now: Picoseconds) -> Option<usize> {
        let mut range = self.range(pool);
        if self.in_flight[pool as usize] == range.len() {
            return None;
        }
        range.find(|&entry| self.entries[entry].over_at() <= now)
    }

    /// The miss takes `entry` of `pool`, which is free.
    #[inline]
    pub(super) fn begin(&mut self, pool: Pool, entry: usize, miss: Miss) {
        self.in_flight[pool as usize] += 1;
        self.for_l1 += usize::from(miss.is_for_l1());
        self.entries[entry] = miss;
    }

    /// The line of `entry` comes at `at`; returns the chains that waited for it.
    #[inline]
    pub(super) fn data(&mut self, entry: usize, at: Picoseconds) -> u64 {
        let miss = &mut self.entries[entry];
        miss.data_at = at;
        self.changes_at = self.changes_at.min(at);
        std::mem::take(&mut miss.chains)
    }

    /// The victim of `entry` has left at `at`.
    #[inline]
    pub(super) fn victim_left(&mut self, entry: usize, at: Picoseconds) {
        let miss = &mut self.entries[entry];
        miss.evicted_at = at;
        self.changes_at = self.changes_at.min(miss.over_at());
    }

    /// Counts anew what is in flight, if that has changed by `now`.
    #[inline]
    fn catch_up(&mut self, now: Picoseconds) {
        if now >= self.changes_at {
            self.count(now);
        }
    }

    #[inline(never)]
    fn count(&mut self, now: Picoseconds) {
        self.for_l1 = 0;
        self.changes_at = NEVER;
        for pool in POOLS {
            let mut in_flight = 0;
            for entry in &self.entries[self.range(pool)] {
                let over_at = entry.over_at();
                if over_at > now {
                    in_flight += 1;
                    self.for_l1 += usize::from(entry.is_for_l1());
                    let is_here = entry.data_at <= now;
                    let next = if is_here { over_at } else { entry.data_at };
                    self.changes_at = self.changes_at.min(next);
                }
            }
            self.in_flight[pool as usize] = in_flight;
        }
    }

    /// Whether `line` has been asked for and not been sent.
    pub(super) fn is_asked_for(&self, line: u64) -> bool {
        let mut entries = self.entries.iter();
        entries.any(|entry| entry.line == line && entry.data_at == NEVER)
    }

    #[inline]
    pub(super) fn entry(&self, entry: usize) -> &Miss {
        &self.entries[entry]
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

    /// When the next entry changes after `now`; `NEVER` while that is unknown.
    pub(super) fn next_change(&mut self, now: Picoseconds) -> Picoseconds {
        self.catch_up(now);
        self.changes_at
    }

    /// The loads in flight.
    pub(super) fn loads(&self) -> impl Iterator<Item = &Miss> {
        self.entries.iter().filter(|entry| entry.load)
    }
}
