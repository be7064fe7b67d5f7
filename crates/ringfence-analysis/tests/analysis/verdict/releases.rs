//! Jobs that are released late, early or not at all.

use super::{fails_only, other_released_at, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::*;

#[test]
fn jobs_that_are_released_late_early_or_not_at_all() {
    assert!(verdict(other_released_at(&[5000, 10_000])).passed());
    assert!(verdict(other_released_at(&[5100, 10_100])).passed());
    let breaches = fails_only(other_released_at(&[5101, 10_000]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (5000, 101, None, vec![]));
    let breaches = fails_only(other_released_at(&[5000, 9999]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (9999, 1, None, vec![]));
    let breaches = fails_only(other_released_at(&[]), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (5000, END_NS - 5000, None, vec![]));
    assert!(
        breaches[0].text.contains("released 1 of 3 jobs"),
        "{breaches:?}"
    );
}

#[test]
fn a_first_job_that_is_released_late_or_early() {
    // All first jobs are released at 0.
    let due_at = |offset_ns| {
        let mut events = good();
        declare(&mut events, |case| {
            case.tasks[usize::from(LOW)].offset_ns = offset_ns;
        });
        events
    };
    let breaches = fails_only(due_at(1), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (0, 1, None, vec![]));

    let released_at = |time_ns| {
        let mut events = good();
        let (task, job) = (OTHER, 0);
        let at = |time_ns| Event::JobReleased { time_ns, task, job };
        replace(&mut events, at(0), at(time_ns));
        replace(&mut events, on(50, 2, 4), on(time_ns, 2, 4));
        let started = |time_ns| Event::JobStarted { time_ns, task, job };
        replace(&mut events, started(50), started(time_ns));
        let woke = |time_ns| Event::ThreadWoke { time_ns, thread: 4 };
        replace(&mut events, woke(0), woke(time_ns));
        events
    };
    assert!(verdict(released_at(100)).passed());
    let breaches = fails_only(released_at(101), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (0, 101, None, vec![]));
    assert_eq!(
        breaches[0].text,
        "job 0 of task 'other', due at 0 ns, was released 101 ns late"
    );
}

/// `good` without any job of `low`, whose first one is due at `offset_ns`.
fn without_jobs_of_low(offset_ns: u64) -> Vec<Event> {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(LOW)].offset_ns = offset_ns;
    });
    events.retain(|event| {
        !matches!(
            event,
            Event::JobReleased { task: LOW, .. }
                | Event::JobStarted { task: LOW, .. }
                | Event::JobFinished { task: LOW, .. }
        )
    });
    events
}

#[test]
fn a_first_job_that_is_never_released() {
    let breaches = fails_only(without_jobs_of_low(END_NS - 1), ClaimKind::Releases);
    assert_eq!(seen(&breaches[0]), (END_NS - 1, 1, None, vec![]));
    assert!(
        breaches[0].text.contains("released 0 of 1 jobs"),
        "{breaches:?}"
    );
}

#[test]
fn a_task_whose_first_job_is_due_after_the_run_is_not_judged() {
    let verdict = verdict(without_jobs_of_low(END_NS));
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Releases).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    assert!(claim.note.as_deref().unwrap().contains("'low'"));
}
