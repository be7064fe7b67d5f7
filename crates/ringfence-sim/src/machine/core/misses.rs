//! Misses in flight: the entries that loads, stores and prefetches wait in.

use std::collections::VecDeque;
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
#[derive(Debug, Clone)]
pub(super) struct Misses {
    entries: Vec<Miss>,
    loads: usize,
    stores: usize,
    /// Most that may be in flight for the L1 together.
    mshrs: usize,
    /// Line on its way to each entry; `u64::MAX` for none.
    lines: Vec<u64>,
    /// Lines that have been sent and are not known to be here, in order of time, with their entries.
    arriving: VecDeque<(Picoseconds, usize)>,
    /// Entries in flight, by pool, as of the last `catch_up`.
    in_flight: [usize; 3],
    /// Those of them that have a register of the L1.
    for_l1: usize,
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
            lines: vec![u64::MAX; core.outstanding() as usize],
            arriving: VecDeque::with_capacity(core.outstanding() as usize),
            in_flight: [0; 3],
            for_l1: 0,
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
        self.lines[entry] = miss.line;
        self.entries[entry] = miss;
    }

    /// The line of `entry` comes at `at`, not before those that were told of
    /// earlier; returns the chains that waited for it.
    #[inline]
    pub(super) fn data(&mut self, entry: usize, at: Picoseconds) -> u64 {
        debug_assert!(self.arriving.back().is_none_or(|&(last, _)| last <= at));
        self.arriving.push_back((at, entry));
        let miss = &mut self.entries[entry];
        miss.data_at = at;
        std::mem::take(&mut miss.chains)
    }

    /// The victim of `entry` has left now, at `now`.
    #[inline]
    pub(super) fn victim_left(&mut self, entry: usize, now: Picoseconds) {
        self.catch_up(now);
        let miss = &mut self.entries[entry];
        miss.evicted_at = now;
        if miss.data_at <= now {
            self.end(entry);
        }
    }

    /// Takes note of the lines that are here by `now`.
    #[inline]
    pub(super) fn catch_up(&mut self, now: Picoseconds) {
        while let Some(&(at, entry)) = self.arriving.front()
            && at <= now
        {
            self.arriving.pop_front();
            self.lines[entry] = u64::MAX;
            if self.entries[entry].evicted_at != NEVER {
                self.end(entry);
            }
        }
    }

    /// The miss in `entry` is over.
    #[inline]
    fn end(&mut self, entry: usize) {
        let pool = if entry < self.loads {
            Pool::Loads
        } else if entry < self.loads + self.stores {
            Pool::Stores
        } else {
            Pool::Prefetches
        };
        self.in_flight[pool as usize] -= 1;
        self.for_l1 -= usize::from(self.entries[entry].is_for_l1());
    }

    /// Whether `line` has been asked for and not been sent.
    pub(super) fn is_asked_for(&self, line: u64) -> bool {
        let entries = self.lines.iter().zip(&self.entries);
        let mut of_line = entries.filter(|&(&of_entry, _)| of_entry == line);
        of_line.any(|(_, entry)| entry.data_at == NEVER)
    }

    #[inline]
    pub(super) fn entry(&self, entry: usize) -> &Miss {
        &self.entries[entry]
    }

    /// Whether `line` is on its way, as [`Self::catch_up`] saw it last.
    #[inline]
    pub(super) fn is_on_its_way(&self, line: u64) -> bool {
        self.lines.contains(&line)
    }

    /// The miss that brings `line`, if it is on its way at `now`.
    pub(super) fn find(&mut self, line: u64, now: Picoseconds) -> Option<&mut Miss> {
        self.catch_up(now);
        let entry = self.lines.iter().position(|&of_entry| of_entry == line)?;
        Some(&mut self.entries[entry])
    }

    /// When the next entry changes after `now`; `NEVER` while that is unknown.
    pub(super) fn next_change(&mut self, now: Picoseconds) -> Picoseconds {
        self.catch_up(now);
        self.arriving.front().map_or(NEVER, |&(at, _)| at)
    }

    /// The loads in flight.
    pub(super) fn loads(&self) -> impl Iterator<Item = &Miss> {
        self.entries.iter().filter(|entry| entry.load)
    }
}
