//! Budgets that are lent and reservations that change, against a naive reading of what is
//! claimed.

use proptest::prelude::*;

use super::verdict;
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, ClaimResult, Outcome};
use ringfence_record::event::*;

const PERIOD_NS: u64 = 1000;
const PERIODS: usize = 5;
const END_NS: u64 = PERIOD_NS * PERIODS as u64;
const SHARE: u64 = 10;

/// What a core does in a period.
#[derive(Debug, Clone, Copy, Default)]
struct Deed {
    used: u64,
    lent: u64,
    borrowed: u64,
}

/// Cores 1 to 3: a VM that lends, one that borrows, one that does neither and can be changed.
fn claims() -> Vec<ReservationClaim> {
    let claim = |core: u16| ReservationClaim {
        vm: format!("vm{core}"),
        period_ns: PERIOD_NS,
        quantum_bytes: 0,
        shares: vec![CoreShare { core, bytes: SHARE }],
        lends: core == 1,
        borrows: core == 2,
        bounds: (core == 3).then_some(ReservationBounds {
            bytes_min: 5,
            bytes_max: 20,
            period_min_ns: 500,
            period_max_ns: 2000,
        }),
    };
    (1..=3).map(claim).collect()
}

fn section(claims: Vec<ReservationClaim>, total: Option<u64>, others: Vec<Event>) -> Vec<Event> {
    let mut case = case();
    (case.gangs, case.tasks) = (Vec::new(), Vec::new());
    case.classes_of_service = Vec::new();
    case.threads = vec![Thread {
        name: "vm2/0".into(),
        task: None,
    }];
    case.duration_ns = END_NS;
    case.claims = Claims {
        reservations: claims,
        reservations_bytes_per_second: total,
        ..Claims::default()
    };
    let mut events = vec![Event::CaseBegin(Box::new(case))];
    events.extend(others);
    events.push(Event::CaseEnd { time_ns: END_NS });
    events
}

fn judged(events: Vec<Event>) -> ClaimResult {
    let verdict = verdict(events);
    verdict.claim(ClaimKind::Reservations).unwrap().clone()
}

fn used(core: u16, time_ns: u64, bytes: u64) -> Event {
    Event::Counters {
        time_ns,
        core,
        counters: Counters {
            read_bytes: bytes,
            ..Counters::default()
        },
    }
}

/// `deeds[core - 1][period]` as events.
fn events_of(deeds: &[[Deed; PERIODS]; 3]) -> Vec<Event> {
    let mut events = Vec::new();
    for (core, of_core) in (1..).zip(deeds) {
        let mut total = 0;
        for (deed, period_begin_ns) in of_core.iter().zip((0..).step_by(PERIOD_NS as usize)) {
            let time_ns = period_begin_ns + 1;
            for (bytes, is_lent) in [(deed.lent, true), (deed.borrowed, false)] {
                match (bytes, is_lent) {
                    (0, _) => {}
                    (_, true) => events.push(Event::Lent {
                        time_ns,
                        core,
                        period_begin_ns,
                        bytes,
                    }),
                    (_, false) => events.push(Event::Borrowed {
                        time_ns,
                        core,
                        period_begin_ns,
                        bytes,
                    }),
                }
            }
            total += deed.used;
            events.push(used(core, period_begin_ns + PERIOD_NS, total));
        }
    }
    events
}

/// The claim, read word by word: without debt, as the quantum is nothing.
fn is_kept(deeds: &[[Deed; PERIODS]; 3]) -> bool {
    let [lender, borrower, neither] = deeds;
    (0..PERIODS).all(|period| {
        let (l, b, n) = (lender[period], borrower[period], neither[period]);
        l.lent <= SHARE
            && l.borrowed == 0
            && l.used + l.lent <= SHARE
            && b.lent == 0
            && b.borrowed <= l.lent
            && b.used <= SHARE + b.borrowed
            && n.lent == 0
            && n.borrowed == 0
            && n.used <= SHARE
            && l.used + b.used <= 2 * SHARE
    })
}

fn deeds() -> impl Strategy<Value = [[Deed; PERIODS]; 3]> {
    // Mostly what is kept, each of it sometimes by a byte too much.
    let slip = || prop_oneof![60 => Just(0_u64), 1 => Just(1_u64)];
    let period = (
        0..=SHARE,
        0..=SHARE,
        0..=SHARE,
        [slip(), slip(), slip(), slip(), slip(), slip()],
    );
    let period = period.prop_map(|(lent, less, borrows, slips)| {
        let borrowed = borrows.min(lent) + slips[0];
        let lender = Deed {
            used: (SHARE - lent).saturating_sub(less) + slips[1],
            lent,
            borrowed: slips[2],
        };
        let borrower = Deed {
            used: (SHARE + borrowed).saturating_sub(less) + slips[3],
            lent: slips[4],
            borrowed,
        };
        let neither = Deed {
            used: SHARE - less + slips[5],
            ..Deed::default()
        };
        [lender, borrower, neither]
    });
    prop::collection::vec(period, PERIODS).prop_map(|periods| {
        let mut deeds = [[Deed::default(); PERIODS]; 3];
        for (period, of_period) in periods.into_iter().enumerate() {
            for (core, deed) in of_period.into_iter().enumerate() {
                deeds[core][period] = deed;
            }
        }
        deeds
    })
}

/// A reservation in force, as a naive reader keeps it.
#[derive(Debug, Clone, Copy)]
struct Rule {
    from_ns: u64,
    period_ns: u64,
    bytes: u64,
}

proptest! {
    #[test]
    fn loans_are_judged_as_they_are_claimed(deeds in deeds()) {
        let result = judged(section(claims(), None, events_of(&deeds)));
        let expected = match is_kept(&deeds) {
            true => Outcome::Pass,
            false => Outcome::Fail,
        };
        prop_assert_eq!(result.outcome, expected, "{:?}", result.evidence);
    }

    /// Each use is what the reservation of its period allows, and then, once, a byte more.
    #[test]
    fn changes_count_from_their_period_on(
        asked in prop::collection::vec((1_u64..900, 500_u64..=2000, 5_u64..=20), 0..4),
        too_much in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut rule = Rule { from_ns: 0, period_ns: PERIOD_NS, bytes: SHARE };
        let mut events = Vec::new();
        let mut uses = Vec::new();
        let mut asked = asked.into_iter();
        let mut begin_ns = 0;
        while begin_ns < END_NS {
            let end_ns = (begin_ns + rule.period_ns).min(END_NS);
            uses.push((end_ns, rule.bytes));
            if let Some((after_ns, period_ns, bytes)) = asked.next() {
                let asked_ns = begin_ns + after_ns % rule.period_ns;
                rule = Rule { from_ns: begin_ns + rule.period_ns, period_ns, bytes };
                if rule.from_ns <= END_NS {
                    events.push(Event::ReservationChanged {
                        time_ns: rule.from_ns,
                        asked_ns,
                        reservation: 2,
                        period_ns,
                        shares_bytes: vec![bytes],
                    });
                }
            }
            begin_ns = end_ns;
        }
        if let Some(which) = too_much {
            let count = uses.len();
            uses[which.index(count)].1 += 1;
        }
        let mut total = 0;
        for (end_ns, bytes) in uses {
            total += bytes;
            events.push(used(3, end_ns, total));
        }
        for core in [1, 2] {
            events.extend((1..=PERIODS as u64).map(|n| used(core, n * PERIOD_NS, 0)));
        }
        let result = judged(section(claims(), None, events));
        let expected = match too_much {
            None => Outcome::Pass,
            Some(_) => Outcome::Fail,
        };
        prop_assert_eq!(result.outcome, expected, "{:?} {:?}", result.evidence, result.note);
    }
}

/// A change of VM 3 at 2000, and samples of all cores.
fn changed(asked_ns: u64, from_ns: u64, period_ns: u64, bytes: u64) -> Vec<Event> {
    let mut events = vec![Event::ReservationChanged {
        time_ns: from_ns,
        asked_ns,
        reservation: 2,
        period_ns,
        shares_bytes: vec![bytes],
    }];
    for core in 1..=3 {
        events.extend((1..=END_NS / 500).map(|n| used(core, n * 500, 0)));
    }
    events
}

#[test]
fn a_change_is_within_its_bounds_and_for_the_next_period() {
    let said = |asked_ns, from_ns, period_ns, bytes| {
        let result = judged(section(
            claims(),
            None,
            changed(asked_ns, from_ns, period_ns, bytes),
        ));
        result.evidence.first().map(|breach| breach.text.clone())
    };
    assert_eq!(said(1000, 2000, 500, 20), None);
    assert_eq!(said(1999, 2000, 500, 5), None);
    for ((asked_ns, from_ns, period_ns, bytes), text) in [
        ((999, 2000, 500, 20), "expected: from the next period on"),
        ((2000, 2000, 500, 20), "expected: from the next period on"),
        ((1000, 1500, 500, 20), "expected: from the next period on"),
        (
            (1000, 2000, 500, 21),
            "became 21 bytes a period; its bounds are 5 to 20",
        ),
        ((1000, 2000, 500, 4), "became 4 bytes a period"),
        ((1000, 2000, 499, 20), "got periods of 499 ns"),
        ((1000, 2000, 2001, 20), "got periods of"),
    ] {
        let said = said(asked_ns, from_ns, period_ns, bytes).expect(text);
        assert!(said.contains(text), "{said}");
    }
}

#[test]
fn nobody_changes_what_has_no_bounds_or_leaves_the_pool_s_periods() {
    let mut events = changed(1000, 2000, 500, 10);
    if let Event::ReservationChanged { reservation, .. } = &mut events[0] {
        *reservation = 0;
    }
    let said = |claims| {
        judged(section(claims, None, events.clone())).evidence[0]
            .text
            .clone()
    };
    assert!(said(claims()).contains("was changed, which nobody may"));
    let mut lender_too = claims();
    lender_too[0].bounds = lender_too[2].bounds;
    assert!(said(lender_too).contains("periods of another length"));
}

#[test]
fn all_together_stay_within_the_total() {
    // 10 bytes in 1000 ns three times are 30 MB/s; 20 in 500 ns for one of them 60 MB/s.
    let outcome = |total| {
        let events = changed(1000, 2000, 500, 20);
        judged(section(claims(), Some(total), events)).outcome
    };
    assert_eq!(outcome(60_000_000), Outcome::Pass);
    assert_eq!(outcome(59_999_999), Outcome::Fail);
}

#[test]
fn a_lender_has_its_whole_share_in_each_period() {
    let throttled_at = |bytes: u64| {
        let mut deeds = [[Deed::default(); PERIODS]; 3];
        deeds[0][1] = Deed {
            used: bytes,
            lent: 4,
            borrowed: 0,
        };
        deeds[0][2].used = SHARE;
        let mut events = events_of(&deeds);
        for time_ns in [1500, 2500] {
            events.push(Event::Throttled { time_ns, core: 1 });
            events.push(Event::Unthrottled {
                time_ns: time_ns + 500,
                core: 1,
                reason: UnthrottleReason::Refill,
            });
        }
        judged(section(claims(), None, events))
    };
    assert_eq!(throttled_at(6).outcome, Outcome::Pass);
    let early = throttled_at(5);
    assert_eq!(early.outcome, Outcome::Fail);
    assert!(
        early.evidence[0]
            .text
            .contains("throttled after 5 bytes in a period, of 6")
    );
}

#[test]
fn a_throttled_borrower_goes_on_with_a_loan_and_not_without() {
    let resumed = |borrowed| {
        let mut deeds = [[Deed::default(); PERIODS]; 3];
        deeds[0][0].lent = 4;
        deeds[1][0] = Deed {
            used: SHARE,
            lent: 0,
            borrowed: 0,
        };
        let mut events = events_of(&deeds);
        events.push(Event::Throttled {
            time_ns: 300,
            core: 2,
        });
        if borrowed {
            events.push(Event::Borrowed {
                time_ns: 400,
                core: 2,
                period_begin_ns: 0,
                bytes: 4,
            });
        }
        events.push(Event::Unthrottled {
            time_ns: 400,
            core: 2,
            reason: UnthrottleReason::Loan,
        });
        judged(section(claims(), None, events)).outcome
    };
    assert_eq!(resumed(true), Outcome::Pass);
    assert_eq!(resumed(false), Outcome::Fail);
}

#[test]
fn a_section_that_says_what_cannot_be_is_refused() {
    let refused = |claims: Vec<ReservationClaim>, events| {
        let events = in_order(section(claims, None, events));
        read(&events).expect_err("it cannot be").to_string()
    };
    let mut twice = changed(1000, 2000, 500, 10);
    twice.push(twice[0].clone());
    assert!(refused(claims(), twice).contains("changes twice at once"));
    assert!(refused(claims(), changed(1000, 2000, 0, 10)).contains("no period is 0"));
    let mut other_length = claims();
    other_length[1].period_ns = 500;
    assert!(refused(other_length, Vec::new()).contains("periods of another length"));
}
