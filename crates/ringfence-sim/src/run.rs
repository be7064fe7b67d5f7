//! Runs a scenario's cases into a record.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ringfence_record::{Section, WriteError, Writer};
use ringfence_scenario::model::{Case, Program, Scenario};
use ringfence_target::workload::{Class, ThreadEntry, TooManyThreads, Workload};

use crate::machine::ExactMachine;
use crate::machine::compute::{ComputeError, ComputeMachine, ComputeStream, Slowdown};
use crate::machine::error::MachineError;
use crate::os::{Fault, Os, OsError};
use crate::time::PS_PER_NS;

/// How far a case has got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Index of the case in the scenario.
    pub case: usize,
    /// Simulated time, in nanoseconds.
    pub simulated_ns: u64,
    /// Simulated time at the end of the case, in nanoseconds.
    pub duration_ns: u64,
}

/// How to run a scenario.
#[derive(Clone, Copy)]
pub struct RunOptions<'a> {
    /// Cases that run at a time, each on a thread of its own; at least 1. The
    /// record does not depend on it.
    pub threads: usize,
    /// Told now and then how far each case has got, from any thread.
    pub progress: &'a (dyn Fn(Progress) + Sync),
    /// Breaks the enforcer on purpose, to test what judges it.
    pub fault: Option<Fault>,
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
    /// Too many threads for a record.
    #[error(transparent)]
    Threads(#[from] TooManyThreads),
    /// The modelled board cannot be built.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The machine without memory cannot be built.
    #[error(transparent)]
    Compute(#[from] ComputeError),
    /// A policy or the record refuses it.
    #[error(transparent)]
    Os(#[from] OsError),
    /// Cores of the exact machine run ahead of each other for as long as an
    /// interrupt takes from one to another.
    #[error(
        "platform `{platform}` has reschedule_latency 0, but programs that use memory need the \
         time that an interrupt takes between cores; set it to what the machine really needs, \
         such as \"1 us\""
    )]
    NoLatency {
        /// Name of the platform.
        platform: String,
    },
}

/// Runs every case of `scenario` and appends one section for each, in order and
/// as soon as it and those before it are complete.
///
/// # Errors
/// The first case, in order, that cannot run, after the sections before it; or
/// the record's output.
pub fn run<W: Write + Send>(
    scenario: &Scenario,
    options: &RunOptions<'_>,
    writer: &mut Writer<W>,
) -> Result<(), RunError> {
    let next = AtomicUsize::new(0);
    let appender = Mutex::new(Appender {
        writer,
        waiting: scenario.cases.iter().map(|_| None).collect(),
        appended: 0,
        result: Ok(()),
    });
    let work = || {
        loop {
            let case = next.fetch_add(1, Ordering::Relaxed);
            let Some(name) = scenario.cases.get(case).map(|case| &case.name) else {
                break;
            };
            let result = run_case(scenario, case, options).map_err(|cause| RunError::Case {
                case: name.clone(),
                cause,
            });
            let mut appender = appender.lock().unwrap_or_else(PoisonError::into_inner);
            appender.take(case, result);
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..options.threads.clamp(1, scenario.cases.len()) {
            scope.spawn(work);
        }
        work();
    });
    appender
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .result
}

/// Puts sections that are completed in any order into the record in theirs.
struct Appender<'a, W: Write> {
    writer: &'a mut Writer<W>,
    waiting: Vec<Option<Result<Section, RunError>>>,
    /// Cases whose sections are in the record.
    appended: usize,
    result: Result<(), RunError>,
}

impl<W: Write> Appender<'_, W> {
    fn take(&mut self, case: usize, result: Result<Section, RunError>) {
        self.waiting[case] = Some(result);
        while self.result.is_ok()
            && let Some(result) = self.waiting.get_mut(self.appended).and_then(Option::take)
        {
            let append = |section| Ok(self.writer.append_section(&section)?);
            self.result = result.and_then(append);
            self.appended += 1;
        }
    }
}

fn run_case(
    scenario: &Scenario,
    index: usize,
    options: &RunOptions<'_>,
) -> Result<Section, CaseError> {
    let case = &scenario.cases[index];
    let workload = Workload::new(scenario, case)?;
    let progress = |simulated_ns| {
        (options.progress)(Progress {
            case: index,
            simulated_ns,
            duration_ns: scenario.duration_ns,
        });
    };
    let is_compute = |thread: &ThreadEntry<'_>| matches!(thread.program, Program::Compute(_));
    let section = if workload.threads.iter().all(is_compute) {
        let machine =
            ComputeMachine::new(scenario.platform.cores, &compute_streams(&workload, case))?;
        Os::new(scenario, case, &workload, machine, options.fault)?.run(&progress)?
    } else {
        let machine = exact_machine(scenario, case, &workload)?;
        Os::new(scenario, case, &workload, machine, options.fault)?.run(&progress)?
    };
    Ok(section)
}

/// The board of `scenario`, with one stream for each thread of `workload`.
fn exact_machine(
    scenario: &Scenario,
    case: &Case,
    workload: &Workload<'_>,
) -> Result<ExactMachine, CaseError> {
    let platform = &scenario.platform;
    if platform.os.reschedule_latency_ns == 0 {
        return Err(CaseError::NoLatency {
            platform: platform.name.clone(),
        });
    }
    // The soonest that an interrupt follows what leads to it.
    let latency_ns = match (case.reservations, platform.hypervisor) {
        (true, Some(costs)) => costs
            .overflow_latency_ns
            .min(platform.os.reschedule_latency_ns),
        _ => platform.os.reschedule_latency_ns,
    };
    let lookahead_ps = latency_ns * PS_PER_NS;
    let mut machine = ExactMachine::new(platform, scenario.seed, lookahead_ps)?;
    for thread in workload.threads.iter().filter(|thread| thread.index == 0) {
        let is_best_effort = matches!(thread.class, Class::BestEffort { .. });
        let name = workload.owner_name(workload.owner(thread));
        let class = workload.class_of_service(scenario, case, thread);
        machine.add_task(name, thread.program, thread.siblings, is_best_effort, class)?;
    }
    Ok(machine)
}

fn compute_streams(workload: &Workload<'_>, case: &Case) -> Vec<ComputeStream> {
    workload
        .threads
        .iter()
        .map(|thread| compute_stream(workload, thread, case.interference))
        .collect()
}

fn compute_stream(
    workload: &Workload<'_>,
    thread: &ThreadEntry<'_>,
    interference: bool,
) -> ComputeStream {
    let Program::Compute(compute) = thread.program else {
        unreachable!("only compute programs run on a machine without memory")
    };
    let owner_named = |name: &str| {
        let owners = workload.tasks.len() + workload.best_effort.len();
        (0..owners).find(|&owner| workload.owner_name(owner) == name)
    };
    let slowed_by = compute.slowed_by.iter().filter(|_| interference);
    ComputeStream {
        owner: workload.owner(thread),
        work_ps: match thread.class {
            Class::RealTime { .. } => Some(compute.time_ns * PS_PER_NS),
            Class::BestEffort { .. } => None,
        },
        slowed_by: slowed_by
            .filter_map(|(name, factor_milli)| {
                Some(Slowdown {
                    owner: owner_named(name)?,
                    factor_milli: *factor_milli,
                })
            })
            .collect(),
    }
}
