//! Judges what a case claims, without trusting who enforced it.
//!
//! Every rule looks at who ran where and when, at the declared gangs and at
//! the counters. What the enforcer says about itself (`GangActive`) is not
//! used. The definitions of the rules are in `docs/src/verdict.md`.

mod accuracy;
mod budgets;
mod changes;
mod deadlines;
mod gangs;
mod instants;
mod lending;
mod releases;
mod reservation_course;
mod reservations;
mod share;
mod spans;
mod tolerances;

use ringfence_record::event::Case;
use serde::{Deserialize, Serialize};

use crate::case::CaseRun;
use crate::duration::readable;
use crate::read_case::CaseError;

/// Breaches that a [`ClaimResult`] describes; the rest is only counted.
pub const EVIDENCE_LIMIT: usize = 20;

/// Why nothing can be said of who ran beside whom.
const NOBODY_RECORDED: &str = "the record does not say who ran where";

/// What a case may claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimKind {
    /// The section is complete and free of contradictions. Every case claims it.
    CompleteRecord,
    /// One gang at a time per partition.
    OneGangAtATime,
    /// The highest runnable gang of a partition runs.
    WorkConservation,
    /// Real-time work of a partition stays within its share of every window.
    Share,
    /// The budgets are what the running gangs tolerate, and best-effort traffic
    /// stays within them.
    Budgets,
    /// Throttled cores run no best-effort work, and stay throttled.
    Throttling,
    /// Each core of a VM stays within its share of the VM's reservation, and stands still
    /// when it is throttled.
    Reservations,
    /// Every task that is not sporadic releases a job in every period. Every case claims it.
    Releases,
    /// Every job finishes by its deadline. Every case claims it.
    Deadlines,
    /// Errors of trajectories and other measured figures stay within their limits.
    Accuracy,
}

/// What came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Claimed, and no breach was found.
    Pass,
    /// Claimed, and breached.
    Fail,
    /// Not claimed: breaches are observations.
    NotClaimed,
    /// Claimed, but the record lacks the evidence to judge it.
    NotJudged,
}

/// One breach of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breach {
    /// When it began, in nanoseconds since the start of the case.
    pub time_ns: u64,
    /// How long it lasted, in nanoseconds; 0 for an instant.
    pub duration_ns: u64,
    /// Core on which it happened.
    pub core: Option<u16>,
    /// Names of the threads involved, the offender first.
    pub threads: Vec<String>,
    /// What was seen and what the claim allows.
    pub text: String,
}

impl Breach {
    /// One at an instant, of no core or thread.
    fn at(time_ns: u64, text: String) -> Self {
        Self {
            time_ns,
            duration_ns: 0,
            core: None,
            threads: Vec::new(),
            text,
        }
    }
}

/// The result for one claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClaimResult {
    /// Which claim.
    pub kind: ClaimKind,
    /// What came out.
    pub outcome: Outcome,
    /// How many things were checked: occupations, periods, un-throttlings, jobs, figures.
    pub checked: u64,
    /// Number of breaches, or of observations where nothing is claimed.
    pub breaches: u64,
    /// The first [`EVIDENCE_LIMIT`] of them, in the order of time.
    pub evidence: Vec<Breach>,
    /// Why it was not judged, or judged only in part.
    pub note: Option<String>,
}

/// The verdict on one case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// Whether the case claims isolation: one gang at a time, budgets, or reservations.
    pub claims_isolation: bool,
    /// One result for each [`ClaimKind`], in its order.
    pub claims: Vec<ClaimResult>,
    /// Jobs whose deadline lies in the run.
    pub jobs: u64,
    /// Those that did not finish in time.
    pub misses: u64,
}

impl Verdict {
    /// Whether every claim that the case makes was judged and holds.
    pub fn passed(&self) -> bool {
        self.claims
            .iter()
            .all(|claim| matches!(claim.outcome, Outcome::Pass | Outcome::NotClaimed))
    }

    /// The result for `kind`.
    pub fn claim(&self, kind: ClaimKind) -> Option<&ClaimResult> {
        self.claims.iter().find(|claim| claim.kind == kind)
    }
}

/// Judges a case.
pub fn judge(run: &CaseRun) -> Verdict {
    let claims = &run.case.claims;
    let one_gang = claims.one_gang_at_a_time;
    let regulated = claims.budgets.is_some();
    let (deadlines, jobs, misses) = deadlines::deadlines(run);
    let seen = |findings: Findings| match run.says_who_ran() {
        true => findings,
        false => Findings {
            missing: Some(NOBODY_RECORDED.into()),
            ..Findings::default()
        },
    };
    Verdict {
        claims_isolation: claims_isolation(&run.case),
        claims: vec![
            complete(run).into_result(ClaimKind::CompleteRecord, true),
            seen(gangs::one_gang_at_a_time(run)).into_result(ClaimKind::OneGangAtATime, one_gang),
            seen(gangs::work_conservation(run)).into_result(ClaimKind::WorkConservation, one_gang),
            seen(share::share(run)).into_result(ClaimKind::Share, claims.share.is_some()),
            seen(budgets::budgets(run)).into_result(ClaimKind::Budgets, regulated),
            seen(budgets::throttling(run)).into_result(ClaimKind::Throttling, regulated),
            seen(reservations::reservations(run))
                .into_result(ClaimKind::Reservations, !claims.reservations.is_empty()),
            releases::releases(run).into_result(ClaimKind::Releases, true),
            deadlines.into_result(ClaimKind::Deadlines, true),
            accuracy::accuracy(run).into_result(ClaimKind::Accuracy, accuracy::is_claimed(run)),
        ],
        jobs,
        misses,
    }
}

fn claims_isolation(case: &Case) -> bool {
    let claims = &case.claims;
    claims.one_gang_at_a_time || claims.budgets.is_some() || !claims.reservations.is_empty()
}

/// The verdict on a section that contradicts itself or has no end: the record
/// is not complete, and nothing else can be judged.
pub fn unreadable(error: &CaseError) -> Verdict {
    let not_judged = |kind| ClaimResult {
        kind,
        outcome: Outcome::NotJudged,
        checked: 0,
        breaches: 0,
        evidence: Vec::new(),
        note: Some("the record of this case cannot be relied on".into()),
    };
    let complete = ClaimResult {
        kind: ClaimKind::CompleteRecord,
        outcome: Outcome::Fail,
        checked: 1,
        breaches: 1,
        evidence: vec![Breach::at(
            error.time_ns,
            format!("event {}: {}", error.event, error.explanation()),
        )],
        note: None,
    };
    Verdict {
        claims_isolation: claims_isolation(&error.case),
        claims: vec![
            complete,
            not_judged(ClaimKind::OneGangAtATime),
            not_judged(ClaimKind::WorkConservation),
            not_judged(ClaimKind::Share),
            not_judged(ClaimKind::Budgets),
            not_judged(ClaimKind::Throttling),
            not_judged(ClaimKind::Reservations),
            not_judged(ClaimKind::Releases),
            not_judged(ClaimKind::Deadlines),
            not_judged(ClaimKind::Accuracy),
        ],
        jobs: 0,
        misses: 0,
    }
}

/// What a rule found.
#[derive(Debug, Default)]
struct Findings {
    checked: u64,
    breaches: Vec<Breach>,
    /// Evidence that the claim needs and the record lacks.
    missing: Option<String>,
    /// What could not be judged for a good reason.
    note: Option<String>,
}

impl Findings {
    fn into_result(mut self, kind: ClaimKind, claimed: bool) -> ClaimResult {
        let outcome = match (claimed, self.breaches.is_empty(), &self.missing) {
            (false, ..) => Outcome::NotClaimed,
            (true, false, _) => Outcome::Fail,
            (true, true, Some(_)) => Outcome::NotJudged,
            (true, true, None) => Outcome::Pass,
        };
        let breaches = self.breaches.len() as u64;
        self.breaches
            .sort_by_key(|breach| (breach.time_ns, breach.core));
        self.breaches.truncate(EVIDENCE_LIMIT);
        ClaimResult {
            kind,
            outcome,
            checked: self.checked,
            breaches,
            evidence: self.breaches,
            note: self.missing.or(self.note),
        }
    }
}

/// Judges that the run was as long as planned. A section with a contradiction
/// or without an end never becomes a `CaseRun`.
fn complete(run: &CaseRun) -> Findings {
    let planned_ns = run.case.duration_ns;
    let early = (run.end_ns < planned_ns).then(|| Breach {
        time_ns: run.end_ns,
        duration_ns: planned_ns - run.end_ns,
        core: None,
        threads: Vec::new(),
        text: format!(
            "the run ended after {}, {} before its planned end",
            readable(run.end_ns),
            readable(planned_ns - run.end_ns)
        ),
    });
    Findings {
        checked: 1,
        breaches: early.into_iter().collect(),
        ..Findings::default()
    }
}
