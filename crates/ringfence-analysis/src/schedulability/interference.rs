//! What best-effort work can cost a gang, and what it costs to get caches back.
//!
//! # Model
//! While a gang runs, each best-effort core moves at most a budget of lines in a
//! regulation period, and once a quantum more, which the regulator claims and the
//! verdict checks. Each such line delays the gang by at most
//! - one request in DRAM, of the costliest kind, with its way there and back, and
//!   opening again the row that it closed; because a request that waits lets each
//!   other request go first at most once in the time that is counted (the argument
//!   of memory interference analyses such as Yun et al., "Memory access control in
//!   multiprocessor for real-time systems with mixed criticality", ECRTS 2012,
//!   and Pellizzoni et al., "Worst case delay analysis for memory interference in
//!   multicore systems", DATE 2010). A hit that waits in a bank of the LLC that
//!   stands still waits for such requests, too, and for the bank to take the line in
//!   or to give it up; and
//! - as many misses as the LLC has ways: one line put into a set can push out one
//!   line after the other of those used again (Burguière, Reineke, Altmeyer,
//!   "Cache-related preemption delay computation for set-associative caches:
//!   pitfalls and solutions", WCET 2009). With random replacement there is no such
//!   number. All of them together are no more than the job's accesses to the LLC,
//!   unless evictions reach into the L1 caches (`inclusion = "inclusive"`) and hits there miss, too.
//!   Shares of the cache, by ways or colours, are not counted on.
//!
//! A gang that tolerates nothing has best-effort cores stand still beside it. Beside
//! any other, best-effort hits in the LLC are not regulated: each access of the gang waits
//! at most for one access of every other core in its bank, as banks serve cores in
//! turn. Without a known
//! number of accesses that is left out, and the report says so.
//!
//! Known gap: that each line delays once is argued from a controller that serves
//! one request at a time. FR-FCFS over several banks is faster, but reordering
//! can in principle cost more than one request; it is not proven that it does not.

use ringfence_scenario::platform::{Inclusion, MemorySystem, Platform, Replacement};

use super::response::LONGEST_WINDOW_NS;

const PS_PER_NS: u64 = 1000;

/// Most steps towards a fixed point; one that needs more has none in practice.
const MAX_STEPS: u32 = 100_000;

/// What single accesses cost at worst.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AccessCosts {
    /// A line of another core in DRAM, from when its bank of the LLC asks until it has come.
    pub foreign_line_ns: u64,
    /// A line of the gang that is no longer in the LLC, its dirty victim included.
    pub miss_ns: u64,
    /// An access of another core in the same bank of the LLC.
    pub bank_ns: u64,
    /// Misses that one foreign line can cause; `u64::MAX` is as many as there are accesses.
    pub misses_per_line: u64,
    /// Whether an access that hits the L1 alone can be among these misses.
    pub reach_l1: bool,
}

impl AccessCosts {
    /// The costs on `platform`; all zero without memory.
    pub fn of(platform: &Platform) -> Self {
        let Some(memory) = &platform.memory else {
            return Self::default();
        };
        let t = &memory.dram.timing;
        let request = request_clocks(memory);
        let reopen = u64::from(t.rp) + u64::from(t.rcd);
        let clocks_ps = |clocks: u64| with_refresh(memory, clocks) * u64::from(t.clock_ps);
        let link_ps = u64::from(memory.dram.controller.link_ps);
        let bank_ps = cycles_ps(platform, memory.llc.bank_service_cycles);
        let latency_ps = link_ps + cycles_ps(platform, memory.llc.latency_cycles);
        Self {
            foreign_line_ns: (clocks_ps(request + reopen) + link_ps + bank_ps).div_ceil(PS_PER_NS),
            miss_ns: (clocks_ps(2 * request) + latency_ps + 2 * bank_ps).div_ceil(PS_PER_NS),
            bank_ns: bank_ps.div_ceil(PS_PER_NS),
            misses_per_line: match memory.llc.replacement {
                Replacement::Lru => memory.llc.ways.into(),
                Replacement::Random => u64::MAX,
            },
            reach_l1: memory.llc.inclusion == Inclusion::Inclusive,
        }
    }
}

/// One line that is served on its own, from a closed or another row to the next
/// command: the longest of read and write.
fn request_clocks(memory: &MemorySystem) -> u64 {
    let t = &memory.dram.timing;
    let bursts = u64::from(memory.line_bytes.div_ceil(memory.dram.burst_bytes));
    let served = u64::from(t.rp)
        + u64::from(t.rcd)
        + u64::from(t.cl.max(t.cwl))
        + bursts * u64::from(t.burst.max(t.ccd_l))
        + u64::from(t.wr.max(t.rtp).max(t.wtr_l))
        + u64::from(t.turnaround);
    served.max(u64::from(t.ras) + u64::from(t.rp))
}

/// `clocks` of service on a channel that also refreshes.
fn with_refresh(memory: &MemorySystem, clocks: u64) -> u64 {
    let t = &memory.dram.timing;
    let (refi, rfc) = (u64::from(t.refi), u64::from(t.rfc));
    match refi.checked_sub(rfc) {
        Some(useful) if useful > 0 => (clocks * refi).div_ceil(useful),
        _ => clocks,
    }
}

/// `cycles` of a core, rounded up.
pub fn cycles_ps(platform: &Platform, cycles: u32) -> u64 {
    const PS_PER_S: u64 = 1_000_000_000_000;
    (u64::from(cycles) * PS_PER_S).div_ceil(platform.frequency_hz)
}

/// Accesses of one job to the LLC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LlcAccesses {
    /// Most of one core.
    pub of_core: u64,
    /// Cores that the job runs on.
    pub cores: u64,
}

/// What a best-effort core may move beside a gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Nothing: it stands still.
    Nothing,
    /// So many lines, read and written, in a period; hits in the LLC are free.
    Lines(u64),
    /// Whatever it likes.
    Everything,
}

/// Best-effort work that may run beside a gang.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BestEffort {
    /// Cores that it can have while the gang runs.
    pub cores: u64,
    /// What each may move in a period.
    pub allowed: Allowed,
    /// Lines that each may move beyond that, once.
    pub quantum_lines: u64,
    /// Regulation period.
    pub period_ns: u64,
}

impl BestEffort {
    /// Whether it runs at all, beyond what was under way when the gang began.
    pub fn runs(&self) -> bool {
        self.cores > 0 && self.allowed != Allowed::Nothing
    }

    /// The most that it adds to a job that takes `execution_ns` alone; `None` without
    /// a bound.
    pub fn slows_down(
        &self,
        costs: &AccessCosts,
        execution_ns: u64,
        accesses: Option<LlcAccesses>,
    ) -> Option<u64> {
        if self.cores == 0 || *costs == AccessCosts::default() {
            return Some(0);
        }
        let contended = match self.allowed {
            Allowed::Nothing => 0,
            // Threads wait side by side, each for its own accesses.
            _ => accesses.map_or(0, |accesses| accesses.of_core),
        };
        let banks_ns = contended
            .saturating_mul(self.cores)
            .saturating_mul(costs.bank_ns);
        let mut added_ns = 0;
        for _ in 0..MAX_STEPS {
            let stretch_ns = execution_ns.saturating_add(added_ns);
            let periods = stretch_ns.div_ceil(self.period_ns).saturating_add(1);
            let lines = self.lines(periods)?;
            let next_ns = lines_ns(costs, lines, accesses).saturating_add(banks_ns);
            if next_ns > LONGEST_WINDOW_NS {
                return None;
            }
            if next_ns <= added_ns {
                return Some(added_ns);
            }
            added_ns = next_ns;
        }
        None
    }

    /// The most that one preemption more adds: execution that is cut in two reaches
    /// into two more periods. `None` without a bound.
    pub fn slows_down_resuming(
        &self,
        costs: &AccessCosts,
        accesses: Option<LlcAccesses>,
    ) -> Option<u64> {
        if self.cores == 0 || *costs == AccessCosts::default() {
            return Some(0);
        }
        Some(lines_ns(costs, self.lines(2)?, accesses))
    }

    /// Lines that all cores move in that many periods.
    fn lines(&self, periods: u64) -> Option<u64> {
        let in_period = match self.allowed {
            Allowed::Nothing => 0,
            Allowed::Lines(lines) => lines,
            Allowed::Everything => return None,
        };
        let of_each = periods
            .saturating_mul(in_period)
            .saturating_add(self.quantum_lines);
        Some(of_each.saturating_mul(self.cores))
    }
}

fn lines_ns(costs: &AccessCosts, lines: u64, accesses: Option<LlcAccesses>) -> u64 {
    let most_misses = accesses
        .filter(|_| !costs.reach_l1)
        .map_or(u64::MAX, |accesses| {
            accesses.of_core.saturating_mul(accesses.cores)
        });
    let misses = lines.saturating_mul(costs.misses_per_line).min(most_misses);
    lines
        .saturating_mul(costs.foreign_line_ns)
        .saturating_add(misses.saturating_mul(costs.miss_ns))
}
