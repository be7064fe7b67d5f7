//! Two cases, or two records, side by side.
//!
//! Ratios are second to first: below 1 the second is smaller.

mod accuracy;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use crate::differences::{by_key, header_differences, push_difference};
use crate::duration::exact;
use crate::statistics::{BestEffortStatistics, CaseStatistics, TaskStatistics};
use crate::summary::{CaseSummary, Summary};
use crate::verdict::{ClaimKind, Outcome};

pub use crate::differences::Difference;
pub use accuracy::{MeasureComparison, TrajectoryComparison};

/// Response times, errors and measured values that differ by less than this, in
/// percent of the larger one, are neither better nor worse.
pub const NOTICEABLE_PERCENT: u64 = 1;

/// Two records.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// What differs in what was run, and where.
    pub differences: Vec<Difference>,
    /// Where and how the first record is damaged.
    pub first_damage: Option<String>,
    /// Where and how the second record is damaged.
    pub second_damage: Option<String>,
    /// Cases of equal name, in the order of the first record.
    pub cases: Vec<CaseComparison>,
    /// Names of cases of the first record that the second lacks.
    pub only_first: Vec<String>,
    /// Names of cases of the second record that the first lacks.
    pub only_second: Vec<String>,
}

/// Two cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseComparison {
    /// Name of the first case.
    pub first: String,
    /// Name of the second case.
    pub second: String,
    /// Which is better: the one that keeps a claim that the other does not, or
    /// else the one that is better for some task, trajectory or measure and worse
    /// for none.
    pub better: Better,
    /// Claims that came out differently.
    pub claims: Vec<ClaimChange>,
    /// What differs in what was run.
    pub differences: Vec<Difference>,
    /// Tasks of equal name.
    pub tasks: Vec<TaskComparison>,
    /// Best-effort threads of equal name.
    pub best_effort: Vec<BestEffortComparison>,
    /// Trajectories of equal name.
    pub trajectories: Vec<TrajectoryComparison>,
    /// Measures of equal name and quantity.
    pub measures: Vec<MeasureComparison>,
}

/// Which side is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// The first.
    First,
    /// The second.
    Second,
    /// Neither.
    Equal,
    /// The first for some, the second for others.
    Mixed,
    /// A side cannot be relied on.
    Unknown,
}

/// A claim that came out differently in two cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimChange {
    /// Which claim.
    pub kind: ClaimKind,
    /// What came out on the first side.
    pub first: Outcome,
    /// What came out on the second side.
    pub second: Outcome,
}

impl ClaimChange {
    fn better(&self) -> Better {
        match (self.first, self.second) {
            (Outcome::Pass, Outcome::Fail | Outcome::NotJudged) => Better::First,
            (Outcome::Fail | Outcome::NotJudged, Outcome::Pass) => Better::Second,
            _ => Better::Equal,
        }
    }
}

/// A quantity on both sides. Its unit is in the name of the field that holds it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Pair<T = u64> {
    /// On the first side.
    pub first: T,
    /// On the second side.
    pub second: T,
    /// Second to first; `None` when the first is zero, or one is negative.
    pub ratio: Option<f64>,
}

/// A task in two cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TaskComparison {
    /// Name.
    pub task: String,
    /// Which is better: fewer missed deadlines per job, then the smaller 99th
    /// percentile, then the smaller maximum of the response time. Times that
    /// differ by less than [`NOTICEABLE_PERCENT`] count as equal.
    pub better: Better,
    /// Jobs released.
    pub jobs: Pair,
    /// Jobs that missed their deadline.
    pub missed: Pair,
    /// Median response time; `None` when a side finished no job.
    pub median_ns: Option<Pair>,
    /// 99th percentile of the response time; `None` as above, and when a side
    /// finished fewer than 100 jobs, of which it would be the longest.
    pub p99_ns: Option<Pair>,
    /// Longest response time; `None` as above.
    pub max_ns: Option<Pair>,
}

/// A best-effort thread in two cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BestEffortComparison {
    /// Name.
    pub thread: String,
    /// Core time in every second of the run.
    pub core_time_ns_per_second: Pair,
    /// Memory accesses executed in every second of the run; `None` when a record
    /// does not tell.
    pub accesses_per_second: Option<Pair>,
    /// Bytes read and written in every second of the run; `None` when a side
    /// cannot tell the thread's bytes from another's.
    pub bytes_per_second: Option<Pair>,
}

impl<T: Copy + Into<i128>> Pair<T> {
    fn of(first: T, second: T) -> Self {
        let (a, b) = (first.into(), second.into());
        Self {
            first,
            second,
            ratio: (a > 0 && b >= 0).then(|| b as f64 / a as f64),
        }
    }
}

/// Sets two records side by side.
pub fn compare(first: &Summary, second: &Summary) -> Comparison {
    let in_second = by_key(&second.cases, case_name);
    let cases = first
        .cases
        .iter()
        .filter_map(|case| Some(compare_cases(case, in_second.get(&*case.name)?)))
        .collect();
    Comparison {
        differences: header_differences(&first.header, &second.header),
        first_damage: first.damage.clone(),
        second_damage: second.damage.clone(),
        cases,
        only_first: missing_names(first, second),
        only_second: missing_names(second, first),
    }
}

/// Sets two cases side by side, of one record or of two.
pub fn compare_cases(first: &CaseSummary, second: &CaseSummary) -> CaseComparison {
    let mut case = CaseComparison {
        first: first.name.clone(),
        second: second.name.clone(),
        better: Better::Unknown,
        claims: claim_changes(first, second),
        differences: Vec::new(),
        tasks: Vec::new(),
        best_effort: Vec::new(),
        trajectories: Vec::new(),
        measures: Vec::new(),
    };
    if let (Some(a), Some(b)) = (&first.statistics, &second.statistics) {
        case.tasks = compare_tasks(a, b);
        case.best_effort = compare_best_effort((a, length_ns(first)), (b, length_ns(second)));
        case.trajectories = accuracy::trajectories(a, b);
        case.measures = accuracy::measures(a, b);
        case.differences = task_differences(a, b);
        case.differences.extend(accuracy::differences(a, b));
        case.better = better_case(&case);
    }
    push_difference(
        &mut case.differences,
        "planned length",
        exact(first.duration_ns),
        exact(second.duration_ns),
    );
    push_difference(
        &mut case.differences,
        "shares of the last-level cache",
        cache_shares(first),
        cache_shares(second),
    );
    case
}

fn cache_shares(case: &CaseSummary) -> String {
    let shares: Vec<String> = case.cache_shares.iter().map(ToString::to_string).collect();
    match shares.as_slice() {
        [] => "none".into(),
        shares => shares.join("; "),
    }
}

fn claim_changes(first: &CaseSummary, second: &CaseSummary) -> Vec<ClaimChange> {
    let claims = first.verdict.claims.iter();
    let changes = claims.filter_map(|claim| {
        Some(ClaimChange {
            kind: claim.kind,
            first: claim.outcome,
            second: second.verdict.claim(claim.kind)?.outcome,
        })
    });
    // Of a section that cannot be read, only that is worth saying.
    let readable = first.statistics.is_some() && second.statistics.is_some();
    changes
        .filter(|change| change.first != change.second)
        .filter(|change| readable || change.kind == ClaimKind::CompleteRecord)
        .collect()
}

/// A kept claim is worth more than a shorter time or a smaller error. Deadlines are
/// compared task by task.
fn better_case(case: &CaseComparison) -> Better {
    let claims = case.claims.iter();
    let claims = claims.filter(|claim| claim.kind != ClaimKind::Deadlines);
    match better_of_all(claims.map(ClaimChange::better)) {
        Better::Equal => {
            let tasks = case.tasks.iter().map(|task| task.better);
            let trajectories = case.trajectories.iter().map(|one| one.better);
            let measures = case.measures.iter().filter_map(|measure| measure.better);
            better_of_all(tasks.chain(trajectories).chain(measures))
        }
        better => better,
    }
}

fn case_name(case: &CaseSummary) -> &str {
    &case.name
}

fn missing_names(from: &Summary, in_other: &Summary) -> Vec<String> {
    let in_other = by_key(&in_other.cases, case_name);
    let names = from.cases.iter().map(case_name);
    names
        .filter(|name| !in_other.contains_key(name))
        .map(Into::into)
        .collect()
}

fn length_ns(case: &CaseSummary) -> u64 {
    case.end_ns.unwrap_or_default()
}

fn task_differences(first: &CaseStatistics, second: &CaseStatistics) -> Vec<Difference> {
    let mut differences = Vec::new();
    for (a, b) in matching_tasks(first, second) {
        for (what, a_ns, b_ns) in [
            ("period", a.period_ns, b.period_ns),
            ("deadline", a.deadline_ns, b.deadline_ns),
            ("offset", a.offset_ns, b.offset_ns),
        ] {
            push_difference(
                &mut differences,
                &format!("{what} of '{}'", a.task),
                exact(a_ns),
                exact(b_ns),
            );
        }
    }
    differences
}

fn matching_tasks<'a>(
    first: &'a CaseStatistics,
    second: &'a CaseStatistics,
) -> impl Iterator<Item = (&'a TaskStatistics, &'a TaskStatistics)> {
    let in_second = by_key(&second.tasks, |task| &*task.task);
    first
        .tasks
        .iter()
        .filter_map(move |a| Some((a, *in_second.get(&*a.task)?)))
}

fn compare_tasks(first: &CaseStatistics, second: &CaseStatistics) -> Vec<TaskComparison> {
    matching_tasks(first, second)
        .map(|(a, b)| {
            let responses = a.response.as_ref().zip(b.response.as_ref());
            TaskComparison {
                task: a.task.clone(),
                better: better_task(a, b),
                jobs: Pair::of(a.jobs, b.jobs),
                missed: Pair::of(a.missed, b.missed),
                median_ns: responses.map(|(a, b)| Pair::of(a.median_ns, b.median_ns)),
                p99_ns: responses
                    .filter(|(a, b)| a.tells_percentile(99) && b.tells_percentile(99))
                    .map(|(a, b)| Pair::of(a.p99_ns, b.p99_ns)),
                max_ns: responses.map(|(a, b)| Pair::of(a.max_ns, b.max_ns)),
            }
        })
        .collect()
}

fn better_task(a: &TaskStatistics, b: &TaskStatistics) -> Better {
    // Missed per job, compared without division; a side without jobs missed none.
    let misses = (u128::from(a.missed) * u128::from(b.jobs.max(1)))
        .cmp(&(u128::from(b.missed) * u128::from(a.jobs.max(1))));
    let tail = |task: &TaskStatistics| {
        let response = task.response.as_ref();
        response.map_or((u64::MAX, u64::MAX), |r| (r.p99_ns, r.max_ns))
    };
    let ((p99_a, max_a), (p99_b, max_b)) = (tail(a), tail(b));
    let times = || compare_sizes(p99_a, p99_b).then_with(|| compare_sizes(max_a, max_b));
    better_of(misses.then_with(times))
}

/// Which is better where less is.
fn better_of(order: Ordering) -> Better {
    match order {
        Ordering::Less => Better::First,
        Ordering::Equal => Better::Equal,
        Ordering::Greater => Better::Second,
    }
}

/// Orders what differs noticeably.
fn compare_sizes<T: Copy + Into<i128>>(a: T, b: T) -> Ordering {
    let (a, b) = (a.into(), b.into());
    let larger = a.unsigned_abs().max(b.unsigned_abs());
    if a.abs_diff(b) * 100 < larger * u128::from(NOTICEABLE_PERCENT) {
        return Ordering::Equal;
    }
    a.cmp(&b)
}

fn better_of_all(each: impl Iterator<Item = Better>) -> Better {
    each.fold(Better::Equal, |all, one| match (all, one) {
        (all, Better::Equal) => all,
        (Better::Equal, one) => one,
        (all, one) if all == one => all,
        _ => Better::Mixed,
    })
}

fn compare_best_effort(
    (first, first_ns): (&CaseStatistics, u64),
    (second, second_ns): (&CaseStatistics, u64),
) -> Vec<BestEffortComparison> {
    let bytes = |thread: &BestEffortStatistics| {
        Some(thread.read_bytes?.saturating_add(thread.write_bytes?))
    };
    let rates = |a: Option<u64>, b: Option<u64>| {
        let (a, b) = a.zip(b)?;
        Some(Pair::of(per_second(a, first_ns), per_second(b, second_ns)))
    };
    let in_second = by_key(&second.best_effort, |thread| &*thread.thread);
    first
        .best_effort
        .iter()
        .filter_map(|a| {
            let b = in_second.get(&*a.thread)?;
            Some(BestEffortComparison {
                thread: a.thread.clone(),
                core_time_ns_per_second: Pair::of(
                    per_second(a.core_time_ns, first_ns),
                    per_second(b.core_time_ns, second_ns),
                ),
                accesses_per_second: rates(a.accesses, b.accesses),
                bytes_per_second: rates(bytes(a), bytes(b)),
            })
        })
        .collect()
}

/// `amount` in `length_ns`, scaled to a second and rounded down.
fn per_second(amount: u64, length_ns: u64) -> u64 {
    let scaled = u128::from(amount) * 1_000_000_000 / u128::from(length_ns.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}
