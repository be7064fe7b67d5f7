//! The bytes of a VM's cores against their shares, and cores that stand still.

use super::{seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{Breach, ClaimKind, Outcome};
use ringfence_record::event::*;

const SHARE_BYTES: u64 = 1000;
const QUANTUM_BYTES: u64 = 64;
const PERIODS: u64 = 6;

/// A VM on core 3 that moves `uses` in its periods, reads and writes together, beside
/// what else happens.
fn moves(uses: &[u64], others: Vec<Event>) -> Vec<Event> {
    let mut case = case();
    (case.gangs, case.tasks) = (Vec::new(), Vec::new());
    case.classes_of_service = Vec::new();
    case.threads = vec![Thread {
        name: "hog/0".into(),
        task: None,
    }];
    case.duration_ns = PERIODS * 1000;
    case.claims = Claims {
        hand_over_ns: case.claims.hand_over_ns,
        reservations: vec![ReservationClaim {
            vm: "rest".into(),
            period_ns: 1000,
            quantum_bytes: QUANTUM_BYTES,
            shares: vec![CoreShare {
                core: 3,
                bytes: SHARE_BYTES,
            }],
            lends: false,
            borrows: false,
            bounds: None,
        }],
        ..Claims::default()
    };
    let mut events = vec![Event::CaseBegin(Box::new(case))];
    let mut moved = 0;
    for (period, used) in (1..).zip(uses) {
        moved += used;
        events.push(sample(period * 1000, moved / 3, moved - moved / 3));
    }
    events.extend(others);
    events.push(Event::CaseEnd {
        time_ns: PERIODS * 1000,
    });
    events
}

fn judged(events: Vec<Event>) -> (Outcome, u64, Vec<Breach>, Option<String>) {
    let verdict = verdict(events);
    assert!(verdict.claims_isolation);
    let claim = verdict.claim(ClaimKind::Reservations).unwrap().clone();
    (claim.outcome, claim.checked, claim.evidence, claim.note)
}

#[test]
fn a_core_may_be_one_quantum_beyond_its_shares_and_no_byte_more() {
    let within = [1064, 1000, 900, 1036, 1028, 0];
    let (outcome, checked, breaches, note) = judged(moves(&within, Vec::new()));
    assert_eq!((outcome, checked, note), (Outcome::Pass, PERIODS, None));
    assert!(breaches.is_empty());

    let (outcome, _, breaches, _) = judged(moves(&[1000, 1065, 0, 0, 0, 0], Vec::new()));
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(seen(&breaches[0]), (1000, 1000, Some(3), vec![]));
    assert!(breaches[0].text.contains("65 bytes beyond"), "{breaches:?}");
    assert_eq!(breaches.len(), 1);
}

#[test]
fn a_quantum_in_each_period_is_too_much() {
    // A core pays back what it used beyond its share before it may do so again.
    let (outcome, _, breaches, _) = judged(moves(&[1040, 1040, 1000, 936, 1000, 0], Vec::new()));
    assert_eq!(outcome, Outcome::Fail);
    let when: Vec<u64> = breaches.iter().map(|breach| breach.time_ns).collect();
    assert_eq!(when, [1000, 2000]);
}

#[test]
fn periods_without_samples_at_their_ends_are_not_judged() {
    let mut events = moves(&[1000; PERIODS as usize], Vec::new());
    events.retain(|event| !matches!(event, Event::Counters { time_ns: 3000, .. }));
    let (outcome, checked, _, note) = judged(events);
    assert_eq!((outcome, checked), (Outcome::NotJudged, PERIODS - 2));
    assert!(note.unwrap().starts_with("2 periods of cores"));
}

#[test]
fn a_throttled_core_runs_nothing_until_a_period_begins() {
    let stays_until = |off_ns, refilled_ns| {
        vec![
            on(0, 3, 0),
            throttled(500),
            off(off_ns, 3, 0, OffReason::Throttled),
            unthrottled(refilled_ns, UnthrottleReason::Refill),
        ]
    };
    let uses = [1000; PERIODS as usize];
    let (outcome, checked, ..) = judged(moves(&uses, stays_until(600, 1000)));
    assert_eq!((outcome, checked), (Outcome::Pass, PERIODS + 1));

    // A hand-over takes 100.
    let (outcome, _, breaches, _) = judged(moves(&uses, stays_until(601, 1000)));
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(seen(&breaches[0]), (600, 1, Some(3), vec!["hog/0"]));

    let (outcome, _, breaches, _) = judged(moves(&uses, stays_until(600, 999)));
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(seen(&breaches[0]), (999, 0, Some(3), vec![]));
}
