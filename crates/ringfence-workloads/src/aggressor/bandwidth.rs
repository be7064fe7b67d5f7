//! Bw: one access to each line, in address order.

use super::Access;
use std::hint::black_box;

/// Place of a walk; the memory is with its owner.
#[derive(Debug)]
pub(super) struct Bandwidth {
    /// Words of a line.
    stride: usize,
    /// Line that comes next.
    line: usize,
}

impl Bandwidth {
    pub(super) fn new(stride: usize) -> Self {
        Self { stride, line: 0 }
    }

    pub(super) fn lines(&self, memory: &[u32]) -> u64 {
        (memory.len() / self.stride) as u64
    }

    /// Makes `accesses` accesses.
    pub(super) fn run(&mut self, memory: &mut [u32], access: Access, accesses: u64) -> u64 {
        let lines = memory.len() / self.stride;
        let mut left = accesses;
        while left > 0 {
            let stretch = (lines - self.line).min(usize::try_from(left).unwrap_or(usize::MAX));
            let words = &mut memory[self.line * self.stride..][..stretch * self.stride];
            match access {
                Access::Read => read(words, self.stride),
                Access::Write => write(words, self.stride, left as u32),
            }
            self.line = (self.line + stretch) % lines;
            left -= stretch as u64;
        }
        accesses
    }
}

#[inline(never)]
fn read(words: &[u32], stride: usize) {
    let sum = words
        .iter()
        .step_by(stride)
        .fold(0_u32, |sum, word| sum.wrapping_add(*word));
    black_box(sum);
}

#[inline(never)]
fn write(words: &mut [u32], stride: usize, value: u32) {
    for word in words.iter_mut().step_by(stride) {
        *word = value;
    }
    black_box(words);
}
