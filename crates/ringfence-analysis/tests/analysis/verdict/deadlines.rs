//! Jobs that finish late, never, or not when the record says so.

use super::{fails_only, other_released_at, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{Breach, ClaimKind, Outcome};
use ringfence_record::event::OffReason::Sleeping;
use ringfence_record::event::*;

fn finish_low_at(time_ns: u64) -> Vec<Event> {
    let mut events = good();
    let (task, job) = (LOW, 0);
    let old = Event::JobFinished {
        time_ns: 6800,
        task,
        job,
    };
    replace(&mut events, old, Event::JobFinished { time_ns, task, job });
    events
}

#[test]
fn a_missed_deadline() {
    assert!(verdict(finish_low_at(10_000)).passed());
    let breaches = fails_only(finish_low_at(10_001), ClaimKind::Deadlines);
    assert_eq!((breaches[0].time_ns, breaches[0].duration_ns), (10_000, 1));
    assert!(breaches[0].text.contains("job 0 of task 'low'"));

    let mut unfinished = good();
    unfinished.retain(|event| !matches!(event, Event::JobFinished { task: LOW, .. }));
    fails_only(unfinished, ClaimKind::Deadlines);

    let mut dropped = good();
    dropped.retain(|event| {
        !matches!(
            event,
            Event::JobFinished { task: LOW, .. } | Event::JobStarted { task: LOW, .. }
        )
    });
    dropped.push(Event::JobDropped {
        time_ns: 1,
        task: LOW,
        job: 0,
    });
    fails_only(dropped, ClaimKind::Deadlines);
}

#[test]
fn a_job_whose_deadline_is_after_the_run_is_not_judged() {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(LOW)].period_ns = END_NS - 1;
    });
    events.push(Event::JobReleased {
        time_ns: END_NS - 1,
        task: LOW,
        job: 1,
    });
    let verdict = verdict(events);
    assert!(verdict.passed());
    assert_eq!(verdict.jobs, 3);
}

#[test]
fn a_deadline_at_the_end_of_the_run_counts() {
    let mut events = good();
    events.push(Event::JobReleased {
        time_ns: END_NS - 10_000,
        task: LOW,
        job: 1,
    });
    let verdict = verdict(events);
    assert_eq!((verdict.jobs, verdict.misses), (4, 1));
}

#[test]
fn a_case_in_which_no_job_is_due_is_not_judged() {
    let mut events = good();
    declare(&mut events, |case| {
        for task in &mut case.tasks {
            task.deadline_ns = END_NS + 1;
        }
    });
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Deadlines).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
}

#[test]
fn a_finish_without_work() {
    // `other/0` never runs, although its job is said to start and to finish.
    let mut events = good();
    remove(&mut events, &on(50, 2, 4));
    remove(&mut events, &off(5000, 2, 4, Sleeping));
    events.push(off(0, 2, 4, Sleeping));
    events.push(on(0, 2, 4));
    events.sort_by_key(|event| matches!(event, Event::ThreadOff { .. }));
    let breaches = fails_only(events, ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (5000, 0, None, vec![]));
    assert!(breaches[0].text.contains("no thread of the task ran"));
}

#[test]
fn a_thread_that_goes_on_after_the_finish() {
    let breaches = fails_only(finish_low_at(6799), ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (6799, 0, None, vec![]));
    assert!(breaches[0].text.contains("runs after that"));
    // It is no miss: how many there are is what the jobs say.
    assert_eq!(verdict(finish_low_at(6799)).misses, 0);
}

/// `other/0` has finished at 5000 and sleeps; later it is on its core for `on_ns`.
fn on_again_for(on_ns: u64, overlap_ns: Option<u64>) -> Vec<Event> {
    let mut events = good();
    declare(&mut events, |case| {
        case.claims.overlap_ns = overlap_ns;
        case.claims.hand_over_ns = 100;
    });
    events.extend([on(9000, 2, 4), off(9000 + on_ns, 2, 4, Sleeping)]);
    events.sort_by_key(Event::time_ns);
    events
}

#[test]
fn a_thread_may_come_to_be_frozen_where_gangs_are_stopped_so_but_not_for_longer_than_a_hand_over() {
    let false_finishes = |events| {
        let verdict = verdict(events);
        let evidence = &verdict.claim(ClaimKind::Deadlines).unwrap().evidence;
        let is_false = |breach: &&Breach| breach.text.contains("runs after that");
        evidence.iter().filter(is_false).count()
    };
    assert_eq!(false_finishes(on_again_for(100, Some(50))), 0);
    assert_eq!(false_finishes(on_again_for(101, Some(50))), 1);
    assert_eq!(false_finishes(on_again_for(1, None)), 1);
}

/// `other` is released at 0 and 2500; the first job finishes at `time_ns`, the
/// second one starts at `next_ns`, and `other/0` never leaves its core.
fn queued(time_ns: u64, next_ns: u64) -> Vec<Event> {
    let mut events = other_released_at(&[2500, 5000, 7500, 10_000]);
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 2500;
    });
    let task = OTHER;
    let finished = |time_ns, job| Event::JobFinished { time_ns, task, job };
    replace(&mut events, finished(5000, 0), finished(time_ns, 0));
    let started = Event::JobStarted {
        time_ns: next_ns,
        task,
        job: 1,
    };
    events.extend([started, finished(5000, 1)]);
    events
}

#[test]
fn the_next_job_may_start_when_one_finishes() {
    assert!(verdict(queued(3000, 3000)).passed());
    let breaches = fails_only(queued(3000, 3001), ClaimKind::Deadlines);
    assert_eq!(seen(&breaches[0]), (3000, 0, None, vec![]));
}
