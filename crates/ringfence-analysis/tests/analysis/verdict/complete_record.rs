//! Sections without an end, and runs that end early.

use super::{fails_only, seen, verdict};
use crate::common::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome, unreadable};

#[test]
fn a_missing_end() {
    let mut events = good();
    events.pop();
    let error = read(&events).unwrap_err();
    let verdict = unreadable(&error);
    assert!(!verdict.passed() && verdict.claims_isolation);
    let complete = verdict.claim(ClaimKind::CompleteRecord).unwrap();
    assert_eq!(complete.outcome, Outcome::Fail);
    assert!(complete.evidence[0].text.contains("no CaseEnd"));
    assert!(
        verdict.claims[1..]
            .iter()
            .all(|claim| claim.outcome == Outcome::NotJudged)
    );
}

#[test]
fn a_run_that_ends_early_is_not_complete() {
    let planned = |duration_ns| {
        let mut events = good();
        declare(&mut events, |case| case.duration_ns = duration_ns);
        events
    };
    assert!(verdict(planned(END_NS - 1)).passed());
    let breaches = fails_only(planned(END_NS + 1), ClaimKind::CompleteRecord);
    assert_eq!(seen(&breaches[0]), (END_NS, 1, None, vec![]));
    assert!(breaches[0].text.contains("the run ended after"));
}
