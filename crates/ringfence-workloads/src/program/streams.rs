//! Arrays walked in lockstep: one line of each a step.

use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use ringfence_scenario::model;

use super::{Part, ProgramError, Setting, memory};
use crate::cycles;
use crate::large_pages::SharedPages;

/// Steps of a piece of endless work.
const STEPS: u64 = 1_000;

struct Streams {
    memory: Arc<SharedPages<AtomicU32>>,
    words_per_line: u64,
    array_lines: u64,
    reads: u64,
    arrays: u64,
    compute_cycles: u64,
    /// Lines of each array that this thread walks.
    first: u64,
    end: u64,
    stride: u64,
    passes: u32,
    at: Place,
}

/// Where a walk is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Line, counted from the thread's first.
    line: u64,
    /// The round of strides that it belongs to.
    start: u64,
}

pub(super) fn prepare(
    model: &model::Streams,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    let array_lines = setting.lines(model.array_bytes);
    let arrays = u64::from(model.reads) + u64::from(model.writes);
    let bytes = arrays
        .saturating_mul(array_lines)
        .saturating_mul(setting.line_bytes);
    let memory = Arc::new(memory(bytes)?.share());
    let threads = (0..setting.threads).map(|thread| {
        let share = setting.share(array_lines, thread);
        let lines = (share.end - share.start).max(1);
        Box::new(Streams {
            memory: Arc::clone(&memory),
            words_per_line: setting.words_per_line() as u64,
            array_lines,
            reads: model.reads.into(),
            arrays,
            compute_cycles: model.compute_cycles.into(),
            first: share.start,
            end: share.end,
            stride: setting.lines(model.stride_bytes).clamp(1, lines),
            passes: model.passes,
            at: Place { line: 0, start: 0 },
        }) as Box<dyn Part>
    });
    Ok(threads.collect())
}

impl Streams {
    /// One line of every array: reads, computation, writes.
    fn step_here(&self) {
        let line = self.first + self.at.line;
        let mut sum = 1_u32;
        for array in 0..self.reads {
            sum = sum.wrapping_add(self.word(array, line).load(Relaxed));
        }
        cycles::spend(self.compute_cycles);
        for array in self.reads..self.arrays {
            self.word(array, line).store(sum, Relaxed);
        }
        black_box(sum);
    }

    fn word(&self, array: u64, line: u64) -> &AtomicU32 {
        &self.memory[((array * self.array_lines + line) * self.words_per_line) as usize]
    }

    /// Moves on by the stride; past the end, to the next start; whether the walk is over.
    fn advance(&mut self) -> bool {
        self.at.line += self.stride;
        if self.at.line < self.end - self.first {
            return false;
        }
        self.at.start = (self.at.start + 1) % self.stride;
        self.at.line = self.at.start;
        self.at.start == 0
    }
}

impl Part for Streams {
    fn job(&mut self, _job: u64) {
        if self.first == self.end {
            return;
        }
        for _ in 0..self.passes {
            loop {
                self.step_here();
                if self.advance() {
                    break;
                }
            }
        }
    }

    fn step(&mut self) -> u64 {
        if self.first == self.end {
            return 0;
        }
        for _ in 0..STEPS {
            self.step_here();
            self.advance();
        }
        STEPS * self.arrays
    }
}
