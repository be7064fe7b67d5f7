//! Lower gangs beside higher ones, and gangs outside their partitions.

use super::{fails_only, judge_gangs, low_first, seen};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::OffReason::{Preempted, Sleeping};
use ringfence_record::event::*;

#[test]
fn a_lower_gang_beside_a_higher_one() {
    let mut events = good();
    replace(
        &mut events,
        off(4000, 1, 1, Sleeping),
        off(3000, 1, 1, Sleeping),
    );
    replace(&mut events, on(4050, 1, 3), on(3020, 1, 3));
    let breaches = fails_only(events, ClaimKind::OneGangAtATime);
    assert_eq!(
        seen(&breaches[0]),
        (3020, 980, Some(1), vec!["low/1", "high/0"])
    );
    assert!(breaches[0].text.contains("runs beside"));
    // Core 1 is still lower when `high/0` has been runnable for long.
    assert_eq!(
        seen(&breaches[1]),
        (3020, 980, Some(1), vec!["low/1", "high/0"])
    );
    assert!(
        breaches[1]
            .text
            .contains("starts more than 100 ns after a higher gang became")
    );
}

#[test]
fn a_lower_gang_that_stays_longer_than_a_hand_over() {
    let (outcome, _) = judge_gangs(low_first(20, 100), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Pass);
    let (outcome, breaches) = judge_gangs(low_first(20, 101), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (100, 1, Some(0), vec!["low/0", "high/0"])
    );
    assert_eq!(breaches.len(), 2);
    assert!(breaches[0].text.contains("still runs"));
}

#[test]
fn a_lower_gang_that_starts_while_a_higher_one_is_runnable() {
    let (outcome, breaches) = judge_gangs(low_first(150, 160), ClaimKind::OneGangAtATime);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (150, 10, Some(0), vec!["low/0", "high/0"])
    );
    assert!(
        breaches[0]
            .text
            .contains("starts more than 100 ns after a higher gang became")
    );
}

/// `low/0` waits from 0 on.
#[test]
fn a_lower_gang_has_an_instant_after_long_waiting() {
    let outcome = |instant_after_ns, from_ns, to_ns| {
        let mut events = low_first(from_ns, to_ns);
        declare(&mut events, |case| {
            case.claims.instant_after_ns = instant_after_ns
        });
        judge_gangs(events, ClaimKind::OneGangAtATime)
    };
    // Waiting is seen to a hand-over of 100 ns.
    assert_eq!(outcome(Some(250), 150, 250).0, Outcome::Pass);
    assert_eq!(outcome(None, 150, 250).0, Outcome::Fail);
    assert_eq!(outcome(Some(251), 150, 250).0, Outcome::Fail);
    let (longer, breaches) = outcome(Some(250), 150, 251);
    assert_eq!(longer, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (250, 1, Some(0), vec!["low/0", "high/0"])
    );
    assert!(
        breaches[0]
            .text
            .contains("still runs after an instant of 100 ns")
    );
}

#[test]
fn a_gang_outside_its_partition() {
    let mut events = good();
    replace(&mut events, on(50, 2, 4), on(50, 0, 4));
    replace(
        &mut events,
        off(5000, 2, 4, Sleeping),
        off(60, 0, 4, Preempted),
    );
    events.extend([on(60, 2, 4), off(5000, 2, 4, Sleeping)]);
    replace(&mut events, on(50, 0, 0), on(60, 0, 0));
    events.sort_by_key(|event| matches!(event, Event::ThreadOn { .. }));
    let breaches = fails_only(in_order(events), ClaimKind::OneGangAtATime);
    assert_eq!(seen(&breaches[0]), (50, 10, Some(0), vec!["other/0"]));
}
