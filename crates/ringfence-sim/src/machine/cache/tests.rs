//! Caches against a naive model, and the ways that they choose.

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
