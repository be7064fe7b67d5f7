//! How fast everything in a case was.

use ringfence_record::event::OffReason;
use serde::{Deserialize, Serialize};

use crate::accuracy::{self, MeasureStatistics, TrajectoryStatistics};
use crate::case::{CaseRun, JobEnd, Occupation};
use crate::distribution::Distribution;
use crate::traffic;

/// Most points of a core's [`CoreStatistics::bandwidth`].
pub const BANDWIDTH_POINTS: usize = 1000;

/// Most hyperperiods that are looked at one by one.
pub const MAX_HYPERPERIODS: u64 = 1_000_000;

/// Statistics of one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseStatistics {
    /// Core time that real-time threads left over; `None` where the record does not say who ran
    /// where.
    pub slack: Option<Slack>,
    /// One entry per real-time task.
    pub tasks: Vec<TaskStatistics>,
    /// One entry per best-effort thread; none as for `slack`.
    pub best_effort: Vec<BestEffortStatistics>,
    /// One entry per core; none as for `slack`.
    pub cores: Vec<CoreStatistics>,
    /// One entry per trajectory.
    pub trajectories: Vec<TrajectoryStatistics>,
    /// One entry per measure.
    pub measures: Vec<MeasureStatistics>,
}

/// Core time that real-time threads left over: cores times time, less the time
/// with a real-time thread on a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slack {
    /// Over the whole run.
    pub run_ns: u64,
    /// Least common multiple of the tasks' periods; `None` without tasks, with sporadic ones, when
    /// it is longer than the run, or when more than [`MAX_HYPERPERIODS`] fit.
    pub hyperperiod_ns: Option<u64>,
    /// Complete hyperperiods in the run, counted from its start.
    pub hyperperiods: u64,
    /// Least slack of a complete hyperperiod.
    pub hyperperiod_min_ns: Option<u64>,
    /// Most slack of a complete hyperperiod.
    pub hyperperiod_max_ns: Option<u64>,
}

/// Statistics of a real-time task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskStatistics {
    /// Name of the task.
    pub task: String,
    /// Name of its gang.
    pub gang: String,
    /// Period; of a sporadic task the shortest time that is expected between two releases.
    pub period_ns: u64,
    /// Whether its jobs are released when something asks for them.
    pub sporadic: bool,
    /// Relative deadline.
    pub deadline_ns: u64,
    /// When its first job is due to be released.
    pub offset_ns: u64,
    /// Jobs released.
    pub jobs: u64,
    /// Jobs finished, in time or not.
    pub finished: u64,
    /// Jobs that did not finish by a deadline inside the run, dropped ones among them.
    pub missed: u64,
    /// Jobs dropped.
    pub dropped: u64,
    /// Jobs neither finished nor dropped when the run ended.
    pub unfinished: u64,
    /// Release to finish, of finished jobs.
    pub response: Option<Distribution>,
    /// Core time of the task's threads between start and finish, of finished jobs; `None` also
    /// where the record does not say who ran where.
    pub execution: Option<Distribution>,
    /// Release to start, of started jobs.
    pub start_delay: Option<Distribution>,
    /// Longest less shortest start delay.
    pub start_jitter_ns: Option<u64>,
}

/// Statistics of a best-effort thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BestEffortStatistics {
    /// Name of the thread.
    pub thread: String,
    /// Time on a core.
    pub core_time_ns: u64,
    /// Time off its core because the core was out of budget.
    pub throttled_ns: u64,
    /// Memory accesses executed; `None` when the record does not tell.
    pub accesses: Option<u64>,
    /// Bytes read; `None` when another best-effort thread ran between the same
    /// two samples of a core, so that the counters cannot tell them apart.
    pub read_bytes: Option<u64>,
    /// Bytes written; `None` as for `read_bytes`.
    pub write_bytes: Option<u64>,
}

/// Statistics of a core.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreStatistics {
    /// Core number.
    pub core: u16,
    /// Time with a real-time thread.
    pub real_time_ns: u64,
    /// Time with a best-effort thread.
    pub best_effort_ns: u64,
    /// The rest of the run.
    pub idle_ns: u64,
    /// Time out of budget, whatever ran.
    pub throttled_ns: u64,
    /// Bytes read up to the last sample.
    pub read_bytes: u64,
    /// Bytes written up to the last sample.
    pub write_bytes: u64,
    /// Bytes read by best-effort threads up to the last sample.
    pub best_effort_read_bytes: u64,
    /// Bytes written by best-effort threads up to the last sample.
    pub best_effort_write_bytes: u64,
    /// Last-level cache accesses up to the last sample.
    pub llc_accesses: u64,
    /// Last-level cache misses up to the last sample.
    pub llc_misses: u64,
    /// Traffic between samples, neighbours joined to at most [`BANDWIDTH_POINTS`].
    pub bandwidth: Vec<BandwidthPoint>,
}

/// Traffic of a core in a stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BandwidthPoint {
    /// Begin.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// The part of `read_bytes` read by best-effort threads.
    pub best_effort_read_bytes: u64,
    /// The part of `write_bytes` written by best-effort threads.
    pub best_effort_write_bytes: u64,
}

/// Computes the statistics of a case.
pub fn statistics(run: &CaseRun) -> CaseStatistics {
    let tasks = (0..).take(run.case.tasks.len());
    let mut statistics = CaseStatistics {
        slack: None,
        tasks: tasks.map(|task| task_statistics(run, task)).collect(),
        best_effort: Vec::new(),
        cores: Vec::new(),
        trajectories: accuracy::trajectories(run),
        measures: accuracy::measures(run),
    };
    if run.says_who_ran() {
        let threads = (0..).take(run.threads.len());
        statistics.slack = Some(slack(run));
        statistics.best_effort = threads
            .filter(|thread| run.is_best_effort(*thread))
            .map(|thread| best_effort_statistics(run, thread))
            .collect();
        statistics.cores = (0..run.case.cores)
            .map(|core| core_statistics(run, core))
            .collect();
    }
    statistics
}

/// The part of an occupation that lies in `[from_ns, to_ns)`.
fn overlap_ns(on: &Occupation, from_ns: u64, to_ns: u64) -> u64 {
    on.to_ns.min(to_ns).saturating_sub(on.from_ns.max(from_ns))
}

fn slack(run: &CaseRun) -> Slack {
    let real_time = || {
        let occupations = run.cores.iter().flat_map(|core| &core.occupations);
        occupations.filter(|on| !run.is_best_effort(on.thread))
    };
    let cores = u64::from(run.case.cores);
    let used_ns: u64 = real_time().map(Occupation::length_ns).sum();
    let hyperperiod_ns = hyperperiod_ns(run);
    let mut windows = Vec::new();
    if let Some(length_ns) = hyperperiod_ns {
        windows = vec![cores * length_ns; (run.end_ns / length_ns) as usize];
        for on in real_time() {
            let first = on.from_ns / length_ns;
            for (window, slack_ns) in (first..).zip(windows.iter_mut().skip(first as usize)) {
                let start_ns = window * length_ns;
                if start_ns >= on.to_ns {
                    break;
                }
                *slack_ns -= overlap_ns(on, start_ns, start_ns + length_ns);
            }
        }
    }
    Slack {
        run_ns: cores * run.end_ns - used_ns,
        hyperperiod_ns,
        hyperperiods: windows.len() as u64,
        hyperperiod_min_ns: windows.iter().min().copied(),
        hyperperiod_max_ns: windows.iter().max().copied(),
    }
}

/// Least common multiple of the periods, when it fits the run.
fn hyperperiod_ns(run: &CaseRun) -> Option<u64> {
    if run.case.tasks.iter().any(|task| task.sporadic) {
        return None;
    }
    let mut multiple: u64 = 1;
    for task in &run.case.tasks {
        multiple = (multiple / greatest_common_divisor(multiple, task.period_ns))
            .checked_mul(task.period_ns)?;
    }
    let count = run.end_ns / multiple;
    let some = !run.case.tasks.is_empty() && (1..=MAX_HYPERPERIODS).contains(&count);
    some.then_some(multiple)
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 {
        a
    } else {
        greatest_common_divisor(b, a % b)
    }
}

fn task_statistics(run: &CaseRun, index: u16) -> TaskStatistics {
    let task = &run.case.tasks[usize::from(index)];
    let jobs = &run.jobs[usize::from(index)];
    let mut statistics = TaskStatistics {
        task: task.name.clone(),
        gang: run.case.gangs[usize::from(task.gang)].name.clone(),
        period_ns: task.period_ns,
        sporadic: task.sporadic,
        deadline_ns: task.deadline_ns,
        offset_ns: task.offset_ns,
        jobs: jobs.len() as u64,
        finished: 0,
        missed: 0,
        dropped: 0,
        unfinished: 0,
        response: None,
        execution: None,
        start_delay: None,
        start_jitter_ns: None,
    };
    let mut executed = Vec::new();
    for job in jobs {
        statistics.missed += u64::from(job.missed(task, run.end_ns));
        match (job.end, job.started_ns) {
            (JobEnd::Finished(finished_ns), Some(started_ns)) => {
                statistics.finished += 1;
                executed.push((started_ns, finished_ns));
            }
            (JobEnd::Dropped(_), _) => statistics.dropped += 1,
            _ => statistics.unfinished += 1,
        }
    }
    let delays = jobs
        .iter()
        .filter_map(|job| Some(job.started_ns? - job.released_ns));
    statistics.response = Distribution::of(jobs.iter().filter_map(|j| j.response_ns()).collect());
    if run.says_who_ran() {
        statistics.execution = Distribution::of(core_times(run, index, &executed));
    }
    statistics.start_delay = Distribution::of(delays.collect());
    statistics.start_jitter_ns = statistics
        .start_delay
        .as_ref()
        .map(|delay| delay.max_ns - delay.min_ns);
    statistics
}

/// Core time of a task's threads in each stretch.
fn core_times(run: &CaseRun, task: u16, stretches: &[(u64, u64)]) -> Vec<u64> {
    let threads: Vec<u16> = run.threads_of_task(task).collect();
    let time = |&(from_ns, to_ns): &(u64, u64)| {
        let of_thread = |thread: &u16| {
            let occupations = &run.threads[usize::from(*thread)].occupations;
            let first = occupations.partition_point(|on| on.to_ns <= from_ns);
            occupations[first..]
                .iter()
                .take_while(|on| on.from_ns < to_ns)
                .map(|on| overlap_ns(on, from_ns, to_ns))
                .sum::<u64>()
        };
        threads.iter().map(of_thread).sum()
    };
    stretches.iter().map(time).collect()
}

fn best_effort_statistics(run: &CaseRun, thread: u16) -> BestEffortStatistics {
    let course = &run.threads[usize::from(thread)];
    let occupations = &course.occupations;
    let bytes = traffic::of_thread(run, thread);
    BestEffortStatistics {
        thread: run.thread_name(thread).into(),
        core_time_ns: occupations.iter().map(Occupation::length_ns).sum(),
        throttled_ns: throttled_off_ns(occupations, run.end_ns),
        accesses: course.accesses,
        read_bytes: bytes.map(|bytes| bytes.0),
        write_bytes: bytes.map(|bytes| bytes.1),
    }
}

/// Time between leaving a core because of throttling and the next start.
fn throttled_off_ns(occupations: &[Occupation], end_ns: u64) -> u64 {
    let nexts = occupations
        .iter()
        .skip(1)
        .map(|on| on.from_ns)
        .chain([end_ns]);
    occupations
        .iter()
        .zip(nexts)
        .filter(|(on, _)| on.off == Some(OffReason::Throttled))
        .map(|(on, next_ns)| next_ns - on.to_ns)
        .sum()
}

fn core_statistics(run: &CaseRun, core: u16) -> CoreStatistics {
    let course = &run.cores[usize::from(core)];
    let time_ns = |best_effort: bool| -> u64 {
        let occupations = course.occupations.iter();
        occupations
            .filter(|on| run.is_best_effort(on.thread) == best_effort)
            .map(Occupation::length_ns)
            .sum()
    };
    let (real_time_ns, best_effort_ns) = (time_ns(false), time_ns(true));
    let totals = course.samples.last().map(|sample| sample.counters);
    let totals = totals.unwrap_or_default();
    CoreStatistics {
        core,
        real_time_ns,
        best_effort_ns,
        idle_ns: run.end_ns - real_time_ns - best_effort_ns,
        throttled_ns: course.throttles.iter().map(|t| t.to_ns - t.from_ns).sum(),
        read_bytes: totals.read_bytes,
        write_bytes: totals.write_bytes,
        best_effort_read_bytes: totals.best_effort_read_bytes,
        best_effort_write_bytes: totals.best_effort_write_bytes,
        llc_accesses: totals.llc_accesses,
        llc_misses: totals.llc_misses,
        bandwidth: traffic::bandwidth(&course.samples, BANDWIDTH_POINTS),
    }
}
