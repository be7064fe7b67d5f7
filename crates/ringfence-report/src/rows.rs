//! Cases side by side, as rows of words: the terminal and the page show the same.

pub mod accuracy;

use ringfence_analysis::distribution::Distribution;
use ringfence_analysis::statistics::{BestEffortStatistics, CoreStatistics, TaskStatistics};
use ringfence_analysis::summary::{CaseSummary, Summary};

use crate::units;
use crate::wording::Mark;

/// Stands in a cell without a value.
pub const NOTHING: &str = "–";

/// Each once, in the order of their appearance.
pub fn each_once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}

/// A task in a case.
pub struct TaskRow<'a> {
    /// First row of its task.
    pub first: bool,
    pub task: &'a str,
    pub case: &'a str,
    pub mark: Mark,
    pub jobs: u64,
    pub missed: u64,
    pub median: String,
    pub p99: String,
    pub longest: String,
    pub deadline: String,
    pub slowdown: String,
}

/// The tasks of a case that can be relied on.
pub fn tasks(case: &CaseSummary) -> impl Iterator<Item = &TaskStatistics> {
    case.statistics
        .iter()
        .flat_map(|statistics| &statistics.tasks)
}

/// All tasks in all cases, grouped by task.
pub fn task_rows(summary: &Summary) -> Vec<TaskRow<'_>> {
    let all = summary.cases.iter().flat_map(tasks);
    let names = each_once(all.map(|task| task.task.as_str()));
    let mut rows = Vec::new();
    for name in names {
        let solo_ns = solo_median_ns(summary, name);
        let before = rows.len();
        for case in &summary.cases {
            let found = tasks(case).filter(|task| task.task == name);
            rows.extend(found.map(|task| TaskRow::of(case, task, solo_ns)));
        }
        rows[before].first = true;
    }
    rows
}

impl<'a> TaskRow<'a> {
    fn of(case: &'a CaseSummary, task: &'a TaskStatistics, solo_ns: Option<u64>) -> Self {
        let response = task.response.as_ref();
        let slowdown = response
            .zip(solo_ns)
            .map(|(r, solo)| r.median_ns as f64 / solo.max(1) as f64);
        TaskRow {
            first: false,
            task: &task.task,
            case: &case.name,
            mark: if task.missed > 0 {
                Mark::Missed
            } else {
                Mark::Kept
            },
            jobs: task.jobs,
            missed: task.missed,
            median: time(response.map(|r| r.median_ns)),
            p99: response.map_or_else(|| NOTHING.into(), |r| percentile(r, 99, r.p99_ns)),
            longest: time(response.map(|r| r.max_ns)),
            deadline: units::duration(task.deadline_ns),
            slowdown: slowdown.map_or_else(|| NOTHING.into(), units::factor),
        }
    }
}

/// A task's median response time without company, in nanoseconds.
fn solo_median_ns(summary: &Summary, task: &str) -> Option<u64> {
    let solo = summary.cases.iter().filter(|case| is_solo(case));
    let mut found = solo
        .flat_map(tasks)
        .filter(|statistics| statistics.task == task);
    found.find_map(|statistics| Some(statistics.response.as_ref()?.median_ns))
}

/// Whether a case only measures tasks without company: `solo`, or `solo/` and a task or gang.
pub fn is_solo(case: &CaseSummary) -> bool {
    case.name == "solo" || case.name.starts_with("solo/")
}

/// A percentile's value; nothing when it would only repeat the largest one.
pub fn percentile(response: &Distribution, percent: u64, ns: u64) -> String {
    time(response.tells_percentile(percent).then_some(ns))
}

fn time(ns: Option<u64>) -> String {
    ns.map_or_else(|| NOTHING.into(), units::duration_in_column)
}

/// What the best-effort work of a case got, all cores together.
pub struct BestEffortRow<'a> {
    pub case: &'a str,
    pub core_time: String,
    /// The part of all cores' time.
    pub share: String,
    /// Bytes read per second.
    pub read: String,
    /// Bytes written per second.
    pub written: String,
    /// The part of all cores' time in which the core was throttled.
    pub throttled: String,
}

/// The cases with best-effort work that can be relied on.
pub fn best_effort_rows(summary: &Summary) -> Vec<BestEffortRow<'_>> {
    summary.cases.iter().filter_map(BestEffortRow::of).collect()
}

impl<'a> BestEffortRow<'a> {
    fn of(case: &'a CaseSummary) -> Option<Self> {
        let statistics = case.statistics.as_ref()?;
        if statistics.best_effort.is_empty() {
            return None;
        }
        // A damaged record may count as far as 64 bits go, on every core.
        let total = |field: fn(&CoreStatistics) -> u64| {
            let fields = statistics.cores.iter().map(field);
            fields.fold(0, u64::saturating_add)
        };
        let end_ns = case.end_ns?.max(1) as f64;
        let all_ns = end_ns * statistics.cores.len().max(1) as f64;
        let core_time_ns = total(|core| core.best_effort_ns);
        let per_second = |bytes: u64| units::bandwidth(bytes as f64 * 1e9 / end_ns);
        Some(BestEffortRow {
            case: &case.name,
            core_time: units::duration_in_column(core_time_ns),
            share: units::percent(core_time_ns as f64 / all_ns),
            read: per_second(total(|core| core.best_effort_read_bytes)),
            written: per_second(total(|core| core.best_effort_write_bytes)),
            throttled: units::percent(total(|core| core.throttled_ns) as f64 / all_ns),
        })
    }
}

/// What a best-effort entry of the scenario did in a case, its threads together.
pub struct ThroughputRow<'a> {
    /// First row of its entry.
    pub first: bool,
    pub work: &'a str,
    pub case: &'a str,
    pub core_time: String,
    /// Memory accesses executed per second.
    pub accesses: String,
    /// Bytes read and written per second.
    pub traffic: String,
}

/// All best-effort work in all cases, grouped by entry; none where no record
/// tells what was executed.
pub fn throughput_rows(summary: &Summary) -> Vec<ThroughputRow<'_>> {
    let threads = || summary.cases.iter().flat_map(best_effort);
    if threads().all(|thread| thread.accesses.is_none()) {
        return Vec::new();
    }
    let works = each_once(threads().map(|thread| work_name(&thread.thread)));
    let mut rows = Vec::new();
    for work in works {
        let before = rows.len();
        let of_cases = summary.cases.iter();
        rows.extend(of_cases.filter_map(|case| ThroughputRow::of(case, work)));
        rows[before].first = true;
    }
    rows
}

impl<'a> ThroughputRow<'a> {
    fn of(case: &'a CaseSummary, work: &'a str) -> Option<Self> {
        let threads: Vec<&BestEffortStatistics> = best_effort(case)
            .filter(|thread| work_name(&thread.thread) == work)
            .collect();
        if threads.is_empty() {
            return None;
        }
        let end_ns = case.end_ns?.max(1) as f64;
        let bytes = |thread: &BestEffortStatistics| {
            Some(thread.read_bytes?.saturating_add(thread.write_bytes?))
        };
        // Unknown of one thread is unknown of all.
        let rate = |each: &dyn Fn(&BestEffortStatistics) -> Option<u64>,
                    unit: fn(f64) -> String| {
            let mut amounts = threads.iter().map(|thread| each(thread));
            let sum = amounts.try_fold(0_u64, |sum, amount| Some(sum.saturating_add(amount?)));
            sum.map_or_else(|| NOTHING.into(), |sum| unit(sum as f64 * 1e9 / end_ns))
        };
        Some(ThroughputRow {
            first: false,
            work,
            case: &case.name,
            core_time: units::duration_in_column(threads.iter().map(|t| t.core_time_ns).sum()),
            accesses: rate(&|thread| thread.accesses, units::millions),
            traffic: rate(&bytes, units::bandwidth),
        })
    }
}

/// The best-effort threads of a case that can be relied on.
fn best_effort(case: &CaseSummary) -> impl Iterator<Item = &BestEffortStatistics> {
    case.statistics
        .iter()
        .flat_map(|statistics| &statistics.best_effort)
}

/// Name of the entry that a best-effort thread belongs to: `hog` of `hog/3`.
pub fn work_name(thread: &str) -> &str {
    thread.rsplit_once('/').map_or(thread, |(work, _)| work)
}

/// Core time that real-time work left over in a case.
pub struct SlackRow<'a> {
    pub case: &'a str,
    /// Over the whole run.
    pub left: String,
    /// The part of all cores' time.
    pub share: String,
    /// In every hyperperiod, or from the least to the most.
    pub per_hyperperiod: String,
    pub hyperperiod: String,
}

/// The cases that can be relied on, and say who ran where.
pub fn slack_rows(summary: &Summary) -> Vec<SlackRow<'_>> {
    summary.cases.iter().filter_map(SlackRow::of).collect()
}

impl<'a> SlackRow<'a> {
    fn of(case: &'a CaseSummary) -> Option<Self> {
        let statistics = case.statistics.as_ref()?;
        let slack = statistics.slack.as_ref()?;
        let all_ns = case.end_ns?.max(1) as f64 * statistics.cores.len().max(1) as f64;
        let bounds = slack.hyperperiod_min_ns.zip(slack.hyperperiod_max_ns);
        let per_hyperperiod = match bounds {
            None => NOTHING.into(),
            Some((least, most)) if least == most => units::duration(least),
            Some((least, most)) => {
                format!("{} to {}", units::duration(least), units::duration(most))
            }
        };
        Some(SlackRow {
            case: &case.name,
            left: units::duration_in_column(slack.run_ns),
            share: units::percent(slack.run_ns as f64 / all_ns),
            per_hyperperiod,
            hyperperiod: slack
                .hyperperiod_ns
                .map_or_else(|| NOTHING.into(), units::duration),
        })
    }
}
