//! Physical memory for programs, in pages.

use std::sync::Arc;

use ringfence_scenario::platform::{MemorySystem, PagePlacement};

use crate::random::SplitMix64;

/// Bytes of a page.
pub const PAGE_BYTES: u64 = MemorySystem::PAGE_BYTES as u64;

/// Hands out page frames, scattered over the memory as on a machine that has
/// run for a while, or in a row from a random place.
///
/// The frames of a region come from its owner's random numbers alone, so that
/// an owner has the same frames whoever else has memory. Only where a frame is
/// taken already, the next free one is used instead.
#[derive(Debug, Clone)]
pub(super) struct PageAllocator {
    used: Vec<bool>,
    /// Colours of the last-level cache: frame `f` has colour `f % colours`.
    colours: u64,
    placement: PagePlacement,
}

/// Too few frames are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NoFrames {
    /// Bytes left.
    pub(super) free_bytes: u64,
}

/// The frames of a task's memory, by page; its threads share them.
pub(crate) type Region = Arc<[u32]>;

impl PageAllocator {
    pub(super) fn new(memory_bytes: u64, colours: u16, placement: PagePlacement) -> Self {
        Self {
            used: vec![false; (memory_bytes / PAGE_BYTES) as usize],
            colours: colours.into(),
            placement,
        }
    }

    /// Memory for `bytes`, rounded up to pages, of the given colours only.
    pub(super) fn allocate(
        &mut self,
        bytes: u64,
        colours: &[u16],
        random: &mut SplitMix64,
    ) -> Result<Region, NoFrames> {
        let pages = bytes.div_ceil(PAGE_BYTES);
        let good = Coloured {
            colours,
            of: self.colours,
            rows: self.used.len() as u64 / self.colours,
        };
        let free = good.frames().filter(|&frame| !self.used[frame]).count() as u64;
        if pages > free {
            return Err(NoFrames {
                free_bytes: free * PAGE_BYTES,
            });
        }
        let mut next = random.below(good.len());
        let frames = (0..pages).map(|_| {
            if self.placement == PagePlacement::Random {
                next = random.below(good.len());
            }
            while self.used[good.frame(next)] {
                next = (next + 1) % good.len();
            }
            let frame = good.frame(next);
            self.used[frame] = true;
            frame as u32
        });
        Ok(frames.collect())
    }
}

/// The frames of some colours, ascending.
#[derive(Clone, Copy)]
struct Coloured<'a> {
    colours: &'a [u16],
    /// Number of colours of the cache.
    of: u64,
    /// Frames of each colour.
    rows: u64,
}

impl Coloured<'_> {
    fn len(self) -> u64 {
        self.rows * self.colours.len() as u64
    }

    fn frame(self, index: u64) -> usize {
        let colours = self.colours.len() as u64;
        let colour = self.colours[(index % colours) as usize];
        (index / colours * self.of + u64::from(colour)) as usize
    }

    fn frames(self) -> impl Iterator<Item = usize> {
        (0..self.len()).map(move |index| self.frame(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY_BYTES: u64 = 1 << 30;
    const TASK_BYTES: u64 = 1 << 20;

    /// Frames of the tasks `names`, which come in this order.
    fn regions(seed: u64, names: &[&str]) -> Vec<Region> {
        let mut pages = PageAllocator::new(MEMORY_BYTES, 1, PagePlacement::Random);
        let mut region =
            |name: &&str| pages.allocate(TASK_BYTES, &[0], &mut SplitMix64::of(seed, name));
        names.iter().map(|name| region(name).unwrap()).collect()
    }

    #[test]
    fn a_task_has_the_same_pages_whoever_came_before_it() {
        let alone = regions(1, &["tau2"]).remove(0);
        let after_others = regions(1, &["tau1", "tau_mem", "tau2"]).remove(2);
        // Two pages of 256 each that a task before it took, by chance.
        let moved = alone.iter().zip(&*after_others).filter(|(a, b)| a != b);
        assert!(moved.count() <= 2);
        assert_ne!(alone, regions(2, &["tau2"]).remove(0), "another seed");
        assert_ne!(alone, regions(1, &["tau1"]).remove(0), "another task");
    }

    #[test]
    fn no_frame_is_given_twice() {
        let mut pages = PageAllocator::new(64 * PAGE_BYTES, 1, PagePlacement::Random);
        let mut frames: Vec<u32> = (0..4)
            .flat_map(|_| {
                let mut random = SplitMix64::of(1, "same");
                let region = pages.allocate(16 * PAGE_BYTES, &[0], &mut random);
                region.unwrap().to_vec()
            })
            .collect();
        frames.sort_unstable();
        assert_eq!(frames, (0..64).collect::<Vec<_>>());
        let none_left = pages.allocate(1, &[0], &mut SplitMix64::of(1, "same"));
        assert!(none_left.is_err());
    }

    #[test]
    fn colours_are_kept_and_used_alike() {
        const COLOURS: u16 = 16;
        let mine = [3, 4, 9];
        let mut pages = PageAllocator::new(MEMORY_BYTES, COLOURS, PagePlacement::Random);
        let mut random = SplitMix64::of(1, "mine");
        let region = pages.allocate(3 * TASK_BYTES, &mine, &mut random).unwrap();
        let of_colour = |colour: u16| {
            let has = |frame: &&u32| **frame % u32::from(COLOURS) == u32::from(colour);
            region.iter().filter(has).count()
        };
        let counts = mine.map(of_colour);
        assert_eq!(counts.iter().sum::<usize>(), region.len());
        // 256 of each expected; five standard deviations are 65.
        assert!(
            counts.iter().all(|count| count.abs_diff(256) < 65),
            "{counts:?}"
        );
    }

    #[test]
    fn one_colour_runs_out_while_others_have_memory() {
        let mut pages = PageAllocator::new(64 * PAGE_BYTES, 16, PagePlacement::Sequential);
        let mut random = SplitMix64::of(1, "mine");
        assert!(pages.allocate(4 * PAGE_BYTES, &[5], &mut random).is_ok());
        assert!(pages.allocate(1, &[5], &mut random).is_err());
        assert!(pages.allocate(1, &[6], &mut random).is_ok());
    }

    #[test]
    fn sequential_pages_lie_in_a_row() {
        let mut pages = PageAllocator::new(MEMORY_BYTES, 1, PagePlacement::Sequential);
        let region = pages.allocate(TASK_BYTES, &[0], &mut SplitMix64::of(1, "task"));
        let region = region.unwrap();
        let frames = MEMORY_BYTES / PAGE_BYTES;
        let follows = |pair: &[u32]| u64::from(pair[1]) == (u64::from(pair[0]) + 1) % frames;
        assert!(region.windows(2).all(follows));
    }
}
