//! What executes the threads' work, and the one way the operating system
//! model talks to it.

pub(crate) mod agenda;
pub(crate) mod cache;
pub mod compute;
pub(crate) mod core;
pub mod dram;
pub mod error;
mod exact;
pub(crate) mod llc;
pub(crate) mod pages;
mod rotating;

pub use crate::time::Picoseconds;
pub use exact::ExactMachine;

/// A thread's program as the machine knows it: an index in order of creation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// Why [`Machine::run_until`] came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The horizon is reached, and everything up to it that concerns the
    /// operating system, the horizon included, was reported.
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

/// Traffic that one core's threads of one class caused since the start; only grows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Lines fetched from memory.
    pub read_lines: u64,
    /// Lines written to memory.
    pub write_lines: u64,
    /// LLC accesses.
    pub llc_accesses: u64,
    /// LLC misses.
    pub llc_misses: u64,
}

/// Traffic of one core, told apart by whose it is: that of the stream that
/// issued the access, even if it has left the core when the access gets to the
/// LLC or the memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CoreTraffic {
    /// Of real-time streams.
    pub real_time: Traffic,
    /// Of best-effort streams.
    pub best_effort: Traffic,
}

impl CoreTraffic {
    /// Lines that moved between the last-level cache and the memory, both ways, of all streams.
    pub fn lines(&self) -> u64 {
        let all = self.total();
        all.read_lines + all.write_lines
    }

    /// Of all streams.
    pub fn total(&self) -> Traffic {
        let (a, b) = (&self.real_time, &self.best_effort);
        Traffic {
            read_lines: a.read_lines + b.read_lines,
            write_lines: a.write_lines + b.write_lines,
            llc_accesses: a.llc_accesses + b.llc_accesses,
            llc_misses: a.llc_misses + b.llc_misses,
        }
    }
}

/// Traffic at which a core interrupts, as totals of [`Traffic`]; `u64::MAX` is never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrafficLimit {
    /// Limit on `read_lines` of best-effort streams.
    pub read_lines: u64,
    /// Limit on `write_lines` of best-effort streams.
    pub write_lines: u64,
    /// Limit on `read_lines` and `write_lines` together, of all streams.
    pub lines: u64,
}

impl TrafficLimit {
    /// Never.
    pub const NONE: Self = Self {
        read_lines: u64::MAX,
        write_lines: u64::MAX,
        lines: u64::MAX,
    };
}

/// Cores that execute streams.
///
/// **Lookahead contract.** A machine may run cores ahead of each other. After
/// a stop of a core at time `t` no core has begun an instruction at `t +
/// lookahead` or later, and none at the horizon or later. So an interrupt is
/// exact if it is for the horizon after [`Stop::Horizon`], as a timer's is, or
/// for `lookahead` after the stop that leads to it, as another core's is.
///
/// Stops come in time order; equal times in core order. Stops at the horizon
/// come before [`Stop::Horizon`]. Where horizons lie has no influence on what
/// the machine does.
pub trait Machine {
    /// Runs until the earliest event that concerns the operating system, at
    /// most to `horizon`, which is included and not before the last stop.
    fn run_until(&mut self, horizon: Picoseconds) -> Stop;

    /// Makes the idle `core` execute `stream` from `at` on.
    ///
    /// The stream goes on where it stopped. `at` is not before the core became idle.
    fn start(&mut self, core: u16, stream: StreamId, at: Picoseconds);

    /// Asks the busy `core` to stop at its first instruction boundary at or after `at`.
    ///
    /// Answered by [`Stop::Interrupted`], or by [`Stop::Ended`] when the stream
    /// ends no later. A second request before the answer keeps the earlier time.
    fn interrupt(&mut self, core: u16, at: Picoseconds);

    /// Rewinds a stream that is on no core to the start of job `job`.
    fn begin_job(&mut self, stream: StreamId, job: u32);

    /// Whether the stream that reported [`Stop::Ended`] has more phases in its job.
    fn has_next_phase(&self, stream: StreamId) -> bool;

    /// Traffic of `core` so far.
    fn traffic(&self, core: u16) -> CoreTraffic;

    /// Memory accesses that `stream` has issued; `None` on a machine without memory.
    fn executed(&self, stream: StreamId) -> Option<u64>;

    /// Arms the limit of the traffic of `core`.
    fn set_traffic_limit(&mut self, core: u16, limit: TrafficLimit);
}
