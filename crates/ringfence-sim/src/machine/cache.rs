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
mod tests;
