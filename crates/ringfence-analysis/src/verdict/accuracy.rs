//! Errors and other figures stay within their limits.

use ringfence_record::accuracy::Quantity;

use super::{Breach, Findings};
use crate::accuracy::{self, TrajectoryStatistics};
use crate::case::CaseRun;
use crate::quantity::exact;

/// Whether the case sets any limit.
pub(super) fn is_claimed(run: &CaseRun) -> bool {
    let accuracy = &run.case.accuracy;
    let trajectory = accuracy.trajectories.iter();
    trajectory.clone().any(|one| one.median_limit_um.is_some())
        || accuracy.measures.iter().any(|one| one.limit.is_some())
}

/// Judges the median error of every trajectory, and every measured value, that has a limit.
pub(super) fn accuracy(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    for trajectory in accuracy::trajectories(run) {
        if let Some(limit_um) = trajectory.median_limit_um {
            judge_trajectory(&trajectory, limit_um, run.end_ns, &mut findings);
        }
    }
    for (measure, measured) in run.case.accuracy.measures.iter().zip(&run.measures) {
        let Some(limit) = measure.limit else {
            continue;
        };
        if measured.is_empty() {
            let missing = || format!("no value of '{}' was measured", measure.name);
            findings.missing.get_or_insert_with(missing);
        }
        findings.checked += measured.len() as u64;
        let above = measured.iter().filter(|one| one.value > limit);
        findings.breaches.extend(above.map(|one| {
            let text = format!(
                "{}: {}, at most {} allowed",
                measure.name,
                exact(measure.quantity, one.value),
                exact(measure.quantity, limit)
            );
            Breach::at(one.time_ns, text)
        }));
    }
    findings
}

fn judge_trajectory(
    trajectory: &TrajectoryStatistics,
    limit_um: u64,
    end_ns: u64,
    findings: &mut Findings,
) {
    let name = &trajectory.trajectory;
    let Some(error_um) = &trajectory.error_um else {
        let missing =
            || format!("too few positions of trajectory '{name}' can be compared with true ones");
        findings.missing.get_or_insert_with(missing);
        return;
    };
    findings.checked += 1;
    if error_um.median.cast_unsigned() > limit_um {
        let text = format!(
            "{name}: median error {}, at most {} allowed",
            exact(Quantity::Length, error_um.median),
            exact(
                Quantity::Length,
                i64::try_from(limit_um).unwrap_or(i64::MAX)
            )
        );
        findings.breaches.push(Breach::at(end_ns, text));
    }
}
