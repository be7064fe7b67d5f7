//! One case, from the launch of its programs to its section of the record.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::Duration;

use ringfence_record::Section;
use ringfence_scenario::model::{Scenario, ShareLimit};
use ringfence_target::workload::{Class, Workload};
use ringfence_workloads::clock;
use ringfence_workloads::job_log::{Answer, JobLog, Mark, Request, Size};
use ringfence_workloads::runner::Outcome;

use super::enforcer::Enforcer;
use super::history::{History, Raw};
use super::launch::{Launch, Process, threads_of};
use super::live_view::LiveView;
use super::{CaseError, RunOptions, WakeUps, claims};
use crate::recorder::Recorder;
use crate::scheduler::What;

/// How long programs may go on after the end of a case: for the job that they are at, with
/// all that is more important before it.
const OVERTIME_NS: u64 = 60_000_000_000;
/// How long marks may lie in the log.
const PATIENCE: Duration = Duration::from_millis(10);

/// Runs the case; or says by how much its programs were late, in nanoseconds.
///
/// # Errors
/// It cannot be run.
pub fn run(
    scenario: &Scenario,
    index: usize,
    options: &RunOptions<'_>,
    lead_ns: u64,
) -> Result<Result<Section, u64>, CaseError> {
    let case = &scenario.cases[index];
    let workload = Workload::new(scenario, case)?;
    let recorder = match options.wake_ups {
        WakeUps::Tracepoints => Some(Recorder::start()?),
        WakeUps::Jobs => None,
    };
    let origin_ns = clock::now_ns();
    let mut view = LiveView::prepare(scenario, case, &workload)?;
    let setting = (scenario, case, &workload);
    let mut enforcer =
        Enforcer::start(setting, origin_ns, options, recorder.as_ref(), view.board())?;
    let not_shown = view.show(&mut enforcer);
    let log = JobLog::create(Size::default())?;
    let start_ns = start_ns(scenario, origin_ns, lead_ns);
    let processes = Launch {
        scenario,
        workload: &workload,
        runner: options.runner,
        log: &log.path(),
        start_ns,
        marks_sleep: options.wake_ups == WakeUps::Jobs,
    }
    .start()?;
    if let Some(recorder) = &recorder {
        for process in &processes {
            recorder.watch(process.id())?;
        }
    }
    let mut live = Live {
        workload: &workload,
        view,
        recorder,
        enforcer,
        log,
        threads: HashMap::new(),
        raw: Raw::default(),
        refused: None,
        processes,
    };
    let progress = || {
        let ran_ns = clock::now_ns().saturating_sub(start_ns);
        (options.progress)(index, ran_ns.min(scenario.duration_ns));
    };
    let end_ns = start_ns.saturating_add(scenario.duration_ns);
    let outcomes = live.follow(end_ns, progress)?;
    if let Some(late_ns) = lateness_ns(&outcomes) {
        return Ok(Err(late_ns));
    }
    live.enforcer.end(&(start_ns..end_ns))?;
    live.raw.scheduler.extend(live.enforcer.events()?);
    live.check_witness()?;
    let mut remarks = live.enforcer.remarks().to_vec();
    remarks.extend(not_shown);
    if options.wake_ups == WakeUps::Jobs {
        remarks.push(NOT_RECORDED.into());
    }
    if outcomes.iter().any(|outcome| !outcome.locked) {
        remarks.push(NOT_LOCKED.into());
    }
    let mut claims = claims(scenario, case, options.mode, options.hand_over_ns);
    if let Enforcer::Portable(gangs) = &live.enforcer {
        (options.measured)(&case.name, &gangs.measured());
        gangs.claim(&mut claims, options.hand_over_ns);
        gangs.amend(&mut live.raw.switches);
    }
    let history = History {
        case: workload.declare(scenario, case, claims),
        start_ns,
        threads: live.threads,
        remarks,
    };
    Ok(Ok(history.section(live.raw)?))
}

/// By how much the last program was prepared too late, if any was.
fn lateness_ns(outcomes: &[Outcome]) -> Option<u64> {
    let latest_ns = outcomes.iter().map(|outcome| outcome.late_ns).max();
    latest_ns.filter(|&late_ns| late_ns > 0)
}

/// The start: windows of the share limit begin there, so it is a whole number of them after
/// the first one.
fn start_ns(scenario: &Scenario, origin_ns: u64, lead_ns: u64) -> u64 {
    let earliest_ns = clock::now_ns() + lead_ns;
    let ShareLimit::Limited { window_ns, .. } = scenario.share else {
        return earliest_ns;
    };
    origin_ns + (earliest_ns - origin_ns).div_ceil(window_ns) * window_ns
}

const NOT_LOCKED: &str = "the memory of some programs could not be locked (RLIMIT_MEMLOCK), so the system may have paged them out";

const NOT_RECORDED: &str = "nobody recorded who ran where and when: jobs are what programs say of them, and nothing is known of gangs beside them";

/// A case under way.
struct Live<'a> {
    workload: &'a Workload<'a>,
    view: LiveView<'a>,
    recorder: Option<Recorder>,
    enforcer: Enforcer,
    log: JobLog,
    /// Index of each thread in the record, by its number in the kernel.
    threads: HashMap<i32, u16>,
    raw: Raw,
    refused: Option<CaseError>,
    // After the enforcer: what it has stopped could not be ended.
    processes: Vec<Process>,
}

impl Live<'_> {
    /// Takes in what happens until all processes have ended, or one was late; what they did.
    fn follow(&mut self, end_ns: u64, progress: impl Fn()) -> Result<Vec<Outcome>, CaseError> {
        let mut outcomes = Vec::new();
        while outcomes.len() < self.processes.len() {
            self.log.wait(PATIENCE);
            for process in &mut self.processes {
                outcomes.extend(process.outcome()?);
            }
            // After the look at the processes: what they said before they ended is in.
            self.take_in()?;
            if lateness_ns(&outcomes).is_some() {
                break;
            }
            progress();
            let is_over = outcomes.len() == self.processes.len();
            if !is_over && clock::now_ns() > end_ns.saturating_add(OVERTIME_NS) {
                return Err(CaseError::Overtime(self.who_is_left()));
            }
        }
        Ok(outcomes)
    }

    /// Which programs have not ended, with what tells why.
    fn who_is_left(&self) -> String {
        let left = self.processes.iter().filter_map(Process::state);
        let left: Vec<String> = left.collect();
        let active = self.raw.scheduler.iter().rev().find_map(|event| {
            let What::GangActive { priority, .. } = event.what else {
                return None;
            };
            Some(match priority {
                0 => "no gang has the CPUs".to_owned(),
                _ => format!("the gang of priority {priority} has the CPUs"),
            })
        });
        format!(
            "not ended: {}, and {}",
            left.join(", "),
            active.as_deref().unwrap_or("no gang has had the CPUs")
        )
    }

    /// Whether the kernel has seen every thread on a CPU; otherwise it knows them by other
    /// numbers, and the record would be blind.
    fn check_witness(&self) -> Result<(), CaseError> {
        if self.recorder.is_none() {
            return Ok(());
        }
        let seen: HashSet<i32> = self.raw.switches.iter().map(|event| event.tid).collect();
        match self.threads.keys().find(|tid| !seen.contains(tid)) {
            None => Ok(()),
            Some(&tid) => Err(CaseError::Unseen(tid)),
        }
    }

    fn take_in(&mut self) -> Result<(), CaseError> {
        let Self {
            workload,
            view,
            recorder,
            enforcer,
            log,
            threads,
            raw,
            refused,
            processes,
        } = self;
        log.answer(|request| {
            let placed = place(workload, processes, &request);
            match placed
                .and_then(|thread| Ok((thread, admit(workload, enforcer, &request, thread)?)))
            {
                Ok((thread, ())) => {
                    threads.insert(request.thread.thread.cast_signed(), thread);
                    Answer::Accepted
                }
                Err(error) => {
                    refused.get_or_insert(error);
                    Answer::Refused
                }
            }
        });
        let first = raw.marks.len();
        let drained = log.drain(|mark: Mark| raw.marks.push(mark));
        for mark in &raw.marks[first..] {
            enforcer.said(mark)?;
        }
        let events = enforcer.events()?;
        view.note(&raw.marks[first..], &events);
        raw.scheduler.extend(events);
        let mut lost = drained.lost + drained.damaged;
        if let Some(recorder) = recorder {
            let switches = recorder.drain().map_err(|source| CaseError::System {
                what: "reading who ran where".into(),
                source,
            })?;
            raw.switches.extend(switches);
            lost += recorder.lost();
        }
        if let Some(error) = refused.take() {
            return Err(error);
        }
        match lost {
            0 => Ok(()),
            lost => Err(CaseError::Lost(lost)),
        }
    }
}

/// Index of a thread that asks for its place: of the process that it is in, by the number
/// that its name ends with.
fn place(
    workload: &Workload<'_>,
    processes: &[Process],
    request: &Request,
) -> Result<u16, CaseError> {
    let id = request.thread;
    let unknown = |reason: String| CaseError::Process {
        name: format!("{id}"),
        reason,
    };
    let process = processes
        .iter()
        .find(|process| process.id() == id.process.cast_signed())
        .ok_or_else(|| unknown("is of no process of this case".into()))?;
    let path = format!("/proc/{}/task/{}/comm", id.process, id.thread);
    let name = fs::read_to_string(&path).map_err(|error| unknown(format!("{path}: {error}")))?;
    let number = name.trim_end().rsplit('-').next();
    let number: Option<usize> = number.and_then(|number| number.parse().ok());
    let threads = threads_of(workload, process.owner);
    number
        .map(|number| threads.start + number)
        .filter(|thread| threads.contains(thread))
        .map(|thread| thread as u16)
        .ok_or_else(|| unknown(format!("has the name {name:?}, which is no runner's")))
}

/// Makes a thread that is of a gang a member.
fn admit(
    workload: &Workload<'_>,
    enforcer: &mut Enforcer,
    request: &Request,
    thread: u16,
) -> Result<(), CaseError> {
    match workload.threads[usize::from(thread)].class {
        Class::BestEffort { .. } => Ok(()),
        Class::RealTime { task, .. } => {
            let gang = workload.gangs[workload.tasks[task].gang];
            enforcer.join(request.thread, gang)
        }
    }
}
