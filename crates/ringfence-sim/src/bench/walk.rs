//! The yardstick of the benches: a plain walk over an array.

use std::hint::black_box;
use std::time::{Duration, Instant};

use super::dram_load::LINE_BYTES;

const WALK_LINES: usize = (32 << 20) / LINE_BYTES as usize;

/// One read a line over an array bigger than most caches.
pub(super) struct Walk(Vec<u64>);

impl Walk {
    const WORDS_PER_LINE: usize = LINE_BYTES as usize / size_of::<u64>();

    pub(super) fn new() -> Self {
        Self((0..(WALK_LINES * Self::WORDS_PER_LINE) as u64).collect())
    }

    /// Reads all lines; returns how many they are.
    pub(super) fn run(&mut self) -> u64 {
        let sum = self
            .0
            .iter()
            .step_by(Self::WORDS_PER_LINE)
            .fold(0u64, |sum, word| sum.wrapping_add(*word));
        black_box(sum);
        WALK_LINES as u64
    }
}

/// Repeats `work` for at least `slice`; adds the time and returns the sum of its results.
pub(super) fn repeat(slice: Duration, seconds: &mut f64, mut work: impl FnMut() -> u64) -> u64 {
    let start = Instant::now();
    let mut sum = 0;
    while start.elapsed() < slice {
        sum += work();
    }
    *seconds += start.elapsed().as_secs_f64();
    sum
}
