//! Records of programs that say when their jobs begin and end, where nobody recorded who ran.

use super::verdict;
use crate::common::*;
use ringfence_analysis::statistics::statistics;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_record::event::*;

fn jobs_alone() -> Vec<Event> {
    let mut events = good();
    events.retain(|event| {
        !matches!(
            event,
            Event::ThreadOn { .. } | Event::ThreadOff { .. } | Event::ThreadWoke { .. }
        )
    });
    events
}

#[test]
fn who_ran_beside_whom_is_not_judged_and_deadlines_are() {
    let verdict = verdict(jobs_alone());
    assert!(!verdict.passed());
    for claim in &verdict.claims {
        let is_of_jobs = matches!(
            claim.kind,
            ClaimKind::CompleteRecord | ClaimKind::Releases | ClaimKind::Deadlines
        );
        let expected = match (is_of_jobs, claim.kind) {
            (true, _) => Outcome::Pass,
            (false, ClaimKind::Reservations | ClaimKind::Accuracy) => Outcome::NotClaimed,
            (false, _) => Outcome::NotJudged,
        };
        assert_eq!(claim.outcome, expected, "{claim:#?}");
        let says_so = claim
            .note
            .as_ref()
            .is_some_and(|note| note.ends_with("the record does not say who ran where"));
        assert!(
            !is_of_jobs || claim.kind != ClaimKind::Deadlines || says_so,
            "{claim:#?}"
        );
        let claims_nothing = claim.kind == ClaimKind::Accuracy;
        assert!(is_of_jobs || says_so || claims_nothing, "{claim:#?}");
    }
}

/// A case of nobody knows which cores, with jobs or without any.
#[test]
fn without_cores_nobody_was_seen() {
    let mut case = case();
    case.cores = 0;
    case.partitions.iter_mut().for_each(|one| one.cores.clear());
    let time_ns = case.duration_ns;
    let (task, job) = (HIGH, 0);
    let dropped = [
        Event::JobReleased {
            time_ns: 0,
            task,
            job,
        },
        Event::JobDropped {
            time_ns: 10,
            task,
            job,
        },
    ];
    for jobs in [&dropped[..], &[]] {
        let begin = Event::CaseBegin(Box::new(case.clone()));
        let end = Event::CaseEnd { time_ns };
        let events: Vec<_> = [begin]
            .into_iter()
            .chain(jobs.to_vec())
            .chain([end])
            .collect();
        let run = read(&events).unwrap();
        assert!(!run.says_who_ran());
        assert_eq!(statistics(&run).slack, None);
    }
}

#[test]
fn no_core_time_is_made_up() {
    let run = read(&in_order(jobs_alone())).unwrap();
    let figures = statistics(&run);
    assert_eq!((figures.slack, figures.cores.len()), (None, 0));
    assert_eq!(figures.best_effort, []);
    for task in &figures.tasks {
        assert!(
            task.response.is_some() && task.execution.is_none(),
            "{task:#?}"
        );
    }
}
