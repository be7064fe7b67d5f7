//! How much memory traffic best-effort work may cause while gangs run.
//!
//! Every decision comes from [`Domain`]; the one domain is all cores, because
//! all of them share the last-level cache.

use ringfence_policy::CpuSet;
use ringfence_policy::regulator::{Budget, Charge, Domain, RegulatorError};
use ringfence_scenario::model::Scenario;

use super::gangs::Gangs;
use crate::machine::Picoseconds;
use crate::time::PS_PER_NS;
use ringfence_target::budget::{budget, line_bytes};
use ringfence_target::workload::Workload;

const PRIORITIES: usize = 100;

/// No limit in either direction.
const UNLIMITED: Budget = Budget {
    reads: u64::MAX,
    writes: u64::MAX,
};

/// The regulator of a case.
#[derive(Debug)]
pub(super) struct Regulation {
    domain: Domain,
    /// Refill period.
    pub(super) period_ps: Picoseconds,
    line_bytes: u32,
    /// By partition and priority: the strictest of the gangs that share them.
    tolerance: Vec<[Budget; PRIORITIES]>,
    /// By partition: what the domain was last told.
    told: Vec<Option<Budget>>,
}

/// What a change of the running gangs leads to.
#[derive(Debug, Default)]
pub(super) struct Change {
    /// The limit of all cores is another one now.
    pub(super) new_threshold: bool,
    /// Cores that are out of budget now.
    pub(super) throttled: CpuSet,
    /// Cores that may run again because no gang runs.
    pub(super) unthrottled: CpuSet,
}

impl Regulation {
    /// Nothing runs yet.
    ///
    /// # Errors
    /// What the policy refuses.
    pub(super) fn new(
        scenario: &Scenario,
        workload: &Workload<'_>,
    ) -> Result<Self, RegulatorError> {
        let cpus: CpuSet = (0..scenario.platform.cores).collect();
        let period_ns = scenario.regulation.period_ns;
        let line_bytes = line_bytes(scenario);
        let mut tolerance = vec![[UNLIMITED; PRIORITIES]; scenario.partitions.len()];
        for gang in &workload.gangs {
            let shared = &mut tolerance[gang.partition][usize::from(gang.priority)];
            *shared = strictest(*shared, budget(gang.tolerance, period_ns, line_bytes));
        }
        Ok(Self {
            domain: Domain::new(&cpus)?,
            period_ps: period_ns * PS_PER_NS,
            line_bytes,
            tolerance,
            told: vec![None; scenario.partitions.len()],
        })
    }

    /// The gangs that run in `partition` may have changed.
    pub(super) fn gangs_changed(&mut self, partition: usize, gangs: &Gangs) -> Change {
        let tolerance = gangs
            .present(partition)
            .map(|priority| self.tolerance[partition][usize::from(priority)])
            .reduce(strictest);
        if self.told[partition] == tolerance {
            return Change::default();
        }
        self.told[partition] = tolerance;
        let before = self.domain.threshold();
        let number = u8::try_from(partition).expect("partitions are at most 64");
        let mut change = Change::default();
        match tolerance {
            Some(tolerance) => change.throttled = self.domain.gang_running(number, tolerance),
            None => change.unthrottled = self.domain.gang_stopped(number),
        }
        change.new_threshold = self.domain.threshold() != before;
        change
    }

    /// Charges a core's best-effort use; whether this throttles it.
    pub(super) fn charge(&mut self, core: u16, read_lines: u64, write_lines: u64) -> bool {
        let before = self.domain.is_throttled(core);
        self.domain.charge(core, read_lines, write_lines) == Charge::Throttle && !before
    }

    /// A period begins; the cores that may run again.
    pub(super) fn refill(&mut self) -> CpuSet {
        self.domain.refill()
    }

    /// Whether a gang runs, so that use is limited.
    pub(super) fn is_active(&self) -> bool {
        self.domain.threshold().is_some()
    }

    /// Whether `core` is out of budget.
    pub(super) fn is_throttled(&self, core: u16) -> bool {
        self.domain.is_throttled(core)
    }

    /// Lines that `core` may still read and write in this period.
    pub(super) fn remaining(&self, core: u16) -> Budget {
        self.domain.remaining(core)
    }

    /// Bytes per period that every core may read and write.
    pub(super) fn threshold_bytes(&self) -> (Option<u64>, Option<u64>) {
        let threshold = self.domain.threshold().unwrap_or(UNLIMITED);
        let bytes = |lines| (lines != u64::MAX).then(|| lines * u64::from(self.line_bytes));
        (bytes(threshold.reads), bytes(threshold.writes))
    }
}

fn strictest(a: Budget, b: Budget) -> Budget {
    Budget {
        reads: a.reads.min(b.reads),
        writes: a.writes.min(b.writes),
    }
}
