//! What others can see of a case under way; see [`crate::live`].

use std::sync::Arc;

use ringfence_scenario::model::{Case, Scenario};
use ringfence_target::workload::Workload;
use ringfence_workloads::clock;
use ringfence_workloads::job_log::Mark;

use super::CaseError;
use super::enforcer::Enforcer;
use crate::changes::lock::{LockError, default_folder};
use crate::live::{Activity, Board, Publication, Releases, Subject, Tally};
use crate::scheduler::Event;

/// The board of a case, and who may find it.
pub struct LiveView<'a> {
    subject: Subject<'a>,
    board: Arc<Board>,
    tally: Tally,
    activity: Activity,
    publication: Option<Publication>,
}

impl<'a> LiveView<'a> {
    /// A board that nobody can find yet.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn prepare(
        scenario: &'a Scenario,
        case: &'a Case,
        workload: &'a Workload<'a>,
    ) -> Result<Self, CaseError> {
        let subject = Subject {
            scenario,
            case,
            gangs: &workload.gangs,
        };
        let board = Board::create(subject.shape()).map_err(|source| CaseError::System {
            what: "making memory for the live view (memfd_create)".into(),
            source,
        })?;
        (0..workload.gangs.len()).for_each(|gang| board.tell_jobs(gang));
        Ok(Self {
            subject,
            board: Arc::new(board),
            tally: Tally::of(workload, Releases::Told),
            activity: Activity::of(subject.gangs, subject.scenario.partitions.len(), false),
            publication: None,
        })
    }

    /// Where the agent of portable mode writes.
    pub fn board(&self) -> &Arc<Board> {
        &self.board
    }

    /// Lets others see what `enforcer` does; or what a reader of the record should know, if
    /// that cannot be. The run does not depend on it.
    pub fn show(&mut self, enforcer: &mut Enforcer) -> Option<String> {
        let maps = match enforcer {
            Enforcer::FixedPriority => return None,
            Enforcer::Portable(_) => Ok(None),
            Enforcer::Kernel { gangs, .. } => gangs.scheduler().map_ids().map(Some),
        };
        // The throttle threads of portable mode count for themselves.
        let counts_throttling = matches!(enforcer, Enforcer::Kernel { .. });
        let Subject {
            gangs, scenario, ..
        } = self.subject;
        self.activity = Activity::of(gangs, scenario.partitions.len(), counts_throttling);
        let published = maps.map_err(|error| error.to_string()).and_then(|maps| {
            let publish = |folder: std::path::PathBuf| {
                Publication::publish(&folder, &self.subject, &self.board, maps)
            };
            let published = default_folder().and_then(publish);
            published.map_err(|error: LockError| error.to_string())
        });
        match published {
            Ok(publication) => {
                self.publication = Some(publication);
                None
            }
            Err(error) => Some(format!("`ringfence top` could not see this case: {error}")),
        }
    }

    /// Programs and the scheduler have said this.
    pub fn note(&mut self, marks: &[Mark], events: &[Event]) {
        for mark in marks {
            self.tally.note(mark, &self.board);
        }
        self.activity.note(events, clock::now_ns(), &self.board);
    }
}
