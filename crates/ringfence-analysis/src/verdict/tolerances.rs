//! The budgets in force are what the running gangs tolerate.

use ringfence_record::event::{BudgetClaim, Gang};

use super::Breach;
use super::budgets::Direction;
use super::spans::union;
use crate::case::{CaseRun, Interval};

/// Judges that, wherever a best-effort thread runs while a gang with a
/// tolerance has been running for `hand_over_ns`, the core's budget is at most
/// that tolerance. Gives how many meetings were checked, and the breaches.
pub(super) fn intolerable_budgets(run: &CaseRun, claim: &BudgetClaim) -> (u64, Vec<Breach>) {
    let mut checked = 0;
    let mut breaches = Vec::new();
    for (gang, active) in gangs_with_time(run) {
        for direction in [Direction::Read, Direction::Write] {
            let Some(tolerance) = direction.tolerance_bytes_per_second(gang) else {
                continue;
            };
            let limit_bytes = bytes_per_period(tolerance, claim.period_ns);
            for (core, thread, together) in meetings(run, &active) {
                checked += 1;
                for (span, bytes) in budgets_in(run, core, together, direction) {
                    if bytes.is_some_and(|bytes| bytes <= limit_bytes) {
                        continue;
                    }
                    let budget = bytes.map_or("no".into(), |b| format!("a {b} byte"));
                    breaches.push(Breach {
                        time_ns: span.from_ns,
                        duration_ns: span.to_ns - span.from_ns,
                        core: Some(core),
                        threads: vec![run.thread_name(thread).into()],
                        text: format!(
                            "core {core} has {budget} {} budget while gang '{}' runs, which tolerates {limit_bytes} bytes in a period",
                            direction.noun(),
                            gang.name
                        ),
                    });
                }
            }
        }
    }
    (checked, breaches)
}

/// What a tolerance allows in a period, rounded up to whole bytes.
fn bytes_per_period(bytes_per_second: u64, period_ns: u64) -> u64 {
    let scaled = u128::from(bytes_per_second) * u128::from(period_ns);
    u64::try_from(scaled.div_ceil(1_000_000_000)).unwrap_or(u64::MAX)
}

/// Every gang, and when any of its threads runs.
fn gangs_with_time(run: &CaseRun) -> Vec<(&Gang, Vec<Interval>)> {
    let time_of = |index: usize| {
        let tasks = &run.case.tasks;
        let of_gang = |task: Option<u16>| {
            task.is_some_and(|task| usize::from(tasks[usize::from(task)].gang) == index)
        };
        let threads = run.case.threads.iter().zip(&run.threads);
        threads
            .filter(|(thread, _)| of_gang(thread.task))
            .flat_map(|(_, course)| &course.occupations)
            .map(|on| Interval {
                from_ns: on.from_ns,
                to_ns: on.to_ns,
            })
            .collect()
    };
    let gangs = run.case.gangs.iter().enumerate();
    gangs
        .map(|(index, gang)| (gang, union(time_of(index))))
        .collect()
}

/// Core, thread and time of best-effort threads that run while a gang has been
/// active for `hand_over_ns`.
fn meetings(run: &CaseRun, active: &[Interval]) -> Vec<(u16, u16, Interval)> {
    let hand_over_ns = run.case.claims.hand_over_ns;
    let mut found = Vec::new();
    for (core, course) in (0..).zip(&run.cores) {
        for on in &course.occupations {
            if !run.is_best_effort(on.thread) {
                continue;
            }
            let first = active.partition_point(|active| active.to_ns <= on.from_ns);
            let active = active[first..].iter();
            for active in active.take_while(|active| active.from_ns < on.to_ns) {
                let from_ns = active.from_ns.saturating_add(hand_over_ns).max(on.from_ns);
                let to_ns = active.to_ns.min(on.to_ns);
                if from_ns < to_ns {
                    found.push((core, on.thread, Interval { from_ns, to_ns }));
                }
            }
        }
    }
    found
}

/// The pieces of `within` and the budget of a core in each; `None` is unlimited.
fn budgets_in(
    run: &CaseRun,
    core: u16,
    within: Interval,
    direction: Direction,
) -> Vec<(Interval, Option<u64>)> {
    let budgets = &run.cores[usize::from(core)].budgets;
    let first = budgets.partition_point(|budget| budget.to_ns <= within.from_ns);
    let begin_ns = budgets.first().map_or(within.to_ns, |first| first.from_ns);
    let before = Interval {
        from_ns: within.from_ns,
        to_ns: within.to_ns.min(begin_ns),
    };
    let pieces = budgets[first..]
        .iter()
        .take_while(|budget| budget.from_ns < within.to_ns)
        .map(|budget| {
            let piece = Interval {
                from_ns: budget.from_ns.max(within.from_ns),
                to_ns: budget.to_ns.min(within.to_ns),
            };
            (piece, direction.budget_bytes(budget))
        });
    std::iter::once((before, None))
        .chain(pieces)
        .filter(|(piece, _)| piece.from_ns < piece.to_ns)
        .collect()
}
