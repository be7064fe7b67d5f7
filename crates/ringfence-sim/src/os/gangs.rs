//! Which gang runs in each partition.
//!
//! Under gang scheduling every decision comes from [`Partition`]; this module
//! adds only who asks. Under fixed priority nobody is asked, and all gangs
//! with a runnable thread run.

use ringfence_policy::CpuSet;
use ringfence_policy::gang::{Decision, GangError, Partition, ShareLimit};
use ringfence_scenario::model::{self, Scenario, Scheduling};

const PRIORITIES: usize = 100;

/// The partitions of a case.
#[derive(Debug)]
pub(super) struct Gangs {
    partitions: Vec<PartitionState>,
}

#[derive(Debug)]
struct PartitionState {
    /// `None` under fixed priority.
    policy: Option<Partition>,
    /// Threads, by priority.
    runnable: [u32; PRIORITIES],
    /// Cores that run a thread, by priority.
    running: [u32; PRIORITIES],
}

impl Gangs {
    /// All partitions of `scenario`, with nothing runnable.
    ///
    /// # Errors
    /// What the policy refuses.
    pub(super) fn new(scenario: &Scenario, scheduling: Scheduling) -> Result<Self, GangError> {
        let share = match scenario.share {
            model::ShareLimit::Off => ShareLimit::Off,
            model::ShareLimit::Limited {
                limit_ns,
                window_ns,
            } => ShareLimit::Limited {
                limit_ns,
                window_ns,
            },
        };
        let partitions = scenario
            .partitions
            .iter()
            .map(|partition| {
                let cpus: CpuSet = partition.cores.iter().copied().collect();
                let policy = match scheduling {
                    Scheduling::Gang => Some(Partition::new(&cpus, share, 0)?),
                    Scheduling::FixedPriority => None,
                };
                Ok(PartitionState {
                    policy,
                    runnable: [0; PRIORITIES],
                    running: [0; PRIORITIES],
                })
            })
            .collect::<Result<_, GangError>>()?;
        Ok(Self { partitions })
    }

    /// Number of partitions.
    pub(super) fn len(&self) -> usize {
        self.partitions.len()
    }

    /// A thread became runnable; the CPUs to reschedule.
    pub(super) fn runnable(&mut self, partition: usize, priority: u8) -> CpuSet {
        let state = &mut self.partitions[partition];
        state.runnable[usize::from(priority)] += 1;
        match &mut state.policy {
            Some(policy) => policy.runnable(priority),
            None => CpuSet::new(),
        }
    }

    /// A thread sleeps; the CPUs to reschedule.
    pub(super) fn quiescent(&mut self, partition: usize, priority: u8) -> CpuSet {
        let state = &mut self.partitions[partition];
        state.runnable[usize::from(priority)] -= 1;
        match &mut state.policy {
            Some(policy) => policy.quiescent(priority),
            None => CpuSet::new(),
        }
    }

    /// Whether `core` may run a thread of `priority` now.
    pub(super) fn may_run(&mut self, partition: usize, core: u16, priority: u8) -> bool {
        let state = &mut self.partitions[partition];
        let Some(policy) = &mut state.policy else {
            return true;
        };
        policy.decide(core, priority) == Decision::Run
    }

    /// A thread that may run starts on `core`.
    pub(super) fn running(&mut self, partition: usize, core: u16, priority: u8, now_ns: u64) {
        let state = &mut self.partitions[partition];
        state.running[usize::from(priority)] += 1;
        if let Some(policy) = &mut state.policy {
            policy.running(core, priority, now_ns);
        }
    }

    /// The gang's thread left `core`; the CPUs to reschedule.
    pub(super) fn stopping(
        &mut self,
        partition: usize,
        core: u16,
        priority: u8,
        now_ns: u64,
    ) -> CpuSet {
        let state = &mut self.partitions[partition];
        state.running[usize::from(priority)] -= 1;
        match &mut state.policy {
            Some(policy) => policy.stopping(core, now_ns),
            None => CpuSet::new(),
        }
    }

    /// The share timer of `partition` fires; the CPUs to reschedule.
    pub(super) fn timer(&mut self, partition: usize, now_ns: u64) -> CpuSet {
        match &mut self.partitions[partition].policy {
            Some(policy) => policy.timer(now_ns),
            None => CpuSet::new(),
        }
    }

    /// When the share timer of `partition` has to fire next.
    pub(super) fn next_timer_ns(&self, partition: usize) -> Option<u64> {
        self.partitions[partition].policy.as_ref()?.next_timer_ns()
    }

    /// The gang that has the partition, also while it takes over; `None` when
    /// none is runnable, when the share is used up and the last core has left
    /// its gang, and when gangs run side by side.
    pub(super) fn active(&self, partition: usize) -> Option<u8> {
        let state = &self.partitions[partition];
        let policy = state.policy.as_ref()?;
        let is_running = state.running.iter().any(|&cores| cores > 0);
        let active = policy.active_priority();
        active.filter(|_| is_running || !policy.is_share_exhausted())
    }

    /// Priorities of the gangs that best-effort work has to spare in `partition`:
    /// the active one, also while it takes over, and whatever still runs.
    pub(super) fn present(&self, partition: usize) -> impl Iterator<Item = u8> {
        let state = &self.partitions[partition];
        let active = self.active(partition);
        let side_by_side = state.policy.is_none();
        (1..=99).filter(move |&priority| {
            let index = usize::from(priority);
            active == Some(priority)
                || state.running[index] > 0
                || side_by_side && state.runnable[index] > 0
        })
    }
}
