//! What one thread of a neural network does alone before the first layer.
//!
//! The framework's instructions and objects are lines in random order, each asked for
//! when the one before it has come.

use std::hint::black_box;

use ringfence_scenario::network;

use super::{ProgramError, Setting, Spread, memory};
use crate::cycles;
use crate::large_pages::LargePages;
use ringfence_victims::random::Random;

pub(super) struct SerialPhase {
    memory: LargePages,
    words_per_line: usize,
    cycles: u64,
    read_lines: u64,
    framework_lines: u32,
    accesses: u64,
    random: Random,
}

impl SerialPhase {
    pub(super) fn new(
        model: &network::SerialPhase,
        setting: &Setting,
    ) -> Result<Self, ProgramError> {
        let read_lines = model.read_end() / setting.line_bytes;
        let lines = model.memory_bytes() / setting.line_bytes;
        Ok(Self {
            memory: memory(model.memory_bytes().max(setting.line_bytes))?,
            words_per_line: setting.words_per_line(),
            cycles: model.cycles,
            read_lines,
            framework_lines: u32::try_from(lines - read_lines).unwrap_or(u32::MAX),
            accesses: model.accesses,
            random: setting.random(0),
        })
    }

    pub(super) fn accesses(&self) -> u64 {
        self.read_lines + self.accesses
    }

    pub(super) fn run(&mut self) {
        let steps = self.accesses();
        let mut cycles = Spread::new(self.cycles, steps);
        if steps == 0 {
            cycles::spend(self.cycles);
        }
        let mut sum = 0_u32;
        for line in 0..self.read_lines {
            cycles::spend(cycles.next());
            sum = sum.wrapping_add(self.word(line));
        }
        for _ in 0..self.accesses {
            cycles::spend(cycles.next());
            let line = self.random.below(self.framework_lines);
            // All words are alike, which the processor does not know: it has to have the
            // last one before it can ask for the next.
            let unknown = black_box(sum) ^ sum;
            sum = self.word(self.read_lines + u64::from(line ^ unknown));
        }
        black_box(sum);
    }

    fn word(&self, line: u64) -> u32 {
        black_box(self.memory[line as usize * self.words_per_line])
    }
}
