//! The cores of a VM stay within their shares of its reservation, and stand still when
//! they have used them.

use ringfence_record::event::{CoreShare, ReservationClaim, UnthrottleReason};

use super::{Breach, Findings};
use crate::case::{CaseRun, Sample};
use crate::duration::readable;

/// Judges the bytes that every core of every reserved VM moved, period by period, and
/// what ran there while it was throttled.
///
/// In any run of neighbouring periods a core may move its share of each, and one quantum
/// beyond: what it used beyond its share it has to pay back first.
pub(super) fn reservations(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let mut unsampled = 0;
    for claim in &run.case.claims.reservations {
        for share in &claim.shares {
            unsampled += within_share(run, claim, *share, &mut findings);
            throttling(run, claim, share.core, &mut findings);
        }
    }
    if unsampled > 0 {
        findings.missing = Some(format!(
            "{unsampled} periods of cores not judged: without a counter sample of the core at their begin and end; the target must sample the cores of a VM whenever a period begins and when a case ends"
        ));
    }
    findings
}

/// Judges each period of a core; how many could not be judged.
fn within_share(
    run: &CaseRun,
    claim: &ReservationClaim,
    share: CoreShare,
    findings: &mut Findings,
) -> u64 {
    let is_end = |sample: &&Sample| {
        sample.time_ns.is_multiple_of(claim.period_ns) || sample.time_ns == run.end_ns
    };
    let samples = &run.cores[usize::from(share.core)].samples;
    let mut before = Moved::default();
    // What it has used beyond its shares and not paid back.
    let mut owed_bytes = 0_u64;
    let mut judged = 0;
    for sample in samples.iter().filter(is_end) {
        let moved = Moved::at(sample, claim.period_ns);
        if moved.periods == before.periods + 1 {
            judged += 1;
            let used_bytes = moved.bytes - before.bytes;
            owed_bytes = owed_bytes
                .saturating_add(used_bytes)
                .saturating_sub(share.bytes);
            if owed_bytes > claim.quantum_bytes {
                let breach = exceeded(claim, share, &moved, used_bytes, owed_bytes);
                findings.breaches.push(breach);
            }
        } else if moved.periods > before.periods {
            owed_bytes = 0;
        }
        before = moved;
    }
    findings.checked += judged;
    run.end_ns.div_ceil(claim.period_ns) - judged
}

/// What a core had moved at the end of a period.
#[derive(Debug, Default)]
struct Moved {
    /// Periods before, the one that ends included.
    periods: u64,
    bytes: u64,
}

impl Moved {
    fn at(sample: &Sample, period_ns: u64) -> Self {
        let counters = &sample.counters;
        Self {
            periods: sample.time_ns.div_ceil(period_ns),
            bytes: counters.read_bytes.saturating_add(counters.write_bytes),
        }
    }
}

fn exceeded(
    claim: &ReservationClaim,
    share: CoreShare,
    moved: &Moved,
    used_bytes: u64,
    owed_bytes: u64,
) -> Breach {
    Breach {
        time_ns: (moved.periods - 1) * claim.period_ns,
        duration_ns: claim.period_ns,
        core: Some(share.core),
        threads: Vec::new(),
        text: format!(
            "core {} of VM '{}' moved {used_bytes} bytes in a period and is {owed_bytes} bytes beyond its shares of {}; one quantum allows {}",
            share.core, claim.vm, share.bytes, claim.quantum_bytes
        ),
    }
}

/// Judges that every thread leaves a throttled core within a hand-over and stays away until
/// a period begins.
fn throttling(run: &CaseRun, claim: &ReservationClaim, core: u16, findings: &mut Findings) {
    let course = &run.cores[usize::from(core)];
    for throttle in &course.throttles {
        findings.checked += 1;
        let refilled = throttle.reason == Some(UnthrottleReason::Refill);
        if refilled && !throttle.to_ns.is_multiple_of(claim.period_ns) {
            findings.breaches.push(Breach {
                time_ns: throttle.to_ns,
                duration_ns: 0,
                core: Some(core),
                threads: Vec::new(),
                text: format!(
                    "core {core} of VM '{}' was un-throttled before its next period begins",
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
