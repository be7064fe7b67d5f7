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

/// Ways of a set that a line may take, by number: a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WayMask(pub(crate) u64);

impl WayMask {
    /// Every way, whatever their number.
    pub(crate) const ALL: Self = Self(u64::MAX);

    #[inline]
    fn contains(self, way: usize) -> bool {
        self.0 >> way & 1 == 1
    }

    fn without(self, way: usize) -> Self {
        Self(self.0 & !(1 << way))
    }

    /// Those of them that a set of `ways` has; 1 to 64.
    fn below(self, ways: usize) -> Self {
        Self(self.0 & u64::MAX >> (64 - ways))
    }

    /// A way drawn uniformly; there must be one.
    fn draw(self, random: &mut SplitMix64) -> usize {
        let before = random.below(self.0.count_ones().into());
        let rest = (0..before).fold(self.0, |rest, _| rest & (rest - 1));
        rest.trailing_zeros() as usize
    }
}

/// A line that gave up its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Victim {
    pub(super) line: u64,
    /// Memory, or the next level, does not have its data yet.
    pub(super) dirty: bool,
}

/// Which lines a cache holds, and which of them are dirty.
///
/// A line takes its place when its miss is issued, marked pending. The mark is
/// cleared by the first access that finds the line complete.
#[derive(Debug, Clone)]
pub(super) struct Cache {
    /// `tag << 3 | flags`, set by set.
    slots: Vec<u32>,
    /// When each slot was used last, in accesses of the cache; 0 for an empty one.
    used_at: Vec<u64>,
    /// Accesses so far.
    clock: u64,
    ways: usize,
    set_bits: u32,
    /// Source of victims; `None` replaces the least recently used line.
    random: Option<SplitMix64>,
}

/// Where a line goes, and which one goes for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) slot: usize,
    pub(super) victim: Option<Victim>,
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
        if !(1..=64).contains(&ways) {
            return Err(MachineError::OutOfRange {
                what: "cache ways",
                value: ways.into(),
                expected: "1 to 64",
            });
        }
        let sets = power_of_two("cache sets", u64::from(size_bytes / line_bytes / ways))?;
        let set_bits = sets.trailing_zeros();
        if memory_lines >> set_bits > 1 << (32 - TAG_SHIFT) {
            return Err(MachineError::OutOfRange {
                what: "lines of memory per cache set",
                value: memory_lines >> set_bits,
                expected: "at most 2^29",
            });
        }
        let slots = (sets * u64::from(ways)) as usize;
        Ok(Self {
            slots: vec![0; slots],
            used_at: vec![0; slots],
            clock: 0,
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

    /// The way of `line` in the set at `base`.
    #[inline]
    fn way_of(&self, base: usize, tag: u32) -> Option<usize> {
        self.slots[base..base + self.ways]
            .iter()
            .position(|&slot| is_valid_with(slot, tag))
    }

    /// The slot of `line`, if it has one; no access.
    #[inline]
    pub(super) fn peek(&self, line: u64) -> Option<usize> {
        let (base, tag) = self.split(line);
        self.way_of(base, tag).map(|way| base + way)
    }

    /// Looks `line` up as an access does; its slot, if it has one.
    ///
    /// For caches of many ways: all are compared without a branch, because which
    /// one it is cannot be predicted.
    #[inline]
    pub(super) fn find(&mut self, line: u64) -> Option<usize> {
        let (base, tag) = self.split(line);
        let slots = self.slots[base..base + self.ways].iter().zip(0u32..);
        let way = slots.fold(
            u32::MAX,
            |found, (&slot, way)| {
                if is_valid_with(slot, tag) { way } else { found }
            },
        );
        let slot = (way != u32::MAX).then_some(base + way as usize)?;
        self.touch(slot);
        Some(slot)
    }

    /// The slot is used.
    #[inline]
    pub(super) fn touch(&mut self, slot: usize) {
        self.clock += 1;
        self.used_at[slot] = self.clock;
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

    /// Whether `line` is here and dirty; no access.
    pub(super) fn is_dirty(&self, line: u64) -> bool {
        self.peek(line)
            .is_some_and(|slot| self.slots[slot] & DIRTY != 0)
    }

    /// Drops `line`, if it is here.
    pub(super) fn invalidate(&mut self, line: u64) {
        if let Some(slot) = self.peek(line) {
            self.slots[slot] = 0;
            self.used_at[slot] = 0;
        }
    }

    /// A place for `line`, which is not in the cache, in one of `ways`.
    ///
    /// `None` when every line there is still on its way, of which
    /// `on_its_way` knows for a line marked pending.
    pub(super) fn choose(
        &mut self,
        line: u64,
        ways: WayMask,
        on_its_way: impl Fn(u64) -> bool,
    ) -> Option<Place> {
        let (base, _) = self.split(line);
        let set_bits = self.set_bits;
        let set_number = line & ((1 << set_bits) - 1);
        let line_of = |slot: u32| u64::from(slot >> TAG_SHIFT) << set_bits | set_number;
        let set = &self.slots[base..base + self.ways];
        let free = |&way: &usize| {
            let slot = set[way];
            ways.contains(way) && (slot & PENDING == 0 || !on_its_way(line_of(slot)))
        };
        // Asking whether a line is on its way takes time: only of the one that would go.
        let way = match &mut self.random {
            None => {
                let used_at = &self.used_at[base..base + self.ways];
                let mut ways = ways;
                loop {
                    let oldest = least_recently_used(used_at, ways);
                    match oldest {
                        Some(way) if !free(&way) => ways = ways.without(way),
                        _ => break oldest,
                    }
                }
            }
            Some(random) => {
                let is_empty = |&way: &usize| ways.contains(way) && set[way] & VALID == 0;
                (0..set.len()).find(is_empty).or_else(|| {
                    let mut ways = ways.below(set.len());
                    while ways.0 != 0 {
                        let way = ways.draw(random);
                        if free(&way) {
                            return Some(way);
                        }
                        ways = ways.without(way);
                    }
                    None
                })
            }
        }?;
        let old = set[way];
        Some(Place {
            slot: base + way,
            victim: (old & VALID != 0).then(|| Victim {
                line: line_of(old),
                dirty: old & DIRTY != 0,
            }),
        })
    }

    /// Puts `line` where [`Self::choose`] found a place for it.
    pub(super) fn put(&mut self, place: Place, line: u64, dirty: bool, pending: bool) {
        let (_, tag) = self.split(line);
        let flags = if dirty { DIRTY } else { 0 } | if pending { PENDING } else { 0 };
        self.slots[place.slot] = tag | VALID | flags;
        self.touch(place.slot);
    }
}

/// Whether a slot holds the line of `tag`.
#[inline]
fn is_valid_with(slot: u32, tag: u32) -> bool {
    slot & !(FLAGS & !VALID) == tag | VALID
}

/// The first of the `ways` that were used least recently, if there is one.
#[inline]
fn least_recently_used(used_at: &[u64], ways: WayMask) -> Option<usize> {
    let (mut earliest, mut oldest) = (u64::MAX, None);
    for (way, &at) in used_at.iter().enumerate() {
        if at < earliest && ways.contains(way) {
            (earliest, oldest) = (at, Some(way));
        }
    }
    oldest
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

    fn dirty_line(victim: Option<Victim>) -> Option<u64> {
        victim
            .filter(|victim| victim.dirty)
            .map(|victim| victim.line)
    }

    fn access(cache: &mut Cache, line: u64, write: bool) -> (bool, Option<u64>) {
        if let Some(slot) = cache.find(line) {
            if write {
                cache.make_dirty(slot);
            }
            return (true, None);
        }
        let place = cache.choose(line, WayMask::ALL, |_| false).unwrap();
        cache.put(place, line, write, true);
        (false, dirty_line(place.victim))
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

        /// Two owners with masks of their own: neither ever loses a line to the
        /// other, and each finds lines wherever they are.
        #[test]
        fn disjoint_way_masks_keep_lines_apart(
            accesses in prop::collection::vec((0u64..40, any::<bool>()), 1..400),
            random in any::<bool>(),
            first_mask in 1u64..15,
        ) {
            let mut cache = cache(if random { Replacement::Random } else { Replacement::Lru });
            // Lines of the one owner are even, those of the other odd.
            let owner = |line: u64| line & 1;
            let line_in_set = |line: u64| (line >> 1) * SETS * 2 + owner(line) * SETS;
            for (line, write) in accesses {
                let line = line_in_set(line);
                let mask = WayMask(if (line / SETS) & 1 == 0 { first_mask } else { !first_mask & 15 });
                if cache.find(line).is_none() {
                    let place = cache.choose(line, mask, |_| false).unwrap();
                    if let Some(victim) = place.victim {
                        prop_assert_eq!((victim.line / SETS) & 1, (line / SETS) & 1);
                    }
                    cache.put(place, line, write, true);
                }
            }
        }

        #[test]
        fn an_invalid_line_is_gone_and_leaves_room(
            accesses in prop::collection::vec((0u64..40, any::<bool>()), 1..100),
            dropped in 0u64..40,
        ) {
            let mut cache = cache(Replacement::Lru);
            let mut dirty = std::collections::BTreeSet::new();
            for (line, write) in accesses {
                if let Some(victim) = access(&mut cache, line, write).1 {
                    dirty.remove(&victim);
                }
                if write {
                    dirty.insert(line);
                }
            }
            prop_assert_eq!(cache.is_dirty(dropped), dirty.contains(&dropped));
            cache.invalidate(dropped);
            prop_assert!(cache.find(dropped).is_none());
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
                let place = cache.choose(line, WayMask::ALL, |line| on_their_way.contains(&line));
                let Some(place) = place else {
                    let busy = kept.iter().filter(|&&kept: &&u64| kept % SETS == line % SETS).count();
                    prop_assert_eq!(busy, WAYS as usize);
                    continue;
                };
                prop_assert_eq!(dirty_line(place.victim), None);
                cache.put(place, line, false, true);
                if on_their_way.contains(&line) {
                    kept.insert(line);
                }
                for &line in &kept {
                    prop_assert!(cache.find(line).is_some(), "line {line} lost its place");
                }
            }
        }
    }

    /// Victims by way in one full set of 16 ways, of lines that may take `ways`.
    fn random_victims(ways: WayMask, on_its_way: impl Fn(u64) -> bool, misses: u64) -> [u64; 16] {
        let mut cache = Cache::new(
            16 * LINE_BYTES,
            16,
            LINE_BYTES,
            1 << 20,
            Replacement::Random,
            3,
        )
        .unwrap();
        for line in 0..16 {
            let place = cache.choose(line, WayMask::ALL, |_| false).unwrap();
            cache.put(place, line, false, true);
        }
        let mut victims = [0; 16];
        for _ in 0..misses {
            victims[cache.choose(16, ways, &on_its_way).unwrap().slot] += 1;
        }
        victims
    }

    #[test]
    fn random_replacement_treats_the_ways_of_a_mask_alike() {
        const MISSES: u64 = 40_000;
        let victims = random_victims(WayMask(0x00f0), |_| false, MISSES);
        assert_eq!(victims[4..8].iter().sum::<u64>(), MISSES);
        // A quarter of the misses each; the standard deviation is 87.
        let fair = |&count: &u64| count.abs_diff(MISSES / 4) <= 5 * 87;
        assert!(victims[4..8].iter().all(fair), "{victims:?}");
    }

    #[test]
    fn random_replacement_treats_the_ways_beside_lines_on_their_way_alike() {
        const MISSES: u64 = 40_000;
        const COMPLETE: [usize; 4] = [0, 1, 8, 12];
        let on_its_way = |line| !COMPLETE.contains(&(line as usize));
        let victims = random_victims(WayMask::ALL, on_its_way, MISSES);
        let fair = |way: usize| victims[way].abs_diff(MISSES / 4) <= 5 * 87;
        assert!(COMPLETE.into_iter().all(fair), "{victims:?}");
    }

    #[test]
    fn random_replacement_draws_one_number_where_every_way_is_free() {
        let mut cache = cache(Replacement::Random);
        for line in (0..).step_by(SETS as usize).take(WAYS as usize) {
            let place = cache.choose(line, WayMask::ALL, |_| false).unwrap();
            cache.put(place, line, false, false);
        }
        let mut random = SplitMix64::new(3);
        for _ in 0..100 {
            let place = cache.choose(64, WayMask::ALL, |_| false).unwrap();
            assert_eq!(place.slot as u64, random.below(WAYS.into()));
        }
    }
}
