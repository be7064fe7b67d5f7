//! Gangs of programs that are started by others: the scheduler stays, and threads are put into
//! its gangs from outside.
//!
//! [`Enforcement`] schedules the gangs of a scenario's case until it is dropped and says so in
//! a file; [`Enforced`] finds that file from another process. The scenario's tasks tell what is
//! to be in a gang; none of them is started.

mod file;
pub mod groups;
mod jobs;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ringfence_scenario::model::{Case, Gang, Scenario, Scheduling};
use ringfence_target::workload::{TooManyThreads, Workload};
use ringfence_workloads::clock;
use ringfence_workloads::job_log::JobLogError;

use crate::changes::lock::{Lock, LockError};
use crate::live::{Activity, Board, Publication, Subject};
use crate::run::in_kernel::KernelGangs;
use crate::run::{CaseError, Mode, RegulateBy, Wanted};
use crate::scheduler::{self, Members, SharedGroups, SharedMap};
pub use file::{Enforced, EnforcedGang, FindError};
use jobs::{Jobs, OfScheduler};

/// Where the kernel has BPF objects that have names.
const BPF_FILE_SYSTEM: &str = "/sys/fs/bpf";

/// Why the gangs of a case cannot be scheduled.
#[derive(Debug, thiserror::Error)]
pub enum EnforcementError {
    /// Another ringfence is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The case asks for something else.
    #[error(
        "case `{case}` has fixed-priority scheduling, which the kernel does by itself; choose a case with scheduling = \"gang\""
    )]
    NotGang {
        /// Name of the case.
        case: String,
    },
    /// The scheduler cannot do it.
    #[error(transparent)]
    Case(#[from] CaseError),
    /// Too many threads for a case.
    #[error(transparent)]
    Threads(#[from] TooManyThreads),
    /// Programs could not tell of their jobs.
    #[error(transparent)]
    Jobs(#[from] JobLogError),
    /// What other processes need cannot be put there.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// What was found by a look, beside what goes on as it must.
#[derive(Debug, Default)]
pub struct Checked {
    /// Threads that were moved between control groups and could not be put into the queues of
    /// their gangs; they still wait where they did.
    pub not_moved: Vec<scheduler::Error>,
    /// Threads that asked for a gang and could not be moved there.
    pub not_joined: Vec<scheduler::Error>,
    /// Marks of jobs that found no room, or made no sense.
    pub lost_marks: u64,
}

/// Schedules the gangs of a case until it is dropped.
pub struct Enforcement {
    _publication: Publication,
    board: Arc<Board>,
    activity: Activity,
    jobs: Jobs,
    memberships: OfScheduler,
    scheduled: KernelGangs,
    published: PathBuf,
    // Dropped after what it guards.
    _members: SharedMap,
    groups: Option<SharedGroups>,
    _lock: Lock,
}

impl Enforcement {
    /// Begins to schedule the gangs of `case`, with best-effort work held to what `regulate_by`
    /// says, and tells others in `folder`.
    ///
    /// # Errors
    /// Another ringfence is at work, or the machine cannot do it.
    pub fn start(
        scenario: &Scenario,
        case: &Case,
        regulate_by: &RegulateBy,
        folder: &Path,
    ) -> Result<Self, EnforcementError> {
        if case.scheduling != Scheduling::Gang {
            return Err(EnforcementError::NotGang {
                case: case.name.clone(),
            });
        }
        let lock = Lock::take(folder, "ringfence enforce")?;
        let published = folder.join(file::NAME);
        let pinned = Path::new(BPF_FILE_SYSTEM).join(file::MEMBERS);
        let pinned_groups = Path::new(BPF_FILE_SYSTEM).join(file::GROUPS);
        // Of one that was killed: nobody else is at work.
        for old in [&published, &pinned, &pinned_groups] {
            remove(old)?;
        }
        Wanted::Only(Mode::SchedExt).choose()?;
        let workload = Workload::new(scenario, case)?;
        let gangs = &workload.gangs;
        let jobs = Jobs::create(&workload)?;
        let mut scheduled =
            KernelGangs::start(scenario, case, gangs, clock::now_ns(), regulate_by)?;
        let scheduler = scheduled.scheduler();
        let members = scheduler.share_members(&pinned).map_err(CaseError::from)?;
        let shared = scheduler.share_groups(&pinned_groups);
        let shared = shared.map_err(CaseError::from)?;
        let (publication, board) = show(scenario, case, gangs, &mut scheduled, folder)?;
        let failed = |error| EnforcementError::File {
            path: published.clone(),
            error,
        };
        let groups = shared.as_ref().map(|_| pinned_groups.as_path());
        let enforced = Enforced::of(scenario, case, gangs, &jobs.paths(), &pinned, groups);
        let memberships = enforced.gangs.iter().map(EnforcedGang::membership);
        let memberships = OfScheduler::new(
            Members::open(&pinned).map_err(CaseError::from)?,
            memberships.collect(),
        );
        enforced.write(&published).map_err(failed)?;
        Ok(Self {
            _publication: publication,
            board,
            activity: Activity::of(gangs, scenario.partitions.len(), true),
            jobs,
            memberships,
            scheduled,
            published,
            _members: members,
            groups: shared,
            _lock: lock,
        })
    }

    /// What a reader should know of how best-effort work is throttled.
    pub fn remarks(&self) -> &[String] {
        self.scheduled.remarks()
    }

    /// What can be read when [`Self::check`] is to be called at once.
    pub fn waits_on(&self) -> Option<BorrowedFd<'_>> {
        self.groups.as_ref().map(SharedGroups::waits_on)
    }

    /// Whether gangs are still kept apart; to be asked at least every second, or events of the
    /// scheduler are lost. Threads that were moved between control groups are put into the queues
    /// of their gangs, and those that ask for a gang are answered.
    ///
    /// # Errors
    /// The kernel has taken the threads back, or the scheduler has found a fault in itself.
    pub fn check(&mut self) -> Result<Checked, CaseError> {
        let mut checked = Checked::default();
        for gang in 0..self.jobs.count() {
            // What programs write into their logs must not make the scheduler's events wait.
            self.note_events()?;
            let followed = self.jobs.follow(gang, &self.memberships, &self.board);
            checked.not_joined.extend(followed.not_joined);
            checked.lost_marks = checked.lost_marks.saturating_add(followed.lost_marks);
        }
        self.note_events()?;
        self.scheduled.check()?;
        let not_moved = self.groups.as_mut().map(SharedGroups::follow).transpose();
        let not_moved = not_moved.map_err(|source| CaseError::System {
            what: "reading which threads were moved".into(),
            source,
        })?;
        checked.not_moved = not_moved.unwrap_or_default();
        Ok(checked)
    }

    fn note_events(&mut self) -> Result<(), CaseError> {
        let events = self.scheduled.events()?;
        self.activity.note(&events, clock::now_ns(), &self.board);
        Ok(())
    }
}

impl Drop for Enforcement {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.published);
    }
}

/// Lets others see in `folder` what is enforced.
fn show(
    scenario: &Scenario,
    case: &Case,
    gangs: &[&Gang],
    scheduled: &mut KernelGangs,
    folder: &Path,
) -> Result<(Publication, Arc<Board>), EnforcementError> {
    let subject = Subject {
        scenario,
        case,
        gangs,
    };
    let board = Board::create(subject.shape()).map_err(|error| EnforcementError::File {
        path: "memory for the live view (memfd_create)".into(),
        error,
    })?;
    let board = Arc::new(board);
    let maps = scheduled.scheduler().map_ids().map_err(CaseError::from)?;
    let publication = Publication::publish(folder, &subject, &board, Some(maps))?;
    Ok((publication, board))
}

fn remove(path: &Path) -> Result<(), EnforcementError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(EnforcementError::File {
            path: path.to_owned(),
            error,
        }),
        _ => Ok(()),
    }
}
