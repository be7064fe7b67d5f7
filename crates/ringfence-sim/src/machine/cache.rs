//! The tags of a set-associative cache.

use ringfence_scenario::platform::Replacement;

use super::error::{MachineError, power_of_two};
use crate::random::SplitMix64;

const VALID: u32 = 1;
const DIRTY: u32 = 2;
/// The line may still be on its way; whoever owns the misses knows.
const PENDING: u32 = 4;
const FLAGS: u32 = VALID | DIRTY | PENDING;
const TAG_SHIFT: u32 = 3;

/// Which lines a cache holds, and which of them are dirty.
///
/// A line takes its place when its miss is issued, marked pending. The mark is
/// cleared by the first access that finds the line complete.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    /// `tag << 3 | flags`, set by set; with LRU in order of use, latest first.
    slots: Vec<u32>,
    ways: usize,
    set_bits: u32,
    /// Source of victims; `None` replaces the least recently used line.
    random: Option<SplitMix64>,
}

/// What [`Cache::insert`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Inserted {
    /// The line has a place; a dirty line gave it up.
    Evicted(Option<u64>),
    /// Every line of the set is still on its way.
    SetBusy,
}

impl Cache {
    pub(super) fn new(
        size_bytes: u32,
        ways: u32,
        line_bytes: u32,
        memory_lines: u64,
        replacement: Replacement,
        seed: u64,
    ) -> Result<Self, MachineError> {
        let sets = power_of_two(
            "cache sets",
            u64::from(size_bytes / line_bytes / ways.max(1)),
        )?;
        let set_bits = sets.trailing_zeros();
        if memory_lines >> set_bits > 1 << (32 - TAG_SHIFT) {
            return Err(MachineError::OutOfRange {
                what: "lines of memory per cache set",
                value: memory_lines >> set_bits,
                expected: "at most 2^29",
            });
        }
        Ok(Self {
            slots: vec![0; (sets * u64::from(ways)) as usize],
            ways: ways as usize,
            set_bits,
            random: (replacement == Replacement::Random).then(|| SplitMix64::new(seed)),
        })
    }

    #[inline]
    fn split(&self, line: u64) -> (usize, u32) {
        let set = (line & ((1 << self.set_bits) - 1)) as usize;
        (
            set * self.ways,
            ((line >> self.set_bits) as u32) << TAG_SHIFT,
        )
    }

    /// Looks `line` up as an access does; its slot, if it has one.
    #[inline]
    pub(super) fn find(&mut self, line: u64) -> Option<usize> {
        let (base, tag) = self.split(line);
        let set = &mut self.slots[base..base + self.ways];
        let way = set
            .iter()
            .position(|&slot| slot & !(FLAGS & !VALID) == tag | VALID)?;
        if self.random.is_some() {
            return Some(base + way);
        }
        if way > 0 {
            set[..=way].rotate_right(1);
        }
        Some(base)
    }

    #[inline]
    pub(super) fn is_pending(&self, slot: usize) -> bool {
        self.slots[slot] & PENDING != 0
    }

    #[inline]
    pub(super) fn complete(&mut self, slot: usize) {
        self.slots[slot] &= !PENDING;
    }

    #[inline]
    pub(super) fn make_dirty(&mut self, slot: usize) {
        self.slots[slot] |= DIRTY;
    }

    /// Gives `line`, which is not in the cache, a place.
    ///
    /// `on_its_way` says of a line marked pending whether it still is.
    pub(super) fn insert(
        &mut self,
        line: u64,
        dirty: bool,
        pending: bool,
        on_its_way: impl Fn(u64) -> bool,
    ) -> Inserted {
        let (base, tag) = self.split(line);
        let set_bits = self.set_bits;
        let line_of =
            |slot: u32| u64::from(slot >> TAG_SHIFT) << set_bits | (base / self.ways) as u64;
        let set = &mut self.slots[base..base + self.ways];
        let free = |slot: u32| slot & PENDING == 0 || !on_its_way(line_of(slot));
        let victim = match &mut self.random {
            None => set.iter().rposition(|&slot| free(slot)),
            Some(random) => set.iter().position(|&slot| slot & VALID == 0).or_else(|| {
                let first = random.below(set.len() as u64) as usize;
                (first..set.len())
                    .chain(0..first)
                    .find(|&way| free(set[way]))
            }),
        };
        let Some(way) = victim else {
            return Inserted::SetBusy;
        };
        let old = set[way];
        set[way] = tag | VALID | if dirty { DIRTY } else { 0 } | if pending { PENDING } else { 0 };
        if self.random.is_none() {
            set[..=way].rotate_right(1);
        }
        Inserted::Evicted((old & DIRTY != 0).then(|| line_of(old)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LINE_BYTES: u32 = 64;
    const SETS: u64 = 4;
    const WAYS: u32 = 4;

    fn cache(replacement: Replacement) -> Cache {
        let size = SETS as u32 * WAYS * LINE_BYTES;
        Cache::new(size, WAYS, LINE_BYTES, 1 << 20, replacement, 3).unwrap()
    }

    /// The plainest cache: a list of lines with their times of use.
    #[derive(Default)]
    struct Naive {
        lines: Vec<(u64, u64, bool)>,
        now: u64,
    }

    impl Naive {
        /// Whether it is a hit, and the dirty victim.
        fn access(&mut self, line: u64, write: bool) -> (bool, Option<u64>) {
            self.now += 1;
            let now = self.now;
            if let Some(entry) = self.lines.iter_mut().find(|entry| entry.0 == line) {
                entry.1 = now;
                entry.2 |= write;
                return (true, None);
            }
            let same_set = |entry: &&(u64, u64, bool)| entry.0 % SETS == line % SETS;
            let mut victim = None;
            if self.lines.iter().filter(same_set).count() == WAYS as usize {
                let oldest = *self
                    .lines
                    .iter()
                    .filter(same_set)
                    .min_by_key(|entry| entry.1)
                    .unwrap();
                self.lines.retain(|entry| entry.0 != oldest.0);
                victim = oldest.2.then_some(oldest.0);
            }
            self.lines.push((line, now, write));
            (false, victim)
        }
    }

    fn access(cache: &mut Cache, line: u64, write: bool) -> (bool, Option<u64>) {
        if let Some(slot) = cache.find(line) {
            if write {
                cache.make_dirty(slot);
            }
            return (true, None);
        }
        match cache.insert(line, write, true, |_| false) {
            Inserted::Evicted(victim) => (false, victim),
            Inserted::SetBusy => panic!("no line is on its way"),
        }
    }

    proptest! {
        #[test]
        fn lru_is_the_same_as_in_a_naive_model(
            accesses in prop::collection::vec((0u64..40, any::<bool>()), 1..400),
        ) {
            let mut cache = cache(Replacement::Lru);
            let mut naive = Naive::default();
            for (line, write) in accesses {
                prop_assert_eq!(access(&mut cache, line, write), naive.access(line, write));
            }
        }

        #[test]
        fn random_replacement_keeps_what_it_says_and_reports_every_dirty_line(
            accesses in prop::collection::vec((0u64..40, any::<bool>()), 1..400),
        ) {
            let mut cache = cache(Replacement::Random);
            // Dirty lines that have not been given up.
            let mut dirty = std::collections::BTreeSet::new();
            for (line, write) in accesses {
                let (hit, victim) = access(&mut cache, line, write);
                prop_assert!(hit || !dirty.contains(&line), "a dirty line was lost");
                if let Some(victim) = victim {
                    prop_assert_eq!(victim % SETS, line % SETS);
                    prop_assert!(dirty.remove(&victim), "a clean line was written back");
                }
                if write {
                    dirty.insert(line);
                }
            }
        }

        #[test]
        fn lines_on_their_way_keep_their_place(
            accesses in prop::collection::vec(0u64..40, 1..400),
            random in any::<bool>(),
            on_their_way in prop::collection::btree_set(0u64..40, 0..10),
        ) {
            let mut cache = cache(if random { Replacement::Random } else { Replacement::Lru });
            let mut kept = std::collections::BTreeSet::new();
            for line in accesses {
                if cache.find(line).is_some() {
                    continue;
                }
                let inserted = cache.insert(line, false, true, |line| on_their_way.contains(&line));
                match inserted {
                    Inserted::Evicted(victim) => prop_assert_eq!(victim, None),
                    Inserted::SetBusy => {
                        let busy = kept.iter().filter(|&&kept: &&u64| kept % SETS == line % SETS).count();
                        prop_assert_eq!(busy, WAYS as usize);
                        continue;
                    }
                }
                if on_their_way.contains(&line) {
                    kept.insert(line);
                }
                for &line in &kept {
                    prop_assert!(cache.find(line).is_some(), "line {line} lost its place");
                }
            }
        }
    }
}
