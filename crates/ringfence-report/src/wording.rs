//! The sentences of a verdict: the same words in every report.

use ringfence_analysis::duration::readable;
use ringfence_analysis::summary::{CaseSummary, Summary};
use ringfence_analysis::verdict::{Breach, ClaimKind, ClaimResult, Outcome};

use crate::rows::is_solo;
use crate::units::count;

/// Cases that a headline names before it only counts the rest.
const HEADLINE_CASES: usize = 3;

/// Why a percentile is left out.
pub const FEW_JOBS: &str =
    "99 %: only where 100 jobs or more finished; of fewer it would be the longest.";

/// How a case, or a claim, came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Everything claimed holds.
    Kept,
    /// The deadlines were met, and nothing was promised.
    Met,
    /// Something claimed does not hold.
    Missed,
    /// There was nothing to judge, or no way to.
    Open,
}

impl Mark {
    /// Of a case.
    pub fn of_case(case: &CaseSummary) -> Self {
        if case.verdict.passed() {
            return match case.verdict.claims_isolation {
                true => Mark::Kept,
                false => Mark::Met,
            };
        }
        let failed = case
            .verdict
            .claims
            .iter()
            .any(|claim| claim.outcome == Outcome::Fail);
        if failed { Mark::Missed } else { Mark::Open }
    }

    /// Of one claim.
    pub fn of_claim(claim: &ClaimResult) -> Self {
        match claim.outcome {
            Outcome::Pass => Mark::Kept,
            Outcome::Fail => Mark::Missed,
            Outcome::NotClaimed | Outcome::NotJudged => Mark::Open,
        }
    }

    /// Its style class in the page.
    pub fn class(self) -> &'static str {
        match self {
            Mark::Kept => "kept",
            Mark::Missed => "missed",
            Mark::Met | Mark::Open => "open",
        }
    }

    /// A sign that does not depend on colour.
    pub fn sign(self) -> &'static str {
        match self {
            Mark::Kept => "✓",
            Mark::Met => "○",
            Mark::Missed => "✗",
            Mark::Open => "–",
        }
    }
}

/// The verdict on a whole record in one sentence.
pub fn headline(summary: &Summary) -> String {
    let mut cases: Vec<_> = summary.cases.iter().filter(|case| !is_solo(case)).collect();
    if cases.is_empty() {
        cases = summary.cases.iter().collect();
    }
    cases.sort_by_key(|case| !case.verdict.claims_isolation);
    let mut parts: Vec<String> = cases
        .iter()
        .take(HEADLINE_CASES)
        .map(|case| in_headline(case))
        .collect();
    if cases.len() > HEADLINE_CASES {
        parts.push(format!(
            "{} more below",
            count((cases.len() - HEADLINE_CASES) as u64, "case")
        ));
    }
    if parts.is_empty() {
        return "The record holds no case.".into();
    }
    capitalised(&format!("{}.", parts.join("; ")))
}

fn in_headline(case: &CaseSummary) -> String {
    let broken = case.verdict.claims.iter().find(|claim| {
        let is_of_results = matches!(claim.kind, ClaimKind::Deadlines | ClaimKind::Accuracy);
        claim.outcome == Outcome::Fail && !is_of_results
    });
    let accuracy = case.verdict.claim(ClaimKind::Accuracy).filter(|claim| {
        let is_wrong_in_time = claim.outcome == Outcome::Fail && case.verdict.misses == 0;
        is_wrong_in_time || tells_accuracy_alone(case)
    });
    match broken.or(accuracy) {
        Some(claim) => format!("under {} {}", case.name, claim_result(claim)),
        None => format!("under {} {}", case.name, deadlines(case)),
    }
}

/// Whether nothing ran in a case that could be late, but it tells how right some work was.
fn tells_accuracy_alone(case: &CaseSummary) -> bool {
    case.statistics.as_ref().is_some_and(|statistics| {
        let tells = !statistics.trajectories.is_empty() || !statistics.measures.is_empty();
        tells && statistics.tasks.is_empty() && statistics.best_effort.is_empty()
    })
}

/// The verdict on a case, the most important first.
pub fn sentences(case: &CaseSummary) -> Vec<String> {
    if case.statistics.is_none() {
        return vec!["The record of this case cannot be relied on.".into()];
    }
    let claims = case.verdict.claims.iter().filter(|claim| match claim.kind {
        ClaimKind::Deadlines => false,
        ClaimKind::OneGangAtATime
        | ClaimKind::Share
        | ClaimKind::Budgets
        | ClaimKind::Accuracy
        | ClaimKind::Reservations => claim.outcome != Outcome::NotClaimed,
        ClaimKind::Releases => matches!(claim.outcome, Outcome::Fail | Outcome::NotJudged),
        ClaimKind::CompleteRecord | ClaimKind::WorkConservation | ClaimKind::Throttling => {
            claim.outcome == Outcome::Fail
        }
    });
    let alone = tells_accuracy_alone(case);
    let unpromised = !case.verdict.claims_isolation && !alone;
    let unpromised = unpromised.then(|| "nothing was promised".to_owned());
    let deadlines = (!alone).then(|| deadlines(case));
    deadlines
        .into_iter()
        .chain(claims.map(claim_result))
        .chain(unpromised)
        .map(|text| capitalised(&format!("{text}.")))
        .collect()
}

fn deadlines(case: &CaseSummary) -> String {
    let (jobs, misses) = (case.verdict.jobs, case.verdict.misses);
    match (jobs, misses) {
        _ if case.statistics.is_none() => "the record cannot be relied on".into(),
        (0, _) => "no job was due".into(),
        (1, 0) => "the only job met its deadline".into(),
        (_, 0) => format!("all {jobs} jobs met their deadline"),
        _ => format!("{misses} of {} missed their deadline", count(jobs, "job")),
    }
}

/// What a claim means.
pub fn claim_name(kind: ClaimKind) -> &'static str {
    match kind {
        ClaimKind::CompleteRecord => "The record is complete and free of contradictions",
        ClaimKind::OneGangAtATime => "One gang at a time runs in every partition",
        ClaimKind::WorkConservation => "The highest runnable gang runs",
        ClaimKind::Share => "Real-time work leaves the rest of every window to others",
        ClaimKind::Releases => "Every task releases its jobs when they are due",
        ClaimKind::Budgets => "Best-effort traffic stays within the budgets",
        ClaimKind::Reservations => "Each core of a VM stays within its share",
        ClaimKind::Throttling => "Throttled cores run no best-effort work",
        ClaimKind::Deadlines => "Every job finishes by its deadline",
        ClaimKind::Accuracy => "Errors and other figures stay within their limits",
    }
}

/// What came out, as a clause.
fn claim_result(claim: &ClaimResult) -> String {
    let subject = match claim.kind {
        ClaimKind::CompleteRecord => "the record",
        ClaimKind::OneGangAtATime => "one gang at a time",
        ClaimKind::WorkConservation => "running the highest gang",
        ClaimKind::Share => "the share limit",
        ClaimKind::Budgets => "budgets",
        ClaimKind::Releases => "the release of jobs",
        ClaimKind::Reservations => "the reservations",
        ClaimKind::Throttling => "throttling",
        ClaimKind::Deadlines => "the deadlines",
        ClaimKind::Accuracy => "accuracy",
    };
    match (claim.outcome, claim.kind) {
        (Outcome::Fail, ClaimKind::CompleteRecord) => "the record cannot be relied on".into(),
        (Outcome::Fail, ClaimKind::Budgets) => {
            format!("budgets were exceeded {}", count(claim.breaches, "time"))
        }
        (Outcome::Fail, ClaimKind::Reservations) => {
            format!(
                "reservations were exceeded {}",
                count(claim.breaches, "time")
            )
        }
        (Outcome::Fail, ClaimKind::Accuracy) => {
            let (above, all) = (claim.breaches, count(claim.checked, "figure"));
            match (claim.checked, above) {
                (1, _) => "the only figure is above its limit".into(),
                (_, 1) => format!("1 of {all} is above its limit"),
                _ => format!("{above} of {all} are above their limits"),
            }
        }
        (Outcome::Pass, ClaimKind::Accuracy) => match claim.checked {
            1 => "the only figure is within its limit".into(),
            checked => format!("all {checked} figures are within their limits"),
        },
        (Outcome::Fail, _) => format!("{subject} was broken {}", count(claim.breaches, "time")),
        (Outcome::Pass, _) => format!("{subject}: promised and held"),
        (Outcome::NotClaimed, _) => format!("{subject} was not claimed"),
        (Outcome::NotJudged, _) => format!("{subject} could not be judged"),
    }
}

/// What was looked at, such as `60 jobs`.
pub fn checked(claim: &ClaimResult) -> String {
    let noun = match claim.kind {
        ClaimKind::CompleteRecord => "section",
        ClaimKind::OneGangAtATime | ClaimKind::WorkConservation => "stretch on a core",
        ClaimKind::Share => "window of a partition",
        ClaimKind::Budgets => "period of a core",
        ClaimKind::Reservations => "period or throttling of a core",
        ClaimKind::Throttling => "throttling",
        ClaimKind::Releases | ClaimKind::Deadlines => "job",
        ClaimKind::Accuracy => "figure",
    };
    count(claim.checked, noun)
}

/// What came out of a claim, for a column of a table.
pub fn outcome(claim: &ClaimResult) -> String {
    match claim.outcome {
        Outcome::Pass => "held".into(),
        Outcome::Fail => format!("broken {}", count(claim.breaches, "time")),
        Outcome::NotClaimed => "not claimed".into(),
        Outcome::NotJudged => "not judged".into(),
    }
}

/// One breach of a claim.
pub fn breach(breach: &Breach) -> String {
    let core = breach
        .core
        .map_or_else(String::new, |core| format!(", core {core}"));
    format!("at {}{core}: {}", readable(breach.time_ns), breach.text)
}

fn capitalised(text: &str) -> String {
    let mut rest = text.chars();
    rest.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(rest).collect()
    })
}
