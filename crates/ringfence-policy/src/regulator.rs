//! Bandwidth regulator: how much traffic best-effort cores may cause while gangs run.
//!
//! The rules, the quantum and the known gaps are stated in `regulator.h` (the domain)
//! and `budget.h` (one core of it) of `policy/include/ringfence/`, which this module
//! calls.

mod ffi;

use crate::CpuSet;

/// Traffic that one core may cause in one period, in events.
///
/// `u64::MAX` in a direction means that this direction is not limited.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Budget {
    /// Read events per period.
    pub reads: u64,
    /// Write events per period.
    pub writes: u64,
}

impl Budget {
    /// No limit on reads, none on writes.
    pub const UNLIMITED: Self = Self {
        reads: u64::MAX,
        writes: u64::MAX,
    };
}

/// Events of `bytes_per_event` bytes in `period_ns` at `bytes_per_second`, rounded down.
///
/// Exact. `None` for a period outside 1 us to 1 s, events of no bytes, and the
/// rate `u64::MAX`, whose budget would read as unlimited.
pub fn events_per_period(
    bytes_per_second: u64,
    period_ns: u64,
    bytes_per_event: u32,
) -> Option<u64> {
    let mut events = 0;
    ffi::shim_budget_events_per_period(bytes_per_second, period_ns, bytes_per_event, &mut events)
        .then_some(events)
}

/// What a core does after a charge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Charge {
    /// Best-effort work goes on.
    Continue,
    /// The core is throttled: its best-effort work stops now.
    Throttle,
}

/// Why a domain cannot be regulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RegulatorError {
    /// The domain has no core.
    #[error("a regulated domain without a CPU: expected at least one CPU")]
    EmptyDomain,
}

/// The cores that share one resource, and what they have used of it.
///
/// Numbers outside the domain are mistakes of the caller, not input: the methods
/// that take a CPU or a partition panic on one that the domain does not have,
/// and the policy core has then changed nothing.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Domain(Box<ffi::State>);

impl Domain {
    /// Regulates `cpus`, at least one; no gang runs yet.
    pub fn new(cpus: &CpuSet) -> Result<Self, RegulatorError> {
        let mut state = Box::<ffi::State>::default();
        match ffi::shim_regulator_init(&mut state, cpus) {
            ffi::OK => Ok(Self(state)),
            _ => Err(RegulatorError::EmptyDomain),
        }
    }

    /// A gang with this tolerance runs in `partition` from now on, in place of
    /// the one that ran there; answers the CPUs that this throttles at once.
    ///
    /// # Panics
    /// If `partition` is above 63.
    pub fn gang_running(&mut self, partition: u8, tolerance: Budget) -> CpuSet {
        let mut throttled = CpuSet::new();
        let status = ffi::shim_regulator_gang_running(
            &mut self.0,
            partition.into(),
            &tolerance,
            &mut throttled,
        );
        assert_eq!(status, ffi::OK, "partition {partition}: expected 0 to 63");
        throttled
    }

    /// No gang runs in `partition` any more; answers the CPUs that may run again:
    /// none while a gang runs in another partition.
    ///
    /// # Panics
    /// If `partition` is above 63.
    pub fn gang_stopped(&mut self, partition: u8) -> CpuSet {
        let mut unthrottled = CpuSet::new();
        let status =
            ffi::shim_regulator_gang_stopped(&mut self.0, partition.into(), &mut unthrottled);
        assert_eq!(status, ffi::OK, "partition {partition}: expected 0 to 63");
        unthrottled
    }

    /// Counts the events that best-effort work on `cpu` has caused since the last call.
    ///
    /// Call it before [`Domain::refill`], [`Domain::gang_running`] and
    /// [`Domain::gang_stopped`], so that the use falls into the right period.
    ///
    /// # Panics
    /// If `cpu` is outside the domain.
    pub fn charge(&mut self, cpu: u16, reads: u64, writes: u64) -> Charge {
        match ffi::shim_regulator_charge(&mut self.0, cpu.into(), reads, writes) {
            ffi::OK => Charge::Continue,
            ffi::THROTTLE => Charge::Throttle,
            _ => panic!("CPU {cpu}: expected a CPU of the regulated domain"),
        }
    }

    /// A period begins: budgets are full again, less the debt. Answers the CPUs
    /// that may run again.
    pub fn refill(&mut self) -> CpuSet {
        let mut unthrottled = CpuSet::new();
        ffi::shim_regulator_refill(&mut self.0, &mut unthrottled);
        unthrottled
    }

    /// The strictest tolerance of the gangs that run now; `None` when none runs.
    pub fn threshold(&self) -> Option<Budget> {
        (self.0.regulated != 0).then_some(self.0.threshold)
    }

    /// What `cpu` may still use in this period, for arming its counters: zero
    /// while it is throttled, unlimited in a direction that is not limited.
    ///
    /// # Panics
    /// If `cpu` is outside the domain.
    pub fn remaining(&self, cpu: u16) -> Budget {
        let mut remaining = Budget::UNLIMITED;
        let status = ffi::shim_regulator_remaining(&self.0, cpu.into(), &mut remaining);
        assert_eq!(
            status,
            ffi::OK,
            "CPU {cpu}: expected a CPU of the regulated domain"
        );
        remaining
    }

    /// Whether `cpu` is out of budget; false for a CPU outside the domain.
    pub fn is_throttled(&self, cpu: u16) -> bool {
        ffi::shim_regulator_is_throttled(&self.0, cpu.into())
    }

    /// Events that `cpu` used beyond its budgets and has not paid back yet.
    ///
    /// # Panics
    /// If `cpu` is above 511.
    pub fn debt(&self, cpu: u16) -> Budget {
        let core = &self.0.core[usize::from(cpu)];
        Budget {
            reads: core.reads.debt,
            writes: core.writes.debt,
        }
    }
}

impl std::fmt::Debug for Domain {
    /// Only what differs from a domain at rest: the state has room for 512 CPUs.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut out = formatter.debug_struct("Domain");
        out.field("threshold", &self.threshold());
        for (cpu, core) in self.0.core.iter().enumerate() {
            if core.in_domain != 0 {
                out.field(&format!("cpu{cpu}"), core);
            }
        }
        out.finish()
    }
}
