//! The scenario's programs, as code that runs on this machine.
//!
//! [`prepare`] makes one [`Part`] a thread, with all memory there and touched, so that
//! nothing but the program itself happens in a job. What each kind accesses, in which
//! order and split over the threads how, is what the scenario reference says and the
//! simulator models; the arithmetic between the accesses is real.

mod barrier;
mod compute;
mod corners;
mod cpu;
mod matrix_product;
mod network_layer;
pub mod neural_network;
mod phases;
mod serial_phase;
mod streams;
mod strided;
mod walks;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::path::PathBuf;

use ringfence_scenario::model;
use serde::{Deserialize, Serialize};

use crate::aggressor::ShapeError;
use crate::large_pages::LargePages;
use ringfence_victims::random::Random;

pub use barrier::Barrier;

/// One thread's part of a program.
pub trait Part: Send {
    /// Does its part of job `job`; waits for the other threads where the program does.
    fn job(&mut self, job: u64);

    /// Does a piece of the same work without end and without the other threads: some
    /// milliseconds at most, a phase where the program has phases. How many accesses to
    /// memory it made, one a cache line; 0 where the program has none.
    fn step(&mut self) -> u64;
}

/// What can run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Program {
    /// A program of a scenario.
    Scenario(model::Program),
    /// The product of two square matrices of single-precision numbers; threads share its rows.
    MatrixProduct {
        /// Rows, and columns; 1 to 16384.
        rows: u32,
    },
    /// SUSAN corners of a photograph; every thread finds all.
    Corners {
        /// Binary PGM.
        image: PathBuf,
        /// Least contrast, in steps of brightness; positive.
        threshold: u8,
    },
}

/// Where a program runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Setting {
    /// Threads; at least 1.
    pub threads: u16,
    /// Bytes of a cache line: a power of two from 16 to 4096.
    pub line_bytes: u64,
    /// How physical addresses select a bank of the last-level cache; see
    /// [`crate::aggressor::Bank::functions`].
    pub bank_functions: Vec<u64>,
    /// Seed of random orders.
    pub seed: u64,
}

/// Why a program cannot run here.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Accesses without the instructions between them.
    #[error(
        "a recorded trace has only the accesses of a program, so it cannot run natively; run the program itself, or the scenario on the simulator"
    )]
    Trace,
    /// Numbers that the processor does not have.
    #[error(
        "a network of values of {0} B cannot run natively; expected bytes_per_value = 4 or 8, or run it on the simulator"
    )]
    ValueBytes(u8),
    /// Layers that a checked scenario does not have.
    #[error(
        "layer {0} does not take what comes before it, or its kernel does not fit; expected a network that ringfence check has passed"
    )]
    Layer(usize),
    /// A bank of an unknown cache.
    #[error(
        "bank {bank} of the last-level cache, which has {banks}; expected a smaller number, and the platform's bank_functions"
    )]
    Bank {
        /// Asked for.
        bank: u16,
        /// By the functions.
        banks: u64,
    },
    /// No such walk.
    #[error(transparent)]
    Walk(#[from] ShapeError),
    /// Nothing to work on.
    #[error("{what} of {found}; expected {expected}")]
    Range {
        /// Which value.
        what: &'static str,
        /// What it is.
        found: u64,
        /// What it should be.
        expected: &'static str,
    },
    /// Not enough memory.
    #[error("no memory for {bytes} bytes: {source}")]
    Memory {
        /// Bytes asked for.
        bytes: u64,
        /// What the system says.
        source: std::io::Error,
    },
    /// The image cannot be used.
    #[error("{path}: {reason}")]
    Image {
        /// Which.
        path: String,
        /// Why.
        reason: String,
    },
}

/// One part a thread, ready for its first job.
///
/// # Errors
/// When the program cannot run here.
pub fn prepare(program: &Program, setting: &Setting) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    if setting.threads == 0 {
        return Err(ProgramError::Range {
            what: "threads",
            found: 0,
            expected: "at least 1",
        });
    }
    if !setting.line_bytes.is_power_of_two() || !(16..=4096).contains(&setting.line_bytes) {
        return Err(ShapeError::Line(setting.line_bytes).into());
    }
    match program {
        Program::Scenario(program) => prepare_scenario(program, setting),
        Program::MatrixProduct { rows } => matrix_product::prepare(*rows, setting),
        Program::Corners { image, threshold } => corners::prepare(image, *threshold, setting),
    }
}

fn prepare_scenario(
    program: &model::Program,
    setting: &Setting,
) -> Result<Vec<Box<dyn Part>>, ProgramError> {
    match program {
        model::Program::Compute(model) => Ok(compute::prepare(model, setting)),
        model::Program::Bandwidth(model) => walks::bandwidth(model, setting),
        model::Program::LinkedLists(model) => walks::linked_lists(model, setting),
        model::Program::Cpu(model) => cpu::prepare(model, setting),
        model::Program::Streams(model) => streams::prepare(model, setting),
        model::Program::Strided(model) => strided::prepare(model, setting),
        model::Program::Phases(phases) => phases::prepare(phases, setting),
        model::Program::NeuralNetwork(model) => neural_network::prepare(model, setting),
        model::Program::Trace(_) => Err(ProgramError::Trace),
    }
}

impl Setting {
    /// Whole lines in `bytes`, at least one.
    fn lines(&self, bytes: u64) -> u64 {
        (bytes / self.line_bytes).max(1)
    }

    fn words_per_line(&self) -> usize {
        self.line_bytes as usize / size_of::<u32>()
    }

    /// The thread's share of `total` things; the shares of all threads make up the total.
    fn share(&self, total: u64, thread: u16) -> Range<u64> {
        share(total, thread.into(), self.threads.into())
    }

    /// The thread's own random numbers.
    fn random(&self, thread: u16) -> Random {
        Random::new(Random::new(self.seed.wrapping_add(thread.into())).next_bits())
    }
}

/// Part `part` of `parts` of `total` things.
fn share(total: u64, part: u64, parts: u64) -> Range<u64> {
    let until = |part: u64| (u128::from(total) * u128::from(part) / u128::from(parts)) as u64;
    until(part)..until(part + 1)
}

/// A total that is spread evenly over steps.
#[derive(Debug, Clone, Copy)]
struct Spread {
    each: u64,
    extra: u64,
    steps: u64,
    /// What steps so far left over, in parts of `steps`.
    rest: u64,
}

impl Spread {
    fn new(total: u64, steps: u64) -> Self {
        let steps = steps.max(1);
        Self {
            each: total / steps,
            extra: total % steps,
            steps,
            rest: 0,
        }
    }

    /// What the next step gets.
    fn next(&mut self) -> u64 {
        self.rest += self.extra;
        match self.rest >= self.steps {
            true => {
                self.rest -= self.steps;
                self.each + 1
            }
            false => self.each,
        }
    }
}

/// Memory of `bytes` bytes, touched.
fn memory(bytes: u64) -> Result<LargePages, ProgramError> {
    let mut memory = map(bytes)?;
    // A page that was never written may be one page of zeros for all.
    memory.fill(1);
    Ok(memory)
}

/// Addresses for `bytes` bytes.
fn map(bytes: u64) -> Result<LargePages, ProgramError> {
    let error = |source| ProgramError::Memory { bytes, source };
    // What is more than a quarter of the addresses is a mistake.
    let words = usize::try_from(bytes.div_ceil(4)).ok();
    let words = words.filter(|words| *words <= isize::MAX as usize / 8);
    let words = words.ok_or_else(|| error(std::io::ErrorKind::OutOfMemory.into()))?;
    LargePages::new(words).map_err(error)
}
