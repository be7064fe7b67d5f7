//! What a report says about a record, and what is exported.

use ringfence_record::event::Header;
use serde::{Deserialize, Serialize};

use crate::case::CaseRun;
use crate::read_case::CaseError;
use crate::run::Run;
use crate::statistics::{CaseStatistics, statistics};
use crate::verdict::{Verdict, judge, unreadable};

/// Version of [`Summary`]; raised whenever a key changes its meaning or goes away.
pub const SUMMARY_VERSION: u32 = 2;

/// Everything that a report says about a record. Units are in the keys.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// [`SUMMARY_VERSION`] of whoever wrote it.
    pub summary_version: u32,
    /// Who wrote the record, and on what.
    pub header: Header,
    /// Whether the record's verdict is good, see [`Summary::of`].
    pub passed: bool,
    /// Where and how the record is damaged.
    pub damage: Option<String>,
    /// The cases, in the order of the record.
    pub cases: Vec<CaseSummary>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseSummary {
    /// Name.
    pub name: String,
    /// Planned length.
    pub duration_ns: u64,
    /// When the run really ended; `None` when the section cannot be relied on.
    pub end_ns: Option<u64>,
    /// What was claimed and whether it holds.
    pub verdict: Verdict,
    /// How fast everything was; `None` when the section cannot be relied on.
    pub statistics: Option<CaseStatistics>,
}

impl Summary {
    /// Summarises a record.
    ///
    /// It passes when it is undamaged, has a case, every case can be relied on,
    /// and every case that claims isolation passes. Other cases are there to
    /// compare with: their missed deadlines do not count, unless no case claims
    /// isolation.
    pub fn of(run: &Run) -> Self {
        let cases: Vec<CaseSummary> = run.cases.iter().map(CaseSummary::of).collect();
        let isolating = cases.iter().any(|case| case.verdict.claims_isolation);
        let passed = run.damage.is_none()
            && !cases.is_empty()
            && cases.iter().all(|case| case.statistics.is_some())
            && cases
                .iter()
                .filter(|case| case.verdict.claims_isolation || !isolating)
                .all(|case| case.verdict.passed());
        Self {
            summary_version: SUMMARY_VERSION,
            header: run.header.clone(),
            passed,
            damage: run.damage.as_ref().map(ToString::to_string),
            cases,
        }
    }
}

impl CaseSummary {
    fn of(case: &Result<CaseRun, CaseError>) -> Self {
        match case {
            Ok(run) => Self {
                name: run.case.name.clone(),
                duration_ns: run.case.duration_ns,
                end_ns: Some(run.end_ns),
                verdict: judge(run),
                statistics: Some(statistics(run)),
            },
            Err(error) => Self {
                name: error.case.name.clone(),
                duration_ns: error.case.duration_ns,
                end_ns: None,
                verdict: unreadable(error),
                statistics: None,
            },
        }
    }
}
