//! What executes the threads' work, and the one way the operating system
//! model talks to it.

mod agenda;
mod cache;
pub mod compute;
mod core;
pub mod dram;
pub mod error;
mod exact;
mod llc;
pub(crate) mod pages;
mod rotating;

pub use exact::ExactMachine;

/// Simulated time in picoseconds since the start of the case.
pub type Picoseconds = u64;

/// A thread's program as the machine knows it: an index in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// Why [`Machine::run_until`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// Nothing that concerns the operating system happens before the horizon.
    Horizon,
    /// The stream on `core` reached the end of its job or phase; the core is idle from `time` on.
    Ended {
        /// Core that is idle now.
        core: u16,
        /// When.
        time: Picoseconds,
    },
    /// An interrupt asked for by [`Machine::interrupt`] was taken; the core is idle from `time` on.
    Interrupted {
        /// Core that is idle now.
        core: u16,
        /// When: the first instruction boundary at or after the time asked for.
        time: Picoseconds,
    },
    /// The traffic of `core` reached the limit set by [`Machine::set_traffic_limit`];
    /// the core goes on and the limit is disarmed.
    LimitReached {
        /// Core whose counter it is.
        core: u16,
        /// When.
        time: Picoseconds,
    },
}

/// Traffic of one core since the start; only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines fetched from memory for this core.
    pub read_lines: u64,
    /// Lines written to memory because of this core.
    pub write_lines: u64,
    /// LLC accesses of this core.
    pub llc_accesses: u64,
    /// LLC misses of this core.
    pub llc_misses: u64,
}

/// Traffic at which a core interrupts, as totals of [`Traffic`]; `u64::MAX` is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficLimit {
    /// Limit on `read_lines`.
    pub read_lines: u64,
    /// Limit on `write_lines`.
    pub write_lines: u64,
}

/// Cores that execute streams.
///
/// **Lookahead contract.** A machine may run cores ahead of each other, but
/// after a [`Stop`] at time `t` no core has executed anything later than
/// `t + lookahead`. The operating system acts on other cores only through
/// interrupts that arrive at least `lookahead` later, so what it does is exact.
/// Stops come in time order; equal times in core order.
pub trait Machine {
    /// Runs until the earliest event that concerns the operating system, at most to `horizon`.
    fn run_until(&mut self, horizon: Picoseconds) -> Stop;

    /// Makes the idle `core` execute `stream` from `at` on.
    ///
    /// The stream goes on where it stopped. `at` is not before the core became idle.
    fn start(&mut self, core: u16, stream: StreamId, at: Picoseconds);

    /// Asks the busy `core` to stop at its first instruction boundary at or after `at`.
    ///
    /// Answered by [`Stop::Interrupted`], or by [`Stop::Ended`] when the stream
    /// ends first. A second request before the answer keeps the earlier time.
    fn interrupt(&mut self, core: u16, at: Picoseconds);

    /// Rewinds a stream that is on no core to the start of job `job`.
    fn begin_job(&mut self, stream: StreamId, job: u32);

    /// Whether the stream that reported [`Stop::Ended`] has more phases in its job.
    fn has_next_phase(&self, stream: StreamId) -> bool;

    /// Traffic of `core` so far.
    fn traffic(&self, core: u16) -> Traffic;

    /// Arms the traffic limit of `core`.
    fn set_traffic_limit(&mut self, core: u16, limit: TrafficLimit);
}
