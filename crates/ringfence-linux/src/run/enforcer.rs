//! Who enforces a case: the kernel's own classes, the gang scheduler, or the agent of the
//! portable mode.

use std::ops::Range;
use std::sync::Arc;

use ringfence_scenario::model::{Case, Gang, Scenario, Scheduling};
use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{Mark, ThreadId};

use super::in_kernel::KernelGangs;
use super::portable::PortableGangs;
use super::{CaseError, Mode, RegulateBy, RunOptions};
use crate::changes::lock::{Lock, default_folder};
use crate::live::Board;
use crate::recorder::Recorder;
use crate::scheduler::Event;
use crate::sys;

/// Enforces a case until it is dropped.
pub enum Enforcer {
    /// SCHED_FIFO: priority by priority on each core, gangs side by side.
    FixedPriority,
    /// One gang at a time in each partition, by the kernel; no other ringfence is at work.
    Kernel {
        /// The gangs.
        gangs: Box<KernelGangs>,
        /// Held as long.
        _lock: Lock,
    },
    /// The same from user space.
    Portable(Box<PortableGangs>),
}

impl Enforcer {
    /// Begins to enforce a case, whose windows of the share limit begin at `origin_ns`; an
    /// agent lets others see on `board` what it does.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn start(
        (scenario, case, workload): (&Scenario, &Case, &Workload<'_>),
        origin_ns: u64,
        options: &RunOptions<'_>,
        recorder: Option<&Recorder>,
        board: &Arc<Board>,
    ) -> Result<Self, CaseError> {
        match (case.scheduling, options.mode) {
            (Scheduling::FixedPriority, _) => Ok(Self::FixedPriority),
            (Scheduling::Gang, Mode::SchedExt) => {
                let lock = default_folder().and_then(|it| Lock::take(&it, "ringfence run"))?;
                let gangs = KernelGangs::start(
                    scenario,
                    case,
                    &workload.gangs,
                    origin_ns,
                    options.regulate_by,
                )?;
                Ok(Self::Kernel {
                    gangs: Box::new(gangs),
                    _lock: lock,
                })
            }
            (Scheduling::Gang, Mode::Portable) => {
                if let RegulateBy::Events(_) = options.regulate_by {
                    return Err(CaseError::Unsupported(
                        "--regulate-by: found events of the PMU with the portable scheduler, which \
                         can hold best-effort work to time only; use --regulate-by time, or sched-ext"
                            .into(),
                    ));
                }
                let setting = (scenario, case, workload);
                let board = Arc::clone(board);
                let gangs =
                    PortableGangs::start(setting, origin_ns, options.guard, recorder, board)?;
                Ok(Self::Portable(Box::new(gangs)))
            }
        }
    }

    /// Makes a thread a real-time one of `gang`.
    ///
    /// # Errors
    /// It is gone, or it is not allowed.
    pub fn join(&mut self, thread: ThreadId, gang: &Gang) -> Result<(), CaseError> {
        let tid = thread.thread.cast_signed();
        match self {
            Self::Portable(gangs) => gangs.join(thread, gang),
            Self::Kernel { gangs, .. } => gangs.join(tid, gang),
            Self::FixedPriority => sys::set_class(tid, libc::SCHED_FIFO, gang.priority.into())
                .map_err(|source| CaseError::System {
                    what: format!("making thread {tid} a real-time one (SCHED_FIFO)"),
                    source,
                }),
        }
    }

    /// A program has said this.
    ///
    /// # Errors
    /// Who needs to know it has ended.
    pub fn said(&self, mark: &Mark) -> Result<(), CaseError> {
        match self {
            Self::Portable(gangs) => gangs.said(mark),
            Self::FixedPriority | Self::Kernel { .. } => Ok(()),
        }
    }

    /// What it says that it did since it was last asked, slightly out of order.
    ///
    /// # Errors
    /// The kernel has taken the threads back, or events were lost.
    pub fn events(&mut self) -> Result<Vec<Event>, CaseError> {
        match self {
            Self::FixedPriority => Ok(Vec::new()),
            Self::Portable(gangs) => gangs.events(),
            Self::Kernel { gangs, .. } => gangs.events(),
        }
    }

    /// What a reader of the record should know, beside what happened.
    pub fn remarks(&self) -> &[String] {
        match self {
            Self::FixedPriority => &[],
            Self::Kernel { gangs, .. } => gangs.remarks(),
            Self::Portable(gangs) => gangs.remarks(),
        }
    }

    /// Ends what must be to know whether all went as it must within `times_ns`, which is the
    /// case.
    ///
    /// # Errors
    /// What did not.
    pub fn end(&mut self, times_ns: &Range<u64>) -> Result<(), CaseError> {
        match self {
            Self::FixedPriority => Ok(()),
            Self::Portable(gangs) => gangs.end(times_ns),
            Self::Kernel { gangs, .. } => gangs.check(),
        }
    }
}
