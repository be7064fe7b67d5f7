//! Every job finishes by its deadline, and the finish is true.

use super::spans::union;
use super::{Breach, Findings};
use crate::case::{CaseRun, Interval, Job, JobEnd};
use crate::duration::readable;

/// Judges every job whose deadline lies in the run, and that every job that is
/// said to have finished has worked before and not after. Gives the number of
/// jobs that were due, and of those that missed their deadline.
pub(super) fn deadlines(run: &CaseRun) -> (Findings, u64, u64) {
    let mut findings = Findings::default();
    let mut false_finishes = Vec::new();
    let says_who_ran = run.says_who_ran();
    for (index, (task, jobs)) in (0..).zip(run.case.tasks.iter().zip(&run.jobs)) {
        let runs = TaskRuns::of(run, index);
        for (number, job) in jobs.iter().enumerate() {
            let next = jobs[number + 1..].iter().find(|next| !next.was_dropped());
            let false_finish = runs.contradict(job, next, run.end_ns);
            let false_finish = false_finish.filter(|_| says_who_ran);
            false_finishes.extend(false_finish.map(|(time_ns, what)| {
                let text = format!(
                    "job {number} of task '{}' is said to have finished, but {what}",
                    task.name
                );
                Breach::at(time_ns, text)
            }));
            let deadline_ns = job.deadline_ns(task);
            if deadline_ns > run.end_ns {
                continue;
            }
            findings.checked += 1;
            if !job.missed(task, run.end_ns) {
                continue;
            }
            let (duration_ns, what) = match job.end {
                JobEnd::Finished(finished_ns) => {
                    let late_ns = finished_ns - deadline_ns;
                    (late_ns, format!("finished {} late", readable(late_ns)))
                }
                JobEnd::Dropped(_) => (0, "was dropped".into()),
                JobEnd::Unfinished => (
                    run.end_ns - deadline_ns,
                    "was not finished when the run ended".into(),
                ),
            };
            findings.breaches.push(Breach {
                time_ns: deadline_ns,
                duration_ns,
                core: None,
                threads: Vec::new(),
                text: format!(
                    "job {number} of task '{}', released at {} with a deadline of {}, {what}",
                    task.name,
                    readable(job.released_ns),
                    readable(task.deadline_ns)
                ),
            });
        }
    }
    if findings.checked == 0 && !run.case.tasks.is_empty() {
        findings.missing = Some("no job was due before the run ended".into());
    }
    if !says_who_ran {
        let note =
            "finishes are what programs say of them, as the record does not say who ran where";
        findings.note = Some(note.into());
    }
    let (jobs, misses) = (findings.checked, findings.breaches.len() as u64);
    findings.breaches.extend(false_finishes);
    (findings, jobs, misses)
}

/// When any thread of a task runs.
struct TaskRuns {
    /// Disjoint, in the order of time.
    busy: Vec<Interval>,
    /// The same but for times on a core that may be no work: where gangs are stopped by freezing
    /// them, which `overlap_ns` tells, a thread that sleeps comes on a core to be frozen and
    /// again to go on sleeping, each time for no longer than a hand-over.
    at_work: Vec<Interval>,
    /// Instants at which a thread came and left at once, ascending.
    instants_ns: Vec<u64>,
}

impl TaskRuns {
    fn of(run: &CaseRun, task: u16) -> Self {
        let threads = run.threads_of_task(task);
        let occupations = threads.flat_map(|thread| &run.threads[usize::from(thread)].occupations);
        let claims = &run.case.claims;
        let to_be_frozen_ns = claims.overlap_ns.map_or(0, |_| claims.hand_over_ns);
        let (mut busy, mut at_work) = (Vec::new(), Vec::new());
        let mut instants_ns = Vec::new();
        for on in occupations {
            if on.from_ns == on.to_ns {
                instants_ns.push(on.from_ns);
            }
            let on = Interval {
                from_ns: on.from_ns,
                to_ns: on.to_ns,
            };
            busy.push(on);
            if on.to_ns - on.from_ns > to_be_frozen_ns {
                at_work.push(on);
            }
        }
        instants_ns.sort_unstable();
        Self {
            busy: union(busy),
            at_work: union(at_work),
            instants_ns,
        }
    }

    /// Why the finish of `job` cannot be true, and when: no thread of the task
    /// ran for it, or one goes on before the `next` job begins.
    fn contradict(&self, job: &Job, next: Option<&Job>, end_ns: u64) -> Option<(u64, &str)> {
        let (Some(started_ns), JobEnd::Finished(finished_ns)) = (job.started_ns, job.end) else {
            return None;
        };
        let instant = self.instants_ns.partition_point(|at| *at < started_ns);
        let at_once = self
            .instants_ns
            .get(instant)
            .is_some_and(|at| *at <= finished_ns);
        if !at_once && next_ns(&self.busy, started_ns, finished_ns).is_none() {
            return Some((
                finished_ns,
                "no thread of the task ran between its start and its finish",
            ));
        }
        let limit_ns = next.and_then(|next| next.started_ns).unwrap_or(end_ns);
        let goes_on_ns = next_ns(&self.at_work, finished_ns, limit_ns)?;
        Some((
            goes_on_ns,
            "a thread of the task runs after that and before the next job starts",
        ))
    }
}

/// When the next of disjoint intervals, which are in order, has a part of `[from_ns, to_ns)`.
fn next_ns(intervals: &[Interval], from_ns: u64, to_ns: u64) -> Option<u64> {
    let next = intervals.partition_point(|interval| interval.to_ns <= from_ns);
    let begin_ns = intervals.get(next)?.from_ns.max(from_ns);
    (begin_ns < to_ns).then_some(begin_ns)
}
