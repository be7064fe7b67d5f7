//! Every rule of the verdict, kept and broken: one file a claim.

mod budgets;
mod complete_record;
mod deadlines;
mod lending;
mod one_gang_at_a_time;
mod releases;
mod reservations;
mod share;
mod throttling;
mod who_ran;
mod work_conservation;

use crate::common::*;
use ringfence_analysis::verdict::{Breach, ClaimKind, ClaimResult, Outcome, Verdict, judge};
use ringfence_record::event::OffReason::{Preempted, Sleeping, Throttled};
use ringfence_record::event::*;

fn verdict(events: Vec<Event>) -> Verdict {
    judge(&read(&in_order(events)).expect("the section is well-formed"))
}

/// The verdict fails, for this claim alone; gives its breaches.
fn fails_only(events: Vec<Event>, kind: ClaimKind) -> Vec<Breach> {
    let verdict = verdict(events);
    assert!(!verdict.passed());
    for claim in &verdict.claims {
        let expected = match claim.kind {
            broken if broken == kind => Outcome::Fail,
            // Claimed by cases of their own.
            ClaimKind::Reservations | ClaimKind::Accuracy => Outcome::NotClaimed,
            _ => Outcome::Pass,
        };
        assert_eq!(claim.outcome, expected, "{claim:#?}");
    }
    let claim = verdict.claim(kind).unwrap();
    assert_eq!(claim.breaches, claim.evidence.len() as u64);
    for breach in &claim.evidence {
        assert!(!has_long_nanoseconds(&breach.text), "{}", breach.text);
    }
    claim.evidence.clone()
}

/// Whether a text has nanoseconds that would read better as another unit.
fn has_long_nanoseconds(text: &str) -> bool {
    let words: Vec<&str> = text.split([' ', ',', ';']).collect();
    let is_long = |pair: &[&str]| pair[1] == "ns" && pair[0].len() > 3;
    words.windows(2).any(is_long)
}

/// Where and when a breach was seen, and the threads.
fn seen(breach: &Breach) -> (u64, u64, Option<u16>, Vec<&str>) {
    let threads = breach.threads.iter().map(String::as_str).collect();
    (breach.time_ns, breach.duration_ns, breach.core, threads)
}

/// `low` runs first although `high` is runnable, from `start_ns` to `end_ns`.
fn low_first(start_ns: u64, end_ns: u64) -> Vec<Event> {
    let mut events = good();
    for (core, high, low) in [(0, 0, 2), (1, 1, 3)] {
        replace(&mut events, on(50, core, high), on(end_ns, core, high));
        events.push(on(start_ns, core, low));
        events.push(off(end_ns, core, low, Preempted));
    }
    // On a core, leave before the next one comes.
    events.sort_by_key(|event| matches!(event, Event::ThreadOn { .. }));
    in_order(events)
}

fn judge_gangs(events: Vec<Event>, kind: ClaimKind) -> (Outcome, Vec<Breach>) {
    let events: Vec<Event> = events
        .into_iter()
        .filter(|event| {
            matches!(
                event,
                Event::CaseBegin(_)
                    | Event::ThreadOn { .. }
                    | Event::ThreadOff { .. }
                    | Event::ThreadWoke { .. }
                    | Event::CaseEnd { .. }
            )
        })
        .collect();
    let verdict = verdict(events);
    let claim = verdict.claim(kind).unwrap();
    (claim.outcome, claim.evidence.clone())
}

/// `other` with a period of 5000 and jobs at 0 and the given times.
fn other_released_at(times_ns: &[u64]) -> Vec<Event> {
    let mut events = good();
    declare(&mut events, |case| {
        case.tasks[usize::from(OTHER)].period_ns = 5000;
    });
    events.extend((1..).zip(times_ns).map(|(job, &time_ns)| {
        let task = OTHER;
        Event::JobReleased { time_ns, task, job }
    }));
    events
}

#[test]
fn a_good_record_passes_and_every_rule_looked_at_something() {
    let verdict = verdict(good());
    assert!(verdict.passed(), "{verdict:#?}");
    assert!(verdict.claims_isolation);
    let others = [ClaimKind::Reservations, ClaimKind::Accuracy];
    let looked = |claim: &ClaimResult| claim.checked > 0 || others.contains(&claim.kind);
    assert!(verdict.claims.iter().all(looked));
    assert_eq!((verdict.jobs, verdict.misses), (3, 0));
}

#[test]
fn what_the_enforcer_says_about_gangs_does_not_matter() {
    let mut events = good();
    events.retain(|event| !matches!(event, Event::GangActive { .. }));
    events.push(Event::GangActive {
        time_ns: 1,
        partition: 0,
        priority: Some(10),
    });
    assert_eq!(verdict(events), verdict(good()));
}

#[test]
fn without_claims_a_breach_is_an_observation_but_deadlines_count() {
    let mut events = low_first(20, 3000);
    let old = off(1850, 3, HOG, Throttled);
    replace(&mut events, old, off(1950, 3, HOG, Throttled));
    declare(&mut events, |case| {
        case.claims.one_gang_at_a_time = false;
        case.claims.budgets = None;
    });
    let observed = verdict(events.clone());
    assert!(observed.passed() && !observed.claims_isolation);
    for kind in [ClaimKind::OneGangAtATime, ClaimKind::Throttling] {
        let claim = observed.claim(kind).unwrap();
        assert_eq!(claim.outcome, Outcome::NotClaimed);
        assert!(claim.breaches > 0 && !claim.evidence.is_empty());
    }
    events.retain(|event| !matches!(event, Event::JobFinished { task: LOW, .. }));
    assert!(!verdict(events).passed());
}

#[test]
fn evidence_is_the_first_breaches_and_the_rest_is_counted() {
    let mut events = good();
    for index in 0..40 {
        let time_ns = 7000 + index * 100;
        // A lower gang's thread appears beside a higher one again and again.
        events.extend([on(time_ns, 0, 0), on(time_ns, 1, 3)]);
        events.extend([
            off(time_ns + 50, 0, 0, Sleeping),
            off(time_ns + 50, 1, 3, Sleeping),
        ]);
    }
    let verdict = verdict(events);
    let claim = verdict.claim(ClaimKind::OneGangAtATime).unwrap();
    assert_eq!((claim.breaches, claim.evidence.len()), (40, 20));
    assert_eq!(claim.evidence[19].time_ns, 7000 + 19 * 100);
}
