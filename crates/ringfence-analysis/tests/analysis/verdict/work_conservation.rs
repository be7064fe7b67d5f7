//! Gangs that wait in vain.

use super::{fails_only, judge_gangs, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::OffReason::Sleeping;
use ringfence_record::event::*;

/// `low` starts late although nothing keeps it.
fn late_low(start_ns: u64) -> Vec<Event> {
    let mut events = good();
    replace(&mut events, on(4050, 1, 3), on(start_ns, 1, 3));
    events
}

#[test]
fn a_gang_that_waits_in_vain() {
    assert!(verdict(late_low(4100)).passed());
    let breaches = fails_only(late_low(4101), ClaimKind::WorkConservation);
    assert_eq!(seen(&breaches[0]), (4100, 1, Some(1), vec!["low/1"]));
    assert_eq!(breaches.len(), 1);
}

#[test]
fn a_gang_that_never_runs_waits_in_vain_when_its_partition_is_idle() {
    let mut events = good();
    for (core, thread) in [(0, 2), (1, 3)] {
        remove(&mut events, &on(4050, core, thread));
        remove(&mut events, &off(6800, core, thread, Sleeping));
    }
    let (outcome, breaches) = judge_gangs(events, ClaimKind::WorkConservation);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(
        seen(&breaches[0]),
        (4100, END_NS - 4100, None, vec!["low/0"])
    );
}

#[test]
fn a_gang_may_wait_when_the_share_is_used_up() {
    let limited = |limit_ns, window_ns, start_ns| {
        let mut events = late_low(start_ns);
        declare(&mut events, |case| {
            case.claims.share = Some(ShareClaim {
                limit_ns,
                window_ns,
            });
        });
        let verdict = verdict(events);
        let waits = verdict.claim(ClaimKind::WorkConservation).unwrap();
        waits.outcome == Outcome::Pass
    };
    // 3950 ns of work before, and 100 ns of hand-over.
    assert!(limited(4050, 10_000, 5000));
    assert!(!limited(4051, 10_000, 5000));
    // Held back for window less limit, and a hand-over.
    assert!(limited(3000, 3500, 4600));
    assert!(!limited(3000, 3500, 4601));
}
