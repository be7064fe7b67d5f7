//! A case in portable mode: what the scenario says becomes the setup of the agent, and what
//! the agent measured becomes what the record claims.

use std::ffi::OsString;
use std::ops::Range;
use std::sync::Arc;

use ringfence_policy::CpuSet;
use ringfence_policy::gang;
use ringfence_record::event::Claims;
use ringfence_scenario::model::{self, Case, Scenario, ShareLimit};
use ringfence_target::workload::{Class, Workload};
use ringfence_workloads::job_log::{Kind, Mark, ThreadId};

use super::in_kernel::is_regulated;
use super::{CaseError, WakeUps, duty_cycle};
use crate::live::Board;
use crate::portable::{
    DutyCycle, Gang, Held, Outcome, Portable, Setup, Summary, Version, rehearse,
};
use crate::recorder::{Recorder, ThreadEvent, What};
use crate::scheduler::Event;

/// The agent of a case.
pub struct PortableGangs {
    portable: Portable,
    wake_ups: WakeUps,
    remarks: Vec<String>,
    /// When it has ended: what it told last, and who was kept from running.
    last_events: Vec<Event>,
    held: Vec<Held>,
    measured: Option<(Summary, Summary)>,
}

impl PortableGangs {
    /// Begins to enforce a case, whose windows and periods begin at `origin_ns`.
    ///
    /// # Errors
    /// This machine does not allow it.
    pub fn start(
        (scenario, case, workload): (&Scenario, &Case, &Workload<'_>),
        origin_ns: u64,
        guard: &[OsString],
        recorder: Option<&Recorder>,
        board: Arc<Board>,
    ) -> Result<Self, CaseError> {
        let gangs = gangs(workload);
        let mut remarks = Vec::new();
        let mut duty_cycle = None;
        if is_regulated(case, &workload.gangs) {
            let full = duty_cycle::full_bytes_per_second()?;
            duty_cycle = Some(shares(scenario, workload, &gangs, full));
            remarks.push(duty_cycle::remark(full));
        }
        let wake_ups = match recorder {
            Some(_) => WakeUps::Tracepoints,
            None => WakeUps::Jobs,
        };
        let setup = Setup {
            partitions: partitions(scenario),
            gangs,
            origin_ns,
            duty_cycle,
            members: recorder.map(Recorder::members).transpose()?,
            guard,
            board,
        };
        let portable = Portable::start(setup)?;
        remarks.extend(portable.remark().map(str::to_owned));
        Ok(Self {
            portable,
            wake_ups,
            remarks,
            last_events: Vec::new(),
            held: Vec::new(),
            measured: None,
        })
    }

    /// Makes a thread a real-time one of `gang`.
    ///
    /// # Errors
    /// It is gone, or it is not allowed.
    pub fn join(&mut self, thread: ThreadId, gang: &model::Gang) -> Result<(), CaseError> {
        let numbers = (thread.process.cast_signed(), thread.thread.cast_signed());
        Ok(self
            .portable
            .join(numbers, (gang.partition, gang.priority))?)
    }

    /// A program has said this.
    ///
    /// # Errors
    /// The agent has ended before its time.
    pub fn said(&self, mark: &Mark) -> Result<(), CaseError> {
        let has_work = match mark.kind {
            Kind::Runnable => true,
            Kind::Sleeping => false,
            _ => return Ok(()),
        };
        let tid = mark.thread.thread.cast_signed();
        Ok(self.portable.said(tid, has_work, mark.time_ns)?)
    }

    /// What it did since it was last asked.
    ///
    /// # Errors
    /// The agent has ended before its time.
    pub fn events(&mut self) -> Result<Vec<Event>, CaseError> {
        match self.measured {
            None => Ok(self.portable.events()?),
            Some(_) => Ok(std::mem::take(&mut self.last_events)),
        }
    }

    /// Ends it, so that it has measured everything within `times_ns`, which is the case.
    ///
    /// # Errors
    /// The agent had ended before its time.
    pub fn end(&mut self, times_ns: &Range<u64>) -> Result<(), CaseError> {
        let Outcome {
            hand_overs,
            held,
            events,
        } = self.portable.end()?;
        let (overlaps, waits) = (hand_overs.overlaps(times_ns), hand_overs.waits(times_ns));
        self.measured = Some((overlaps, waits));
        self.remarks.push(self.measured());
        self.last_events = events;
        self.held = held;
        Ok(())
    }

    /// What a reader of the record should know.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// What was measured, for people.
    pub fn measured(&self) -> String {
        let (overlaps, waits) = self.measured.unwrap_or_default();
        text(self.portable.version(), self.wake_ups, overlaps, waits)
    }

    /// Puts what was measured in the place of what was not promised.
    pub fn claim(&self, claims: &mut Claims, promised_ns: Option<u64>) {
        let (overlaps, waits) = self.measured.unwrap_or_default();
        let hand_over_ns = overlaps.longest_ns.max(waits.longest_ns);
        claims.hand_over_ns = promised_ns.unwrap_or(hand_over_ns);
        claims.overlap_ns = Some(promised_ns.unwrap_or(overlaps.longest_ns));
    }

    /// To the kernel a thread that is frozen sleeps. It is kept from running.
    pub fn amend(&self, switches: &mut [ThreadEvent]) {
        let is_held = |event: &ThreadEvent| {
            self.held.iter().any(|held| {
                let within = held.from_ns..held.to_ns;
                held.tid == event.tid && within.contains(&event.time_ns)
            })
        };
        for event in switches {
            if event.what == What::Sleeps && is_held(event) {
                event.what = What::Preempted;
            }
        }
    }
}

fn text(version: Version, wake_ups: WakeUps, overlaps: Summary, waits: Summary) -> String {
    let version = match version {
        Version::V1 => 1,
        Version::V2 => 2,
    };
    let us = |time_ns: u64| time_ns.div_ceil(1000);
    let overlaps = format!(
        "portable mode (freezer of version {version}, {wake_ups}): {} times a lower gang was on a core while a \
         higher one was runnable, for {} us (median) and {} us (at most)",
        overlaps.count,
        us(overlaps.median_ns),
        us(overlaps.longest_ns),
    );
    match wake_ups {
        WakeUps::Tracepoints => format!(
            "{overlaps}; {} times the gang that may run waited for a core, for {} us (median) and {} us (at most)",
            waits.count,
            us(waits.median_ns),
            us(waits.longest_ns)
        ),
        WakeUps::Jobs => {
            format!("{overlaps}; how long gangs waited for a core is not known")
        }
    }
}

fn partitions(scenario: &Scenario) -> Vec<(CpuSet, gang::ShareLimit)> {
    let share = match scenario.share {
        ShareLimit::Off => gang::ShareLimit::Off,
        ShareLimit::Limited {
            limit_ns,
            window_ns,
        } => gang::ShareLimit::Limited {
            limit_ns,
            window_ns,
        },
    };
    let partition = |partition: &model::Partition| {
        let mut cpus = CpuSet::new();
        partition.cores.iter().for_each(|&core| cpus.insert(core));
        (cpus, share)
    };
    scenario.partitions.iter().map(partition).collect()
}

/// One gang for each priority of a partition, with all the cores of its threads.
/// What the agent of a case would change on this machine, a line each.
///
/// # Errors
/// This machine does not allow it.
pub fn changes(workload: &Workload<'_>) -> Result<Vec<String>, CaseError> {
    Ok(rehearse(gangs(workload).len())?)
}

fn gangs(workload: &Workload<'_>) -> Vec<Gang> {
    let mut gangs: Vec<Gang> = Vec::new();
    for thread in &workload.threads {
        let Class::RealTime {
            priority,
            partition,
            core,
            ..
        } = thread.class
        else {
            continue;
        };
        let cpu = core as u16;
        let is_it = |gang: &&mut Gang| gang.partition == partition && gang.priority == priority;
        match gangs.iter_mut().find(is_it) {
            Some(gang) if gang.cpus.contains(&cpu) => {}
            Some(gang) => gang.cpus.push(cpu),
            None => gangs.push(Gang {
                partition,
                priority,
                cpus: vec![cpu],
            }),
        }
    }
    gangs
}

/// What each of `gangs` leaves to best-effort work of each period, where a core reads `full`
/// bytes per second at most: of a virtual gang, what its strictest one does.
fn shares(scenario: &Scenario, workload: &Workload<'_>, gangs: &[Gang], full: u64) -> DutyCycle {
    let period_ns = scenario.regulation.period_ns;
    let allowed_ns = |gang: &Gang| {
        let place = (gang.partition, gang.priority);
        duty_cycle::strictest(&workload.gangs, place, period_ns, full).reads
    };
    DutyCycle {
        cores: (0..scenario.platform.cores).collect(),
        period_ns,
        allowed_ns: gangs.iter().map(allowed_ns).collect(),
    }
}
