//! Physical memory for programs, in pages.

use std::sync::Arc;

use super::error::MachineError;
use crate::random::SplitMix64;

/// Bytes of a page, as on every target platform.
pub const PAGE_BYTES: u64 = 4096;

/// Hands out page frames scattered over the memory, as on a machine that has
/// run for a while: the frames of a region are drawn from the seed.
#[derive(Debug, Clone)]
pub(super) struct PageAllocator {
    used: Vec<bool>,
    free: u64,
    random: SplitMix64,
}

/// The frames of a task's memory, by page; its threads share them.
pub(crate) type Region = Arc<[u32]>;

impl PageAllocator {
    pub(super) fn new(memory_bytes: u64, seed: u64) -> Self {
        let frames = memory_bytes / PAGE_BYTES;
        Self {
            used: vec![false; frames as usize],
            free: frames,
            random: SplitMix64::new(seed),
        }
    }

    /// Memory for `bytes`, rounded up to pages.
    pub(super) fn allocate(&mut self, bytes: u64) -> Result<Region, MachineError> {
        let pages = bytes.div_ceil(PAGE_BYTES);
        if pages > self.free {
            return Err(MachineError::OutOfMemory {
                needed_bytes: bytes,
                free_bytes: self.free * PAGE_BYTES,
            });
        }
        self.free -= pages;
        Ok((0..pages).map(|_| self.frame()).collect())
    }

    fn frame(&mut self) -> u32 {
        let mut frame = self.random.below(self.used.len() as u64) as usize;
        while self.used[frame] {
            frame = (frame + 1) % self.used.len();
        }
        self.used[frame] = true;
        frame as u32
    }
}
