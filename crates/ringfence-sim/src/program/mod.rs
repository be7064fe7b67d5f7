//! Programs: where the accesses of a thread come from.
//!
//! A [`Stream`] is one thread's program in execution. It yields operations:
//! some computation, then one access to a line of the task's memory.

mod bandwidth;
mod barriers;
mod cpu;
mod linked_lists;
mod matrix_product;
mod neural_network;
mod phases;
mod serial_phase;
mod streams;
mod strided;
mod task;
mod trace;

#[cfg(test)]
mod tests;

use crate::machine::Picoseconds;
use crate::machine::cache::WayMask;
use crate::machine::core::Window;
use crate::machine::pages::{PAGE_BYTES, Region};

pub(crate) use task::{Clock, Task};

/// What an operation does to its line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// Nothing; computation only.
    None,
    /// Reads it.
    Load,
    /// Writes it without waiting for it.
    Store,
    /// Reads it, then writes it.
    Modify,
}

impl Access {
    #[inline]
    pub(crate) fn reads(self) -> bool {
        matches!(self, Self::Load | Self::Modify)
    }

    #[inline]
    pub(crate) fn writes(self) -> bool {
        matches!(self, Self::Store | Self::Modify)
    }
}

impl From<ringfence_scenario::model::Access> for Access {
    fn from(access: ringfence_scenario::model::Access) -> Self {
        match access {
            ringfence_scenario::model::Access::Read => Self::Load,
            ringfence_scenario::model::Access::Write => Self::Store,
        }
    }
}

/// Which earlier loads an operation waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// None.
    Independent,
    /// The one before it in the chain: its address comes from there.
    Chain(u8),
    /// Every one that missed the L1: the program's dependences are unknown.
    AfterMisses,
    /// It brings instructions: what comes after it waits for them.
    Fetch,
}

impl Order {
    #[inline]
    pub(crate) fn chain(self) -> Option<usize> {
        match self {
            Self::Independent => None,
            Self::Chain(chain) => Some(usize::from(chain)),
            Self::AfterMisses | Self::Fetch => Some(0),
        }
    }
}

/// Some computation, then an access.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Op {
    /// Computation before the access.
    pub(crate) compute_ps: Picoseconds,
    /// Line: of the task's memory where a program yields it, physical where a core gets it.
    pub(crate) line: u64,
    pub(crate) access: Access,
    pub(crate) order: Order,
}

/// A program's own state, by kind.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    Bandwidth(bandwidth::Bandwidth),
    LinkedLists(linked_lists::LinkedLists),
    Cpu(cpu::Cpu),
    Streams(streams::Streams),
    Strided(strided::Strided),
    Phases(phases::Phases),
    NeuralNetwork(neural_network::NeuralNetwork),
    Trace(trace::Trace),
}

/// One thread's program in execution.
#[derive(Debug, Clone)]
pub(crate) struct Stream {
    source: Source,
    region: Region,
    /// Who pays for its traffic.
    pub(crate) is_best_effort: bool,
    /// Ways of the last-level cache that its lines may take.
    pub(crate) ways: WayMask,
    /// Lines in a page, as a power of two.
    page_shift: u32,
    op: Option<Op>,
    accesses: u64,
    /// When each chain's last load has its data; `u64::MAX` while that is unknown.
    pub(crate) chain_ready: [Picoseconds; 64],
    /// The last access has brought, or is to bring, instructions; chain 0 says when:
    /// a program that fetches has no chains.
    pub(crate) is_fetching: bool,
    /// What an out-of-order core has begun of it.
    pub(crate) window: Window,
}

impl Stream {
    pub(crate) fn new(
        source: Source,
        region: Region,
        is_best_effort: bool,
        ways: WayMask,
        line_bytes: u32,
    ) -> Self {
        let page_shift = (PAGE_BYTES / u64::from(line_bytes)).trailing_zeros();
        Self {
            source,
            region,
            is_best_effort,
            ways,
            page_shift,
            op: None,
            accesses: 0,
            chain_ready: [0; 64],
            is_fetching: false,
            window: Window::default(),
        }
    }

    /// The operation to execute next, `None` at the end of the job or phase.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<&mut Op> {
        if self.op.is_none() {
            self.draw()?;
        }
        self.op.as_mut()
    }

    /// Takes the next operation from the program, if there is one.
    #[inline(never)]
    fn draw(&mut self) -> Option<()> {
        let mut op = match &mut self.source {
            Source::Bandwidth(program) => program.next(),
            Source::LinkedLists(program) => program.next(),
            Source::Cpu(program) => program.next(),
            Source::Streams(program) => program.next(),
            Source::Strided(program) => program.next(),
            Source::Phases(program) => program.next(),
            Source::NeuralNetwork(program) => program.next(),
            Source::Trace(program) => program.next(),
        }?;
        op.line = physical(&self.region, self.page_shift, op.line);
        self.op = Some(op);
        Some(())
    }

    /// Keeps a program of linked lists to the physical lines that are wanted.
    /// When these are fewer than its lists, it says how many they are.
    pub(crate) fn keep(&mut self, is_wanted: impl Fn(u64) -> bool) -> Result<(), u64> {
        match &mut self.source {
            Source::LinkedLists(program) => {
                program.keep(|line| is_wanted(physical(&self.region, self.page_shift, line)))
            }
            _ => Ok(()),
        }
    }

    /// The operation has been begun: the next one is due.
    #[inline]
    pub(crate) fn advance(&mut self) {
        self.op = None;
    }

    /// An access was executed.
    #[inline]
    pub(crate) fn executed(&mut self) {
        self.accesses += 1;
    }

    pub(crate) fn accesses(&self) -> u64 {
        self.accesses
    }

    /// Goes on with the next phase if the last one has ended.
    pub(crate) fn resume(&mut self) {
        match &mut self.source {
            Source::Phases(program) => program.resume(),
            Source::NeuralNetwork(program) => program.resume(),
            _ => {}
        }
    }

    pub(crate) fn has_next_phase(&self) -> bool {
        match &self.source {
            Source::Phases(program) => program.has_next(),
            Source::NeuralNetwork(program) => program.has_next(),
            _ => false,
        }
    }

    pub(crate) fn begin_job(&mut self, job: u32) {
        self.op = None;
        self.is_fetching = false;
        self.window.clear();
        match &mut self.source {
            Source::Bandwidth(program) => program.begin_job(),
            Source::LinkedLists(program) => program.begin_job(),
            Source::Cpu(program) => program.begin_job(),
            Source::Streams(program) => program.begin_job(),
            Source::Strided(program) => program.begin_job(),
            Source::Phases(program) => program.begin_job(job),
            Source::NeuralNetwork(program) => program.begin_job(),
            Source::Trace(program) => program.begin_job(job),
        }
    }
}

/// The physical line of a line of the task's memory.
#[inline]
fn physical(region: &Region, page_shift: u32, line: u64) -> u64 {
    let frame = u64::from(region[(line >> page_shift) as usize]);
    frame << page_shift | line & ((1 << page_shift) - 1)
}
