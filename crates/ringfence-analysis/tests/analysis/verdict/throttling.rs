//! Throttled cores that do not stand still, or not for long enough.

use super::{fails_only, other_released_at, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::ClaimKind;
use ringfence_record::event::OffReason::{Preempted, Sleeping, Throttled};
use ringfence_record::event::*;

#[test]
fn a_best_effort_thread_on_a_throttled_core() {
    let stays_until = |time_ns| {
        let mut events = good();
        let old = off(1850, 3, HOG, Throttled);
        replace(&mut events, old, off(time_ns, 3, HOG, Throttled));
        events
    };
    assert!(verdict(stays_until(1900)).passed());
    let breaches = fails_only(stays_until(1901), ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (1900, 1, Some(3), vec!["hog/0"]));

    let mut starts = good();
    starts.extend([on(1950, 3, HOG), off(1960, 3, HOG, Preempted)]);
    let breaches = fails_only(starts, ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (1950, 10, Some(3), vec!["hog/0"]));
}

#[test]
fn the_end_of_another_partitions_gang_does_not_end_throttling() {
    let mut events = good();
    let (refill, no_gang) = (UnthrottleReason::Refill, UnthrottleReason::NoGang);
    replace(
        &mut events,
        unthrottled(5000, refill),
        unthrottled(5000, no_gang),
    );
    let breaches = fails_only(events, ClaimKind::Throttling);
    assert_eq!(seen(&breaches[0]), (5000, 0, Some(3), vec!["low/0"]));
    assert!(
        breaches[0]
            .text
            .contains("because no gang runs, but 'low/0' does")
    );
}

#[test]
fn a_gang_that_starts_when_throttling_ends_does_no_harm() {
    let mut events = other_released_at(&[6800]);
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 6800;
    });
    events.extend([on(6800, 2, 4), off(6890, 2, 4, Sleeping)]);
    let (task, job) = (OTHER, 1);
    let (started_ns, finished_ns) = (6800, 6890);
    events.extend([
        Event::JobStarted {
            time_ns: started_ns,
            task,
            job,
        },
        Event::JobFinished {
            time_ns: finished_ns,
            task,
            job,
        },
    ]);
    assert!(verdict(events).passed());
}

#[test]
fn a_refill_inside_a_period_does_not_end_throttling() {
    for (time_ns, early_ns) in [(1999, 1), (2001, 999)] {
        let refill = UnthrottleReason::Refill;
        let mut events = good();
        replace(
            &mut events,
            unthrottled(2000, refill),
            unthrottled(time_ns, refill),
        );
        replace(&mut events, on(2000, 3, HOG), on(time_ns, 3, HOG));
        let breaches = fails_only(events, ClaimKind::Throttling);
        assert_eq!(seen(&breaches[0]), (time_ns, early_ns, Some(3), vec![]));
    }
}
