//! Part that stays in the core and its first-level cache.

use std::hint::black_box;

use ringfence_scenario::model;

use super::{Part, ProgramError, Setting, memory};
use crate::cycles;
use crate::large_pages::LargePages;

/// Cycles and accesses of a piece of endless work, about.
const STEP: u64 = 100_000;

struct Cpu {
    memory: LargePages,
    words_per_line: usize,
    cycles_per_access: u64,
    accesses_per_job: u64,
}

pub(super) fn prepare(
    model: &model::Cpu,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let bytes = setting.lines(model.working_set_bytes) * setting.line_bytes;
    let threads = (0..setting.threads).map(|_| {
        Ok(Box::new(Cpu {
            memory: memory(bytes)?,
            words_per_line: setting.words_per_line(),
            cycles_per_access: model.cycles_per_access.into(),
            accesses_per_job: model.accesses,
        }) as Box<dyn Part>)
    });
    threads.collect()
}

impl Cpu {
    /// From the begin of the working set on.
    fn run(&self, accesses: u64) {
        let mut lines = self.memory.iter().step_by(self.words_per_line).cycle();
        let mut sum = 0_u32;
        for _ in 0..accesses {
            cycles::spend(self.cycles_per_access);
            sum = sum.wrapping_add(lines.next().map_or(0, |word| black_box(*word)));
        }
        black_box(sum);
    }
}

impl Part for Cpu {
    fn job(&mut self, _job: u64) {
        self.run(self.accesses_per_job);
    }

    fn step(&mut self) -> u64 {
        let accesses = STEP / (1 + self.cycles_per_access) + 1;
        self.run(accesses);
        accesses
    }
}
