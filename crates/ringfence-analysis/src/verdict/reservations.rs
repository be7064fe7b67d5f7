//! The cores of a VM stay within their shares of its reservation, and stand still when
//! they have used them.

use ringfence_record::event::{ReservationClaim, UnthrottleReason};

use super::lending::{Pooled, lending, loans};
use super::reservation_course::ReservationCourse;
use super::{Breach, Findings, changes};
use crate::case::{CaseRun, CoreRun, Sample, Throttle};
use crate::duration::readable;

/// Judges the bytes that every core of every reserved VM moved, period by period, what ran
/// there while it was throttled, what was lent and borrowed, and how reservations changed.
///
/// In any run of neighbouring periods a core may move its share of each, less what it lent of
/// it, what it borrowed, and one quantum beyond: what it used beyond that it has to pay back
/// first.
pub(super) fn reservations(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let mut unsampled = 0;
    let mut pooled = Pooled::default();
    let claims = &run.case.claims.reservations;
    let courses = (0..claims.len()).map(|number| ReservationCourse::of(run, number));
    let courses: Vec<ReservationCourse> = courses.collect();
    for (claim, course) in claims.iter().zip(&courses) {
        for vcpu in 0..claim.shares.len() {
            let judged = VcpuJudge {
                run,
                claim,
                course,
                vcpu,
            };
            unsampled += judged.within_share(&mut pooled, &mut findings);
            throttling(run, claim, course, claim.shares[vcpu].core, &mut findings);
        }
    }
    lending(run, &courses, &mut findings);
    pooled.judge(&mut findings);
    changes::changes(run, &courses, &mut findings);
    if unsampled > 0 {
        findings.missing = Some(format!(
            "{unsampled} periods of cores not judged: without a counter sample of the core at their begin and end; the target must sample the cores of a VM whenever a period begins and when a case ends"
        ));
    }
    findings
}

/// One vCPU's use of its shares.
struct VcpuJudge<'a> {
    run: &'a CaseRun,
    claim: &'a ReservationClaim,
    course: &'a ReservationCourse,
    vcpu: usize,
}

impl VcpuJudge<'_> {
    /// Judges each period; how many could not be judged.
    fn within_share(&self, pooled: &mut Pooled, findings: &mut Findings) -> u64 {
        let (run, claim, course) = (self.run, self.claim, self.course);
        let is_end = |sample: &&Sample| {
            sample.time_ns > 0 && (course.is_begin(sample.time_ns) || sample.time_ns == run.end_ns)
        };
        let core = &run.cores[usize::from(claim.shares[self.vcpu].core)];
        let takes_part = claim.lends || claim.borrows;
        if takes_part {
            pooled.add_core(claim);
        }
        let loans = loans(core);
        let (mut periods, mut bytes) = (0, bytes_at_start(&core.samples));
        // What it has used beyond its shares and not paid back.
        let mut owed_bytes = 0_u64;
        let mut judged = 0;
        for sample in core.samples.iter().filter(is_end) {
            let (period, in_force) = course.ending(sample.time_ns);
            let moved_bytes = moved(sample);
            if period.number == periods + 1 {
                judged += 1;
                let used_bytes = moved_bytes - bytes;
                let share_bytes = in_force.shares_bytes[self.vcpu];
                let loan = loans.get(&period.begin_ns).copied().unwrap_or_default();
                let own_bytes = share_bytes.saturating_sub(loan.lent_bytes);
                let paid_bytes = own_bytes.min(owed_bytes);
                if claim.lends && is_throttled_in(&core.throttles, period.begin_ns, sample.time_ns)
                {
                    let due_bytes = (own_bytes - paid_bytes).saturating_add(loan.borrowed_bytes);
                    if used_bytes < due_bytes {
                        let text = format!(
                            "was throttled after {used_bytes} bytes in a period, of {due_bytes} that it had left of its share"
                        );
                        findings.breaches.push(self.breach(
                            period.begin_ns,
                            period.length_ns,
                            &text,
                        ));
                    }
                }
                let of_share_bytes = used_bytes.saturating_sub(loan.borrowed_bytes);
                owed_bytes = owed_bytes
                    .saturating_add(of_share_bytes)
                    .saturating_sub(own_bytes);
                if owed_bytes > claim.quantum_bytes {
                    let text = format!(
                        "moved {used_bytes} bytes in a period and is {owed_bytes} bytes beyond its shares of {share_bytes}{}; one quantum allows {}",
                        loan_text(loan.lent_bytes, loan.borrowed_bytes),
                        claim.quantum_bytes
                    );
                    findings
                        .breaches
                        .push(self.breach(period.begin_ns, period.length_ns, &text));
                }
                if takes_part {
                    pooled.add_use(period.begin_ns, used_bytes, share_bytes);
                }
            } else if period.number > periods {
                owed_bytes = 0;
            }
            (periods, bytes) = (period.number, moved_bytes);
        }
        findings.checked += judged;
        course.periods_until(run.end_ns) - judged
    }

    fn breach(&self, time_ns: u64, duration_ns: u64, text: &str) -> Breach {
        let core = self.claim.shares[self.vcpu].core;
        Breach {
            time_ns,
            duration_ns,
            core: Some(core),
            threads: Vec::new(),
            text: format!("core {core} of VM '{}' {text}", self.claim.vm),
        }
    }
}

fn moved(sample: &Sample) -> u64 {
    let counters = &sample.counters;
    counters.read_bytes.saturating_add(counters.write_bytes)
}

/// What a core had moved before the first period, which nobody judges.
fn bytes_at_start(samples: &[Sample]) -> u64 {
    let first = samples.iter().take_while(|sample| sample.time_ns == 0);
    first.last().map_or(0, moved)
}

/// Whether the core was throttled in a period because it had used its share.
fn is_throttled_in(throttles: &[Throttle], begin_ns: u64, end_ns: u64) -> bool {
    let next = throttles.partition_point(|throttle| throttle.from_ns < begin_ns);
    throttles
        .get(next)
        .is_some_and(|throttle| throttle.from_ns < end_ns)
}

/// Whether the core borrowed something while it was throttled.
fn has_borrowed(core: &CoreRun, throttle: &Throttle) -> bool {
    let loans = &core.loans;
    let first = loans.partition_point(|loan| loan.time_ns < throttle.from_ns);
    let mut within = loans[first..]
        .iter()
        .take_while(|loan| loan.time_ns <= throttle.to_ns);
    within.any(|loan| loan.borrowed_bytes > 0)
}

fn loan_text(lent_bytes: u64, borrowed_bytes: u64) -> String {
    match (lent_bytes, borrowed_bytes) {
        (0, 0) => String::new(),
        _ => format!(", having lent {lent_bytes} and borrowed {borrowed_bytes}"),
    }
}

/// Judges that every thread leaves a throttled core within a hand-over and stays away until
/// a period begins, or something is borrowed.
fn throttling(
    run: &CaseRun,
    claim: &ReservationClaim,
    vm: &ReservationCourse,
    core: u16,
    findings: &mut Findings,
) {
    let course = &run.cores[usize::from(core)];
    for throttle in &course.throttles {
        findings.checked += 1;
        let is_early = match throttle.reason {
            Some(UnthrottleReason::Refill) => !vm.is_begin(throttle.to_ns),
            Some(UnthrottleReason::Loan) => !has_borrowed(course, throttle),
            Some(UnthrottleReason::NoGang) | None => false,
        };
        if is_early {
            findings.breaches.push(Breach {
                time_ns: throttle.to_ns,
                duration_ns: 0,
                core: Some(core),
                threads: Vec::new(),
                text: format!(
                    "core {core} of VM '{}' was un-throttled before its next period begins, and had borrowed nothing",
                    claim.vm
                ),
            });
        }
        let limit_ns = throttle
            .from_ns
            .saturating_add(run.case.claims.hand_over_ns);
        let first = course
            .occupations
            .partition_point(|on| on.to_ns <= limit_ns);
        let there = course.occupations[first..].iter();
        for on in there.take_while(|on| on.from_ns < throttle.to_ns) {
            let from_ns = on.from_ns.max(limit_ns);
            let to_ns = on.to_ns.min(throttle.to_ns);
            if from_ns < to_ns {
                findings.breaches.push(Breach {
                    time_ns: from_ns,
                    duration_ns: to_ns - from_ns,
                    core: Some(core),
                    threads: vec![run.thread_name(on.thread).into()],
                    text: format!(
                        "'{}' runs on core {core} of VM '{}', which has been throttled for more than {}",
                        run.thread_name(on.thread),
                        claim.vm,
                        readable(run.case.claims.hand_over_ns)
                    ),
                });
            }
        }
    }
}
