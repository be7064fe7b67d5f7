//! Real-time work beyond its share.

use super::{judge_gangs, low_first, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::*;

#[test]
fn more_real_time_work_than_the_share() {
    let with = |limit_ns, window_ns| {
        let mut events = good();
        declare(&mut events, |case| {
            case.claims.share = Some(ShareClaim {
                limit_ns,
                window_ns,
            });
        });
        verdict(events)
    };
    let share = |limit_ns, window_ns| {
        let verdict = with(limit_ns, window_ns);
        let claim = verdict.claim(ClaimKind::Share).unwrap();
        (claim.outcome, claim.evidence.clone())
    };
    // The left partition works for 6700 ns, the right one for 4950 ns.
    assert_eq!(share(6600, 10_000).0, Outcome::Pass);
    let (outcome, breaches) = share(6599, 10_000);
    assert_eq!(outcome, Outcome::Fail);
    assert_eq!(breaches.len(), 1);
    assert_eq!(seen(&breaches[0]), (0, 10_000, None, vec![]));
    assert!(breaches[0].text.contains("partition 'left'"));
    // From 2000 to 4000 both partitions work all the time.
    assert_eq!(share(1900, 2000).0, Outcome::Pass);
    let (outcome, breaches) = share(1899, 2000);
    assert_eq!(outcome, Outcome::Fail);
    let at: Vec<u64> = breaches.iter().map(|breach| breach.time_ns).collect();
    assert_eq!(at, [2000, 2000]);
}

#[test]
fn instants_come_on_top_of_the_share() {
    let least_ns = |instant_after_ns| {
        let passes = |limit_ns: &u64| {
            let mut events = low_first(150, 400);
            declare(&mut events, |case| {
                case.claims.instant_after_ns = instant_after_ns;
                case.claims.share = Some(ShareClaim {
                    limit_ns: *limit_ns,
                    window_ns: 10_000,
                });
            });
            judge_gangs(events, ClaimKind::Share).0 == Outcome::Pass
        };
        (1..10_000).find(passes).unwrap()
    };
    // The low threads come at 150 ns, the high ones at 400 ns and the low ones again long after
    // that, each time two at once, and the first 100 ns are an instant.
    assert_eq!(least_ns(Some(250)), least_ns(None) - 300);
    assert_eq!(least_ns(Some(251)), least_ns(None) - 200);
    assert_eq!(least_ns(Some(5000)), least_ns(None));
}
