//! Every task releases its jobs when they are due; those of a sporadic task never are.

use super::{Breach, Findings};
use crate::case::CaseRun;
use crate::duration::readable;

/// Judges that a task releases job `n` at `offset + n * period`, at most
/// `hand_over_ns` later, up to the end of the run.
pub(super) fn releases(run: &CaseRun) -> Findings {
    let mut findings = Findings::default();
    let tasks = run.case.tasks.iter().zip(&run.jobs);
    for (task, jobs) in tasks.filter(|(task, _)| !task.sporadic) {
        let due_ns = |number: u64| {
            let since_first_ns = number.saturating_mul(task.period_ns);
            task.offset_ns.saturating_add(since_first_ns)
        };
        if jobs.is_empty() && due_ns(0) >= run.end_ns {
            findings.missing.get_or_insert_with(|| {
                format!(
                    "no job of task '{}' was due before the run ended",
                    task.name
                )
            });
            continue;
        }
        findings.checked += jobs.len() as u64;
        for (number, job) in (0..).zip(jobs) {
            let due_ns = due_ns(number);
            let latest_ns = due_ns.saturating_add(run.case.claims.hand_over_ns);
            if !(due_ns..=latest_ns).contains(&job.released_ns) {
                findings.breaches.push(Breach {
                    time_ns: due_ns.min(job.released_ns),
                    duration_ns: due_ns.abs_diff(job.released_ns),
                    core: None,
                    threads: Vec::new(),
                    text: format!(
                        "job {number} of task '{}', due at {}, was released {} {}",
                        task.name,
                        readable(due_ns),
                        readable(due_ns.abs_diff(job.released_ns)),
                        if job.released_ns < due_ns {
                            "early"
                        } else {
                            "late"
                        }
                    ),
                });
            }
        }
        let next_ns = due_ns(jobs.len() as u64);
        if next_ns < run.end_ns {
            let missing = (run.end_ns - next_ns).div_ceil(task.period_ns);
            findings.breaches.push(Breach {
                time_ns: next_ns,
                duration_ns: run.end_ns - next_ns,
                core: None,
                threads: Vec::new(),
                text: format!(
                    "job {} of task '{}' was due at {} and was not released; the task released {} of {} jobs",
                    jobs.len(),
                    task.name,
                    readable(next_ns),
                    jobs.len(),
                    jobs.len() as u64 + missing
                ),
            });
        }
    }
    findings
}
