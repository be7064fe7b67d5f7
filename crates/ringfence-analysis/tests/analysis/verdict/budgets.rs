//! Best-effort bytes against budgets, and budgets against tolerances.

use super::{fails_only, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::*;

#[test]
fn a_budget_exceeded_by_a_byte() {
    let mut events = good();
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 1965, 1014),
    );
    let breaches = fails_only(events, ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (1000, 1000, Some(3), vec![]));
    assert!(breaches[0].text.contains("read 1065 bytes"), "{breaches:?}");
    assert!(breaches[0].text.contains("allow 1064"));

    let mut events = good();
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 1964, 1015),
    );
    let breaches = fails_only(events, ClaimKind::Budgets);
    assert!(breaches[0].text.contains("wrote 565 bytes"), "{breaches:?}");
}

#[test]
fn samples_off_the_period_boundaries_do_not_excuse_an_excess() {
    // Ten samples in a period, each with less than a budget; together ten times too much.
    let hide = |at: fn(u64) -> u64| {
        let mut events = good();
        events.retain(|event| !matches!(event, Event::Counters { .. }));
        events.extend((1..=120).map(|index| sample(at(index), index * 900, index * 450)));
        events
    };
    let breaches = fails_only(hide(|index| index * 100), ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (0, 1000, Some(3), vec![]));
    assert!(breaches[0].text.contains("read 9000 bytes"));
    // Never at a boundary: what is seen of the period is still too much.
    let breaches = fails_only(hide(|index| index * 100 - 50), ClaimKind::Budgets);
    assert_eq!(seen(&breaches[0]), (0, 950, Some(3), vec![]));
}

#[test]
fn periods_without_samples_at_their_ends_are_not_judged() {
    // From 2000 to 4000 only the sum is known, which may hide an excess in one.
    let mut events = good();
    remove(&mut events, &sample(3000, 2900, 1450));
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    let note = claim.note.as_deref().unwrap();
    assert!(note.starts_with("4 periods of a core"), "{note}");
}

#[test]
fn samples_inside_a_period_do_not_replace_those_at_its_ends() {
    let mut events = good();
    replace(
        &mut events,
        sample(3000, 2900, 1450),
        sample(3001, 2900, 1450),
    );
    let verdict = verdict(events);
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
}

fn tolerate_anything(events: &mut [Event]) {
    declare(events, |case| {
        for gang in &mut case.gangs {
            gang.tolerance_read_bytes_per_second = None;
            gang.tolerance_write_bytes_per_second = None;
        }
    });
}

#[test]
fn a_budget_above_the_tolerance_of_a_running_gang() {
    // The hog is back at 2000 and runs beside `high` and `other`.
    let with = |bytes| {
        let mut events = good();
        events.extend([budget(2500, bytes), budget(2600, Some(1000))]);
        events
    };
    assert!(verdict(with(Some(1000))).passed());
    for bytes in [Some(1002), None] {
        let breaches = fails_only(with(bytes), ClaimKind::Budgets);
        // Reads and writes, of either gang.
        assert_eq!(breaches.len(), 4);
        assert_eq!(seen(&breaches[0]), (2500, 100, Some(3), vec!["hog/0"]));
    }
}

#[test]
fn an_enforcer_that_forgets_the_budgets() {
    let mut events = good();
    events.retain(|event| !matches!(event, Event::BudgetSet { .. }));
    let breaches = fails_only(events, ClaimKind::Budgets);
    // A hand-over after the gang started.
    assert_eq!(seen(&breaches[0]), (150, 1700, Some(3), vec!["hog/0"]));
    assert!(
        breaches[0]
            .text
            .contains("core 3 has no read budget while gang 'high' runs")
    );
}

#[test]
fn a_period_with_two_budgets_is_judged_by_the_larger() {
    let with = |read_bytes| {
        let mut events = good();
        tolerate_anything(&mut events);
        events.extend([budget(1400, Some(1200)), budget(1600, Some(1000))]);
        replace(
            &mut events,
            sample(2000, 1964, 1014),
            sample(2000, read_bytes, 1014),
        );
        verdict(events).passed()
    };
    assert!(with(900 + 1200 + 64));
    assert!(!with(900 + 1200 + 64 + 1));
}

#[test]
fn a_period_that_was_unlimited_for_a_while_is_not_judged() {
    let mut events = good();
    tolerate_anything(&mut events);
    events.extend([budget(1400, None), budget(1401, Some(1000))]);
    replace(
        &mut events,
        sample(2000, 1964, 1014),
        sample(2000, 2900, 1014),
    );
    let verdict = verdict(events);
    assert!(verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    // That period and the one from 6000 on, read and written.
    let note = claim.note.as_deref().unwrap();
    assert!(note.starts_with("4 periods of a core"), "{note}");
}

#[test]
fn budgets_without_samples_are_not_judged() {
    let mut events = good();
    events.retain(|event| event.time_ns() < Some(5000) || !matches!(event, Event::Counters { .. }));
    let verdict = verdict(events);
    assert!(!verdict.passed());
    let claim = verdict.claim(ClaimKind::Budgets).unwrap();
    assert_eq!(claim.outcome, Outcome::NotJudged);
    let note = claim.note.as_deref().unwrap();
    // From 4000 to 6000, read and written.
    assert!(note.starts_with("4 periods of a core"), "{note}");
    assert!(note.contains("sample every core"), "{note}");
}
