//! Best-effort traffic stays within the budgets, and throttled cores stand still.

use std::collections::BTreeSet;

use ringfence_record::event::{Gang, UnthrottleReason};

use super::spans::union;
use super::tolerances::intolerable_budgets;
use super::{Breach, Findings};
use crate::case::{BudgetInForce, CaseRun, CoreRun, Interval, Sample, Throttle};
use crate::duration::readable;

/// Judges the best-effort bytes of every core in every period of the regulator.
///
/// A period is judged when a budget was in force in every part of it and the
/// counters were sampled at both its ends (the run's end cuts the last one
/// short). What is allowed is the largest budget in force at any time in it,
/// and one quantum. The budgets themselves are judged by what the running gangs
/// tolerate.
pub(super) fn budgets(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let Some(claim) = &run.case.claims.budgets else {
        return findings;
    };
    let (mut unsampled, mut partly) = (0_u64, 0_u64);
    for (core, course) in (0..).zip(&run.cores) {
        for direction in [Direction::Read, Direction::Write] {
            let limits = Limits::of(course, direction, claim.period_ns, run.end_ns);
            let mut judged = 0;
            for seen in uses(&course.samples, direction, claim.period_ns) {
                let period = period(seen.index, claim.period_ns, run.end_ns);
                let Some(budget_bytes) = limits.largest(period) else {
                    continue;
                };
                let allowed_bytes = budget_bytes.saturating_add(claim.quantum_bytes);
                // Too much in a part of a period is too much in all of it.
                let broken = seen.bytes > allowed_bytes;
                judged += u64::from(broken || seen.within == period);
                if broken {
                    let breach = exceeded(core, seen, direction, allowed_bytes);
                    findings.breaches.push(breach);
                }
            }
            findings.checked += judged;
            unsampled += limits.whole_periods() - judged;
            partly += limits.cut_periods();
        }
    }
    let (checked, breaches) = intolerable_budgets(run, claim);
    findings.checked += checked;
    findings.breaches.extend(breaches);
    if unsampled > 0 {
        findings.missing = Some(format!(
            "{} with a budget not judged: without a counter sample of the core at its begin and its end; the target must sample every core whenever a period begins and when a case ends",
            periods(unsampled)
        ));
    }
    if partly > 0 {
        findings.note = Some(format!(
            "{} not judged: with a budget for a part of it only",
            periods(partly)
        ));
    }
    findings
}

fn periods(count: u64) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} period{plural} of a core")
}

/// Reads and writes have budgets of their own.
#[derive(Debug, Clone, Copy)]
pub(super) enum Direction {
    Read,
    Write,
}

impl Direction {
    fn bytes(self, sample: &Sample) -> u64 {
        match self {
            Self::Read => sample.counters.best_effort_read_bytes,
            Self::Write => sample.counters.best_effort_write_bytes,
        }
    }

    pub(super) fn budget_bytes(self, budget: &BudgetInForce) -> Option<u64> {
        match self {
            Self::Read => budget.read_bytes,
            Self::Write => budget.write_bytes,
        }
    }

    pub(super) fn tolerance_bytes_per_second(self, gang: &Gang) -> Option<u64> {
        match self {
            Self::Read => gang.tolerance_read_bytes_per_second,
            Self::Write => gang.tolerance_write_bytes_per_second,
        }
    }

    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "wrote",
        }
    }
}

/// A period of the regulator, which counts from the start of the case.
fn period(index: u64, period_ns: u64, end_ns: u64) -> Interval {
    let from_ns = index.saturating_mul(period_ns);
    Interval {
        from_ns,
        to_ns: from_ns.saturating_add(period_ns).min(end_ns),
    }
}

/// What a core used in a period, as far as samples show it.
#[derive(Debug, Clone, Copy)]
struct Use {
    /// Number of the period.
    index: u64,
    /// From the first to the last sample in the period.
    within: Interval,
    bytes: u64,
}

/// The uses of a core that samples tell apart by period, in the order of time.
/// The totals at time 0 are zero. What lies between two samples with a period's
/// begin between them belongs to no period in particular.
fn uses(samples: &[Sample], direction: Direction, period_ns: u64) -> Vec<Use> {
    let mut uses: Vec<Use> = Vec::new();
    let mut before = Sample::default();
    for sample in samples {
        let within = Interval {
            from_ns: before.time_ns,
            to_ns: sample.time_ns,
        };
        let bytes = direction.bytes(sample) - direction.bytes(&before);
        before = *sample;
        let index = within.from_ns / period_ns;
        if within.from_ns == within.to_ns || (within.to_ns - 1) / period_ns != index {
            continue;
        }
        match uses.last_mut().filter(|last| last.index == index) {
            Some(last) => {
                last.within.to_ns = within.to_ns;
                last.bytes += bytes;
            }
            None => uses.push(Use {
                index,
                within,
                bytes,
            }),
        }
    }
    uses
}

/// A core's budgets in one direction, where there is one.
struct Limits {
    period_ns: u64,
    end_ns: u64,
    /// When a budget was in force, and its bytes; in the order of time.
    pieces: Vec<(Interval, u64)>,
    /// The same without the bytes, neighbours joined.
    spans: Vec<Interval>,
}

impl Limits {
    fn of(course: &CoreRun, direction: Direction, period_ns: u64, end_ns: u64) -> Self {
        let limited = course.budgets.iter().filter(|b| b.from_ns < b.to_ns);
        let pieces: Vec<(Interval, u64)> = limited
            .filter_map(|budget| {
                let interval = Interval {
                    from_ns: budget.from_ns,
                    to_ns: budget.to_ns,
                };
                Some((interval, direction.budget_bytes(budget)?))
            })
            .collect();
        let spans = union(pieces.iter().map(|piece| piece.0).collect());
        Self {
            period_ns,
            end_ns,
            pieces,
            spans,
        }
    }

    /// The largest budget in `period`; `None` when it was unlimited at some time.
    fn largest(&self, period: Interval) -> Option<u64> {
        let span = self.spans.partition_point(|s| s.to_ns < period.to_ns);
        let covered = self.spans.get(span)?.from_ns <= period.from_ns;
        let first = self
            .pieces
            .partition_point(|piece| piece.0.to_ns <= period.from_ns);
        let within = self.pieces[first..]
            .iter()
            .take_while(|piece| piece.0.from_ns < period.to_ns);
        within.map(|piece| piece.1).max().filter(|_| covered)
    }

    /// Periods with a budget in every part.
    fn whole_periods(&self) -> u64 {
        self.spans.iter().map(|span| self.whole_in(span).1).sum()
    }

    /// Periods with a budget in some part and none in another. Two spans in
    /// one period count once.
    fn cut_periods(&self) -> u64 {
        let mut cut = BTreeSet::new();
        for span in &self.spans {
            let (first, count) = self.whole_in(span);
            let touched = span.from_ns / self.period_ns..=(span.to_ns - 1) / self.period_ns;
            let ends = [*touched.start(), *touched.end()];
            cut.extend(
                ends.into_iter()
                    .filter(|end| !(first..first + count).contains(end)),
            );
        }
        cut.len() as u64
    }

    /// First and number of the periods that lie in `span`.
    fn whole_in(&self, span: &Interval) -> (u64, u64) {
        let first = span.from_ns.div_ceil(self.period_ns);
        let after = if span.to_ns == self.end_ns {
            span.to_ns.div_ceil(self.period_ns)
        } else {
            span.to_ns / self.period_ns
        };
        (first, after.saturating_sub(first))
    }
}

fn exceeded(core: u16, seen: Use, direction: Direction, allowed_bytes: u64) -> Breach {
    let duration_ns = seen.within.to_ns - seen.within.from_ns;
    Breach {
        time_ns: seen.within.from_ns,
        duration_ns,
        core: Some(core),
        threads: Vec::new(),
        text: format!(
            "best-effort work on core {core} {} {} bytes in {}; budget and quantum allow {allowed_bytes}",
            direction.verb(),
            seen.bytes,
            readable(duration_ns)
        ),
    }
}

/// Judges that best-effort threads leave a throttled core within
/// `hand_over_ns` and stay away, that a refill ends throttling only when a
/// period begins, and that lack of a gang ends it only while no gang runs.
pub(super) fn throttling(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    for (core, course) in (0..).zip(&run.cores) {
        for throttle in &course.throttles {
            findings.checked += 1;
            let limit_ns = throttle
                .from_ns
                .saturating_add(run.case.claims.hand_over_ns);
            let closed = Interval {
                from_ns: limit_ns,
                to_ns: throttle.to_ns,
            };
            findings.breaches.extend(ran_throttled(run, core, closed));
            findings
                .breaches
                .extend(refilled_early(run, core, throttle));
            if throttle.reason == Some(UnthrottleReason::NoGang)
                && let Some(thread) = gang_running_across(run, throttle.to_ns)
            {
                let name = run.thread_name(thread);
                findings.breaches.push(Breach {
                    time_ns: throttle.to_ns,
                    duration_ns: 0,
                    core: Some(core),
                    threads: vec![name.into()],
                    text: format!(
                        "core {core} was un-throttled because no gang runs, but '{name}' does"
                    ),
                });
            }
        }
    }
    findings
}

/// A refill that comes while the period lasts.
fn refilled_early(run: &CaseRun, core: u16, throttle: &Throttle) -> Option<Breach> {
    let period_ns = run.case.claims.budgets.as_ref()?.period_ns;
    let early_ns = period_ns - throttle.to_ns % period_ns;
    let refilled = throttle.reason == Some(UnthrottleReason::Refill);
    (refilled && early_ns < period_ns).then(|| Breach {
        time_ns: throttle.to_ns,
        duration_ns: early_ns,
        core: Some(core),
        threads: Vec::new(),
        text: format!(
            "core {core} was un-throttled by a refill {} before the next period begins",
            readable(early_ns)
        ),
    })
}

/// Best-effort threads on a core while they must not be.
fn ran_throttled(run: &CaseRun, core: u16, closed: Interval) -> Vec<Breach> {
    let occupations = &run.cores[usize::from(core)].occupations;
    let first = occupations.partition_point(|on| on.to_ns <= closed.from_ns);
    occupations[first..]
        .iter()
        .take_while(|on| on.from_ns < closed.to_ns)
        .filter(|on| run.is_best_effort(on.thread))
        .filter_map(|on| {
            let from_ns = on.from_ns.max(closed.from_ns);
            let to_ns = on.to_ns.min(closed.to_ns);
            (from_ns < to_ns).then(|| Breach {
                time_ns: from_ns,
                duration_ns: to_ns - from_ns,
                core: Some(core),
                threads: vec![run.thread_name(on.thread).into()],
                text: format!(
                    "best-effort thread '{}' runs on core {core}, which has been throttled for more than {}",
                    run.thread_name(on.thread),
                    readable(run.case.claims.hand_over_ns)
                ),
            })
        })
        .collect()
}

/// A real-time thread that runs before and after `time_ns`.
fn gang_running_across(run: &CaseRun, time_ns: u64) -> Option<u16> {
    run.cores.iter().find_map(|course| {
        let index = course.occupations.partition_point(|on| on.to_ns <= time_ns);
        let on = course.occupations.get(index)?;
        (on.from_ns < time_ns && !run.is_best_effort(on.thread)).then_some(on.thread)
    })
}
