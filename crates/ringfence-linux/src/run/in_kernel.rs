//! The gangs of a case under the sched_ext scheduler.

use ringfence_scenario::model::{self, Case, Gang, Scenario, ShareLimit};

use super::CaseError;
use super::regulate_by::{Meter, RegulateBy};
use crate::ring::Ring;
use crate::scheduler::{Counters, Event, Membership, Regulation, Scheduler, Share, Tolerance};

/// One gang at a time in each partition of a scenario, until it is dropped.
pub struct KernelGangs {
    scheduler: Scheduler,
    events: Ring<Event>,
    /// What best-effort work is held to; it counts until it is dropped.
    _meter: Option<Meter>,
    /// What is to be said of the regulation.
    remarks: Vec<String>,
}

impl KernelGangs {
    /// Begins to schedule `gangs` of a case, whose windows of the share limit begin at
    /// `origin_ns`, with best-effort work held to what `regulate_by` says.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn start(
        scenario: &Scenario,
        case: &Case,
        gangs: &[&Gang],
        origin_ns: u64,
        regulate_by: &RegulateBy,
    ) -> Result<Self, CaseError> {
        let cpus: Vec<u16> = (0..scenario.platform.cores).collect();
        // Before the scheduler is there, which keeps time from what measures.
        let mut meter = match is_regulated(case, gangs) {
            true => Some(Meter::prove(regulate_by, &cpus)?),
            false => None,
        };
        let mut scheduler = Scheduler::load()?;
        let share = match scenario.share {
            ShareLimit::Off => None,
            ShareLimit::Limited {
                limit_ns,
                window_ns,
            } => Some(Share {
                limit_ns,
                window_ns,
                origin_ns,
            }),
        };
        for (index, partition) in (0..).zip(&scenario.partitions) {
            scheduler.add_partition(index, &partition.cores, share)?;
        }
        let events = scheduler.events()?;
        scheduler.attach()?;
        let period_ns = scenario.regulation.period_ns;
        let tolerance = |gang: &&Gang| match &meter {
            Some(meter) => meter.strictest(gangs, (gang.partition, gang.priority), period_ns),
            None => Tolerance::UNLIMITED,
        };
        let tolerances: Vec<Tolerance> = gangs.iter().map(tolerance).collect();
        let mut remarks = Vec::new();
        if let Some(meter) = &mut meter {
            meter.start(&cpus, &tolerances)?;
            scheduler.regulate(Regulation {
                cpus: &cpus,
                period_ns,
                sample_every: 0,
                by: meter.used(),
            })?;
            remarks.push(meter.remark(&tolerances));
        }
        for (gang, tolerance) in gangs.iter().zip(tolerances) {
            let member = membership(gang);
            scheduler.add_priority(member.partition, member.priority, tolerance)?;
        }
        Ok(Self {
            scheduler,
            events,
            _meter: meter,
            remarks,
        })
    }

    /// The scheduler.
    pub fn scheduler(&mut self) -> &mut Scheduler {
        &mut self.scheduler
    }

    /// Makes a thread a member of `gang`.
    ///
    /// # Errors
    /// It is gone, or it is not allowed.
    pub fn join(&self, tid: i32, gang: &Gang) -> Result<(), CaseError> {
        Ok(self.scheduler.join(tid, membership(gang))?)
    }

    /// What it says that it did since it was last asked, slightly out of order.
    ///
    /// # Errors
    /// The kernel has taken the threads back, or events were lost.
    pub fn events(&mut self) -> Result<Vec<Event>, CaseError> {
        if let Some(note) = self.scheduler.exit_note() {
            return Err(CaseError::Ejected(format!(
                "{} {}",
                note.reason, note.message
            )));
        }
        match self.scheduler.lost_events() {
            0 => self.events.drain().map_err(|source| CaseError::System {
                what: "reading the scheduler's events".into(),
                source,
            }),
            lost => Err(CaseError::Lost(lost)),
        }
    }

    /// What a reader of the record should know, beside what happened.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Whether all went as it must.
    ///
    /// # Errors
    /// What did not.
    pub fn check(&self) -> Result<(), CaseError> {
        let counted = self.scheduler.counters()?;
        match counted == Counters::default() {
            true => Ok(()),
            false => Err(CaseError::Fault(format!(
                "members started {} times without their gang's lock, and the policy refused {} events",
                counted.refused_starts, counted.policy_errors
            ))),
        }
    }
}

/// Whether best-effort work is throttled at all.
pub fn is_regulated(case: &Case, gangs: &[&Gang]) -> bool {
    let tolerates_less = |gang: &&Gang| gang.tolerance != model::Tolerance::UNLIMITED;
    case.regulation && gangs.iter().any(tolerates_less)
}

/// Where `gang` is, as the scheduler knows it.
pub fn membership(gang: &Gang) -> Membership {
    Membership {
        partition: gang.partition as u32,
        priority: gang.priority.into(),
    }
}
