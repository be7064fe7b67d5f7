//! Reservations change within their bounds and the total, and from the next period on.

use ringfence_record::event::ReservationClaim;

use super::reservation_course::{InForce, ReservationCourse};
use super::{Breach, Findings};
use crate::case::CaseRun;
use crate::duration::readable;

/// Judges each change of a reservation, and all reservations together whenever one is another.
pub(super) fn changes(run: &CaseRun, courses: &[ReservationCourse], findings: &mut Findings) {
    let claims = &run.case.claims.reservations;
    total(run, courses, 0, findings);
    for ((claim, course), changes) in claims.iter().zip(courses).zip(&run.changes) {
        for ((before, after), change) in course.changes().zip(changes) {
            findings.checked += 1;
            let wrong = out_of_bounds(claim, after)
                .or_else(|| not_next_period(before, after, change.asked_ns))
                .or_else(|| pool_out_of_step(claim, after));
            if let Some(wrong) = wrong {
                let text = format!("the reservation of VM '{}' {wrong}", claim.vm);
                findings.breaches.push(Breach::at(after.from_ns, text));
            }
            total(run, courses, after.from_ns, findings);
        }
    }
}

fn out_of_bounds(claim: &ReservationClaim, after: &InForce) -> Option<String> {
    let Some(bounds) = &claim.bounds else {
        return Some("was changed, which nobody may".to_owned());
    };
    let bytes: u128 = after
        .shares_bytes
        .iter()
        .map(|&share| u128::from(share))
        .sum();
    let allowed = u128::from(bounds.bytes_min)..=u128::from(bounds.bytes_max);
    if !allowed.contains(&bytes) {
        return Some(format!(
            "became {bytes} bytes a period; its bounds are {} to {}",
            bounds.bytes_min, bounds.bytes_max
        ));
    }
    let allowed = bounds.period_min_ns..=bounds.period_max_ns;
    (!allowed.contains(&after.period_ns)).then(|| {
        format!(
            "got periods of {}; its bounds are {} to {}",
            readable(after.period_ns),
            readable(bounds.period_min_ns),
            readable(bounds.period_max_ns)
        )
    })
}

/// The period that runs when it is asked for keeps its end, and the next one is the first.
fn not_next_period(before: &InForce, after: &InForce, asked_ns: u64) -> Option<String> {
    let since_ns = asked_ns.checked_sub(before.from_ns);
    let next_ns = since_ns.map(|since_ns| {
        let periods = since_ns / before.period_ns + 1;
        before
            .from_ns
            .saturating_add(periods.saturating_mul(before.period_ns))
    });
    (next_ns != Some(after.from_ns)).then(|| {
        format!(
            "was changed from {} on, asked for at {asked_ns} ns; expected: from the next period on",
            readable(after.from_ns)
        )
    })
}

fn pool_out_of_step(claim: &ReservationClaim, after: &InForce) -> Option<String> {
    let is_pooled = claim.lends || claim.borrows;
    (is_pooled && after.period_ns != claim.period_ns)
        .then(|| "got periods of another length, though it lends or borrows".to_owned())
}

fn total(run: &CaseRun, courses: &[ReservationCourse], time_ns: u64, findings: &mut Findings) {
    let Some(most) = run.case.claims.reservations_bytes_per_second else {
        return;
    };
    let together: u128 = courses
        .iter()
        .map(|it| it.at(time_ns).bytes_per_second())
        .sum();
    if together > u128::from(most) {
        let text = format!(
            "all reservations together are {together} bytes a second; the platform's total is {most}"
        );
        findings.breaches.push(Breach::at(time_ns, text));
    }
}
