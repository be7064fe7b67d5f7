//! What every report is made from.

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::run::Run;
use ringfence_analysis::summary::{CaseSummary, Summary};

/// A record, read and judged.
#[derive(Debug)]
pub struct Report {
    /// What happened.
    pub run: Run,
    /// What it means.
    pub summary: Summary,
}

impl Report {
    /// Judges a record.
    pub fn new(run: Run) -> Self {
        let summary = Summary::of(&run);
        Report { run, summary }
    }

    /// The cases whose sections can be relied on.
    pub(crate) fn readable_cases(&self) -> impl Iterator<Item = (&CaseRun, &CaseSummary)> + Clone {
        let cases = self.run.cases.iter().zip(&self.summary.cases);
        cases.filter_map(|(run, summary)| Some((run.as_ref().ok()?, summary)))
    }

    /// Those in which something could have run: others only tell how right some work was.
    pub(crate) fn cases_with_course(
        &self,
    ) -> impl Iterator<Item = (&CaseRun, &CaseSummary)> + Clone {
        let cases = self.readable_cases();
        cases.filter(|(run, _)| run.case.cores > 0 || !run.case.tasks.is_empty())
    }
}
