//! Runs a scenario's cases on this machine into a record.

mod case;
mod cpus;
mod duty_cycle;
mod enforcer;
mod history;
pub mod in_kernel;
mod jobs;
mod launch;
mod live_view;
pub mod mode;
mod portable;
pub mod regulate_by;
#[cfg(test)]
mod tests;
pub mod wake_ups;

use std::ffi::OsString;
use std::io::Write;

use ringfence_record::event::Claims;
use ringfence_record::{Section, WriteError, Writer};
use ringfence_scenario::model::{Case, Program, Scenario, Scheduling};
use ringfence_target::share::share_claim;
use ringfence_target::workload::{TooManyThreads, Workload};
use ringfence_workloads::job_log::JobLogError;

use crate::changes::lock::LockError;
use crate::scheduler::INSTANT_AFTER_NS;
use crate::{portable as portable_mode, scheduler};
pub use mode::{Mode, Wanted};
pub use regulate_by::RegulateBy;
pub use wake_ups::{WakeUps, WantedWakeUps};

/// How to run a scenario.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// The command that does the work of one task or entry; its description comes as the
    /// last argument, see [`ringfence_workloads::runner::Work`].
    pub runner: &'a [OsString],
    /// The command of the guard of portable mode, which is to call [`portable_mode::watch`]
    /// with the folder that is its last argument.
    pub guard: &'a [OsString],
    /// Who keeps gangs apart; see [`Wanted::choose`].
    pub mode: Mode,
    /// Who tells which threads are awake; see [`WantedWakeUps::choose`].
    pub wake_ups: WakeUps,
    /// What best-effort work is held to.
    pub regulate_by: &'a RegulateBy,
    /// What the record promises of hand-overs; see [`claims`].
    pub hand_over_ns: Option<u64>,
    /// Told now and then which case runs, and for how many nanoseconds.
    pub progress: &'a dyn Fn(usize, u64),
    /// Told what was measured of the hand-overs of a case, by its name.
    pub measured: &'a dyn Fn(&str, &str),
}

/// Why a scenario cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// One case cannot.
    #[error("case `{case}`: {cause}")]
    Case {
        /// Name of the case.
        case: String,
        /// Why.
        cause: CaseError,
    },
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] WriteError),
}

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// This machine or this target cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// Too many threads for a record.
    #[error(transparent)]
    Threads(#[from] TooManyThreads),
    /// The scheduler refuses.
    #[error(transparent)]
    Scheduler(#[from] scheduler::Error),
    /// Another ringfence is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// Portable mode does not work, or not any more.
    #[error("portable mode: {0}")]
    Portable(#[from] portable_mode::Error),
    /// The recorder cannot be loaded.
    #[error(
        "who runs where cannot be recorded: {0}; --gang-scheduler portable --wake-ups jobs does without"
    )]
    Recorder(#[from] libbpf_rs::Error),
    /// No job log.
    #[error(transparent)]
    JobLog(#[from] JobLogError),
    /// A process of the case cannot run.
    #[error("`{name}`: {reason}")]
    Process {
        /// The task or best-effort entry.
        name: String,
        /// Why.
        reason: String,
    },
    /// Somebody ended the scheduler.
    #[error("the kernel took all threads back from the scheduler: {0}")]
    Ejected(String),
    /// Programs did not end.
    #[error("programs go on a minute after their time, so they were stopped; {0}")]
    Overtime(String),
    /// The kernel's witness does not know a thread.
    #[error(
        "the kernel has not seen thread {0} on a CPU; run ringfence in the first PID namespace, outside of containers"
    )]
    Unseen(i32),
    /// The scheduler has found a fault in itself.
    #[error(
        "{0}, which is a fault of ringfence, unless the machine was suspended meanwhile: please report it"
    )]
    Fault(String),
    /// The record would prove nothing.
    #[error(
        "{0} events were lost, so the record would prove nothing; use fewer threads or a shorter run"
    )]
    Lost(u64),
    /// What happened fits no record.
    #[error(transparent)]
    Record(#[from] WriteError),
    /// The programs need too long to prepare themselves.
    #[error(
        "programs were prepared {late_ns} ns after the start, {tries} times over; use less memory or fewer threads"
    )]
    Late {
        /// By how much, the last time.
        late_ns: u64,
        /// How often it was tried.
        tries: u32,
    },
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
}

/// What the record promises of hand-overs in the kernel, unless something else is wanted: many
/// times what an interrupt and a switch need.
pub const HAND_OVER_NS: u64 = 200_000;

/// What a run of `case` promises, with hand-overs that take `hand_over_ns` at most. Without
/// that it is [`HAND_OVER_NS`], and in portable mode what the run measures: 0 until then.
pub fn claims(scenario: &Scenario, case: &Case, mode: Mode, hand_over_ns: Option<u64>) -> Claims {
    let is_gang = case.scheduling == Scheduling::Gang;
    let is_portable = mode == Mode::Portable && is_gang;
    let unless_given_ns = if is_portable { 0 } else { HAND_OVER_NS };
    let hand_over_ns = hand_over_ns.unwrap_or(unless_given_ns);
    Claims {
        one_gang_at_a_time: is_gang,
        hand_over_ns,
        overlap_ns: is_portable.then_some(hand_over_ns),
        // With a hand-over as long as the wait, every stay would be one.
        instant_after_ns: Some(INSTANT_AFTER_NS)
            .filter(|&after_ns| is_gang && !is_portable && hand_over_ns < after_ns),
        share: share_claim(scenario, case),
        // Regulated by time: of bytes nothing is known.
        budgets: None,
        reservations: Vec::new(),
        reservations_bytes_per_second: None,
    }
}

/// Runs every case of `scenario`, one after the other, and appends a section for each as
/// soon as it is complete.
///
/// # Errors
/// The first case that cannot run, after the sections before it; or the record's output.
pub fn run<W: Write>(
    scenario: &Scenario,
    options: &RunOptions<'_>,
    writer: &mut Writer<W>,
) -> Result<(), RunError> {
    check(scenario, Wanted::Only(options.mode))?;
    for (index, case) in scenario.cases.iter().enumerate() {
        let section = run_case(scenario, index, options).map_err(|cause| in_case(case, cause))?;
        writer.append_section(&section)?;
    }
    Ok(())
}

/// What a run of `case` would change on this machine beside its own processes, a line each; all of
/// it is undone at the end of the case.
///
/// # Errors
/// The case cannot run here.
pub fn changes(scenario: &Scenario, case: &Case, mode: Mode) -> Result<Vec<String>, RunError> {
    let workload = Workload::new(scenario, case).map_err(|error| in_case(case, error.into()))?;
    match (case.scheduling, mode) {
        (Scheduling::FixedPriority, _) => Ok(Vec::new()),
        (Scheduling::Gang, Mode::SchedExt) => Ok(vec!["attach a scheduler to sched_ext".into()]),
        (Scheduling::Gang, Mode::Portable) => {
            portable::changes(&workload).map_err(|cause| in_case(case, cause))
        }
    }
}

fn in_case(case: &Case, cause: CaseError) -> RunError {
    RunError::Case {
        case: case.name.clone(),
        cause,
    }
}

/// Refuses what this target or this machine cannot do, before anything is run; otherwise says
/// who will keep gangs apart.
///
/// # Errors
/// The first case that it cannot.
pub fn check(scenario: &Scenario, wanted: Wanted) -> Result<Mode, RunError> {
    let check = |case| check_case(scenario, case).map_err(|cause| in_case(case, cause));
    scenario.cases.iter().try_for_each(check)?;
    let is_gang_scheduled = |case: &&Case| case.scheduling == Scheduling::Gang;
    match scenario.cases.iter().find(is_gang_scheduled) {
        Some(case) => wanted.choose().map_err(|cause| in_case(case, cause)),
        // Whoever it is has nothing to do.
        None => Ok(Mode::Portable),
    }
}

fn check_case(scenario: &Scenario, case: &Case) -> Result<(), CaseError> {
    let unsupported = |text: String| Err(CaseError::Unsupported(text));
    if let Some(&vm) = case.vms.first() {
        return unsupported(format!(
            "`{}` is a VM, which needs a hypervisor: Linux runs gangs; write its work as [[gang]] and \
             [[best_effort]], or run on the simulator",
            scenario.vms[vm].name
        ));
    }
    cpus::check(&scenario.platform)?;
    if case.scheduling == Scheduling::FixedPriority && case.regulation {
        return unsupported(
            "regulation goes with scheduling = \"gang\" on Linux; leave it out, or run on the simulator"
                .into(),
        );
    }
    if case.cache_allocation {
        return unsupported(
            "cache_allocation is not done on Linux yet; leave it out, or run on the simulator"
                .into(),
        );
    }
    let workload = Workload::new(scenario, case)?;
    for thread in &workload.threads {
        if matches!(thread.program, Program::Trace(_)) {
            return unsupported(format!(
                "`{}` is a recorded trace, which has only the accesses of a program and cannot run natively; \
                 use the program itself, or run on the simulator",
                workload.owner_name(workload.owner(thread))
            ));
        }
    }
    Ok(())
}

/// How often a case is begun again because its programs were not prepared in time.
const TRIES: u32 = 4;
/// From the launch of a case to its start, at first.
const LEAD_NS: u64 = 1_000_000_000;

fn run_case(
    scenario: &Scenario,
    index: usize,
    options: &RunOptions<'_>,
) -> Result<Section, CaseError> {
    let mut lead_ns = LEAD_NS;
    let mut late_ns = 0;
    for _ in 0..TRIES {
        match case::run(scenario, index, options, lead_ns)? {
            Ok(section) => return Ok(section),
            Err(late) => late_ns = late,
        }
        lead_ns = 2 * (lead_ns + late_ns);
    }
    Err(CaseError::Late {
        late_ns,
        tries: TRIES,
    })
}
