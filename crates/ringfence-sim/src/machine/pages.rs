//! Physical memory for programs, in pages.

use std::sync::Arc;

use super::error::MachineError;
use crate::random::SplitMix64;

/// Bytes of a page, as on every target platform.
pub const PAGE_BYTES: u64 = 4096;

/// Hands out page frames scattered over the memory, as on a machine that has
/// run for a while.
///
/// The frames of a region come from its owner's random numbers alone, so that
/// an owner has the same frames whoever else has memory. Only where a frame is
/// taken already, the next free one is used instead.
#[derive(Debug, Clone)]
pub(super) struct PageAllocator {
    used: Vec<bool>,
    free: u64,
}

/// The frames of a task's memory, by page; its threads share them.
pub(crate) type Region = Arc<[u32]>;

impl PageAllocator {
    pub(super) fn new(memory_bytes: u64) -> Self {
        let frames = memory_bytes / PAGE_BYTES;
        Self {
            used: vec![false; frames as usize],
            free: frames,
        }
    }

    /// Memory for `bytes`, rounded up to pages.
    pub(super) fn allocate(
        &mut self,
        bytes: u64,
        random: &mut SplitMix64,
    ) -> Result<Region, MachineError> {
        let pages = bytes.div_ceil(PAGE_BYTES);
        if pages > self.free {
            return Err(MachineError::OutOfMemory {
                needed_bytes: bytes,
                free_bytes: self.free * PAGE_BYTES,
            });
        }
        self.free -= pages;
        Ok((0..pages).map(|_| self.frame(random)).collect())
    }

    fn frame(&mut self, random: &mut SplitMix64) -> u32 {
        let mut frame = random.below(self.used.len() as u64) as usize;
        while self.used[frame] {
            frame = (frame + 1) % self.used.len();
        }
        self.used[frame] = true;
        frame as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY_BYTES: u64 = 1 << 30;
    const TASK_BYTES: u64 = 1 << 20;

    /// Frames of the tasks `names`, which come in this order.
    fn regions(seed: u64, names: &[&str]) -> Vec<Region> {
        let mut pages = PageAllocator::new(MEMORY_BYTES);
        let mut region = |name: &&str| pages.allocate(TASK_BYTES, &mut SplitMix64::of(seed, name));
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
        let mut pages = PageAllocator::new(64 * PAGE_BYTES);
        let mut frames: Vec<u32> = (0..4)
            .flat_map(|_| {
                let region = pages.allocate(16 * PAGE_BYTES, &mut SplitMix64::of(1, "same"));
                region.unwrap().to_vec()
            })
            .collect();
        frames.sort_unstable();
        assert_eq!(frames, (0..64).collect::<Vec<_>>());
        let none_left = pages.allocate(1, &mut SplitMix64::of(1, "same"));
        assert!(none_left.is_err());
    }
}
