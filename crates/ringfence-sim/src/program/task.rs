//! Turns the program of a task into one source per thread.

use std::ops::Range;

use ringfence_scenario::model::Program;

use super::Source;
use super::bandwidth::Bandwidth;
use super::cpu::Cpu;
use super::linked_lists::LinkedLists;
use super::neural_network::NeuralNetwork;
use super::phases::Phases;
use super::streams::Streams;
use super::strided::Strided;
use super::trace::Trace;
use crate::machine::Picoseconds;
use crate::machine::error::MachineError;
use crate::random::SplitMix64;
use crate::time::cycle_ps;

/// The core's clock; its period is rounded to a whole picosecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    pub(crate) cycle_ps: Picoseconds,
    /// In thousandths of a cycle.
    cycles_per_instruction_milli: u64,
    issue_cycles: u64,
}

impl Clock {
    pub(crate) fn new(
        frequency_hz: u64,
        cycles_per_instruction_milli: u32,
        issue_cycles: u32,
    ) -> Self {
        Self {
            cycle_ps: cycle_ps(frequency_hz),
            cycles_per_instruction_milli: cycles_per_instruction_milli.into(),
            issue_cycles: issue_cycles.into(),
        }
    }

    pub(crate) fn cycles(&self, cycles: u64) -> Picoseconds {
        cycles * self.cycle_ps
    }

    /// Time of instructions that access no memory.
    pub(crate) fn instructions(&self, instructions: u64) -> Picoseconds {
        instructions * self.cycles_per_instruction_milli * self.cycle_ps / 1000
    }

    /// Time that issuing `accesses` occupies the core.
    pub(crate) fn issue(&self, accesses: u64) -> Picoseconds {
        accesses * self.issue_cycles * self.cycle_ps
    }
}

/// What a program needs to know of its task.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Task {
    pub(crate) threads: u16,
    /// Starts over at the end.
    pub(crate) endless: bool,
    pub(crate) line_bytes: u32,
    pub(crate) clock: Clock,
    pub(crate) seed: u64,
}

/// One source per thread, and the lines of memory that they use together.
pub(crate) struct Sources {
    pub(crate) threads: Vec<Source>,
    pub(crate) lines: u64,
}

impl Task {
    pub(crate) fn sources(&self, program: &Program) -> Result<Sources, MachineError> {
        let threads = 0..self.threads;
        Ok(match program {
            Program::Compute(_) => return Err(MachineError::ComputeProgram),
            Program::Bandwidth(model) => Sources {
                lines: self.lines(model.working_set_bytes),
                threads: threads
                    .map(|thread| Source::Bandwidth(Bandwidth::new(self, model, thread)))
                    .collect(),
            },
            Program::LinkedLists(model) => Sources {
                lines: self.lines(model.working_set_bytes) * u64::from(self.threads),
                threads: threads
                    .map(|thread| Source::LinkedLists(LinkedLists::new(self, model, thread)))
                    .collect(),
            },
            Program::Cpu(model) => Sources {
                lines: self.lines(model.working_set_bytes) * u64::from(self.threads),
                threads: threads
                    .map(|thread| Source::Cpu(Cpu::new(self, model, thread)))
                    .collect(),
            },
            Program::Streams(model) => Sources {
                lines: self.lines(model.array_bytes)
                    * (u64::from(model.reads) + u64::from(model.writes)),
                threads: threads
                    .map(|thread| Source::Streams(Streams::new(self, model, thread)))
                    .collect(),
            },
            Program::Strided(model) => Sources {
                lines: self.lines(model.working_set_bytes),
                threads: threads
                    .map(|thread| Source::Strided(Strided::new(self, model, thread)))
                    .collect(),
            },
            Program::Phases(phases) => Sources {
                lines: phases
                    .iter()
                    .map(|phase| self.lines(phase.working_set_bytes))
                    .max()
                    .unwrap_or(1),
                threads: threads
                    .map(|thread| Source::Phases(Phases::new(self, phases, thread)))
                    .collect(),
            },
            Program::NeuralNetwork(model) => Sources {
                lines: self.lines(model.memory_bytes(self.threads.into())),
                threads: threads
                    .map(|thread| Source::NeuralNetwork(NeuralNetwork::new(self, model, thread)))
                    .collect(),
            },
            Program::Trace(model) => Trace::sources(self, model)?,
        })
    }

    /// Whole lines in `bytes`, at least one.
    pub(super) fn lines(&self, bytes: u64) -> u64 {
        (bytes / u64::from(self.line_bytes)).max(1)
    }

    /// The thread's share of `total` things; the shares of all threads make up the total.
    pub(super) fn share(&self, total: u64, thread: u16) -> Range<u64> {
        let part =
            |n: u16| (u128::from(total) * u128::from(n) / u128::from(self.threads.max(1))) as u64;
        part(thread)..part(thread + 1)
    }

    /// The thread's own random numbers.
    pub(super) fn random(&self, thread: u16) -> SplitMix64 {
        SplitMix64::new(SplitMix64::new(self.seed.wrapping_add(u64::from(thread))).next_u64())
    }
}
