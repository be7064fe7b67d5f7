//! Best-effort traffic stays within the budgets, and throttled cores stand still.

use ringfence_record::event::{BudgetClaim, Gang, UnthrottleReason};

use super::tolerances::intolerable_budgets;
use super::{Breach, Findings};
use crate::case::{BudgetInForce, CaseRun, Interval, Sample};

/// Judges the best-effort bytes of every core between two samples.
///
/// A stretch is judged when a budget was in force in every part of it. What is
/// allowed is, for each period that it touches, the largest budget in force at
/// any time in that period, and one quantum. The budgets themselves are judged
/// by what the running gangs tolerate.
pub(super) fn budgets(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let Some(claim) = &run.case.claims.budgets else {
        return findings;
    };
    let mut unlimited = 0_u64;
    for (core, course) in (0..).zip(&run.cores) {
        for direction in [Direction::Read, Direction::Write] {
            let mut before = Sample {
                time_ns: 0,
                counters: Default::default(),
            };
            for sample in &course.samples {
                let stretch = Interval {
                    from_ns: before.time_ns,
                    to_ns: sample.time_ns,
                };
                if stretch.from_ns == stretch.to_ns {
                    continue;
                }
                let used_bytes = direction.bytes(sample) - direction.bytes(&before);
                before = *sample;
                match allowed_bytes(&course.budgets, stretch, claim, direction) {
                    None => unlimited += 1,
                    Some(allowed_bytes) => {
                        findings.checked += 1;
                        if used_bytes > allowed_bytes {
                            findings.breaches.push(exceeded(
                                core,
                                stretch,
                                direction,
                                used_bytes,
                                allowed_bytes,
                            ));
                        }
                    }
                }
            }
            if let Some(missing) = unsampled(run, core, before.time_ns, claim, direction) {
                findings.missing.get_or_insert(missing);
            }
        }
    }
    let (checked, breaches) = intolerable_budgets(run, claim);
    findings.checked += checked;
    findings.breaches.extend(breaches);
    if unlimited > 0 {
        findings.note = Some(format!(
            "{unlimited} stretches between samples had no budget at some time and are not judged"
        ));
    }
    findings
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

/// What best-effort work may use in `stretch`, which begins with a period;
/// `None` when it was unlimited at some time.
fn allowed_bytes(
    budgets: &[BudgetInForce],
    stretch: Interval,
    claim: &BudgetClaim,
    direction: Direction,
) -> Option<u64> {
    let first = budgets.partition_point(|budget| budget.to_ns <= stretch.from_ns);
    let mut covered_ns = stretch.from_ns;
    let mut total = PeriodSum::default();
    for budget in budgets[first..]
        .iter()
        .filter(|budget| budget.from_ns < budget.to_ns)
        .take_while(|budget| budget.from_ns < stretch.to_ns)
    {
        if budget.from_ns > covered_ns {
            return None;
        }
        let bytes = direction
            .budget_bytes(budget)?
            .saturating_add(claim.quantum_bytes);
        let to_ns = budget.to_ns.min(stretch.to_ns);
        let first_period = (covered_ns - stretch.from_ns) / claim.period_ns;
        let last_period = (to_ns - 1 - stretch.from_ns) / claim.period_ns;
        total.add(first_period, last_period, bytes);
        covered_ns = to_ns;
    }
    (covered_ns == stretch.to_ns).then(|| total.finish())
}

/// The sum over periods of the largest value in each.
#[derive(Debug, Default)]
struct PeriodSum {
    /// Sum of the periods before `period`.
    sum: u64,
    period: u64,
    /// Largest value in `period` so far.
    largest: u64,
}

impl PeriodSum {
    /// `value` holds in the periods `first..=last`; `first` does not decrease.
    fn add(&mut self, first: u64, last: u64, value: u64) {
        if first > self.period {
            self.sum = self.sum.saturating_add(self.largest);
            self.period = first;
            self.largest = 0;
        }
        self.largest = self.largest.max(value);
        if last > first {
            let between = value.saturating_mul(last - first - 1);
            self.sum = self
                .sum
                .saturating_add(self.largest)
                .saturating_add(between);
            self.period = last;
            self.largest = value;
        }
    }

    fn finish(self) -> u64 {
        self.sum.saturating_add(self.largest)
    }
}

fn exceeded(
    core: u16,
    stretch: Interval,
    direction: Direction,
    used_bytes: u64,
    allowed_bytes: u64,
) -> Breach {
    let duration_ns = stretch.to_ns - stretch.from_ns;
    Breach {
        time_ns: stretch.from_ns,
        duration_ns,
        core: Some(core),
        threads: Vec::new(),
        text: format!(
            "best-effort work on core {core} {} {used_bytes} bytes in {duration_ns} ns; budget and quantum allow {allowed_bytes}",
            direction.verb()
        ),
    }
}

/// Says so when a budget was in force for a whole period after the last sample.
fn unsampled(
    run: &CaseRun,
    core: u16,
    last_sample_ns: u64,
    claim: &BudgetClaim,
    direction: Direction,
) -> Option<String> {
    let course = &run.cores[usize::from(core)];
    let budget = course.budgets.iter().find(|budget| {
        let from_ns = budget.from_ns.max(last_sample_ns);
        direction.budget_bytes(budget).is_some()
            && budget.to_ns.saturating_sub(from_ns) >= claim.period_ns
    })?;
    Some(format!(
        "core {core} had a budget until {} ns, but its last counter sample is at {last_sample_ns} ns; the target must sample every core when a case ends",
        budget.to_ns
    ))
}

/// Judges that best-effort threads leave a throttled core within
/// `hand_over_ns` and stay away, and that throttling ends for lack of a gang
/// only while no gang runs.
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
                    "best-effort thread '{}' runs on core {core}, which has been throttled for more than {} ns",
                    run.thread_name(on.thread),
                    run.case.claims.hand_over_ns
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
