//! Runs one task or best-effort entry of a scenario as threads of this process.
//!
//! A launcher starts a process for each, gives all of them the same start on
//! CLOCK_MONOTONIC, and reads their jobs from the job log. What the work needs is
//! prepared before the start: memory is there, touched, and locked where that is allowed;
//! threads have their names, cores and places in the log. A job makes two marks and
//! nothing else.

mod schedule;
mod thread;

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, atomic::Ordering::Relaxed};

use ringfence_scenario::model::Overrun;
use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Signal, getppid, set_parent_process_death_signal};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::clock;
use crate::job_log::{JobLogError, Jobs};
use crate::program::{Program, ProgramError, Setting, prepare};
pub use schedule::Schedule;
use thread::{Progress, Shared, Worker};

/// What a process is to do. It comes as JSON on the command line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// Of the task or entry; threads are named after it.
    pub name: String,
    /// Number of the task in the job log.
    pub task: u32,
    /// What its threads execute.
    pub program: Program,
    /// Threads, cache lines, seed.
    pub setting: Setting,
    /// Processors; never empty.
    pub cores: Vec<u16>,
    /// Thread `i` stays on `cores[i % cores.len()]`; otherwise all may use all of them.
    pub pinned: bool,
    /// When jobs are released.
    pub release: Release,
    /// The start, in nanoseconds of CLOCK_MONOTONIC.
    pub start_ns: u64,
    /// How long it goes on after the start: no job is released or begun later.
    pub duration_ns: u64,
    /// The job log; `None` is none.
    pub log: Option<PathBuf>,
    /// The gang that each thread asks the agent for before the start.
    pub gang: Option<String>,
    /// The process that starts this one and ends it with itself, even when it is killed:
    /// the thread that starts this one must live as long as the work. `None` goes on alone.
    pub launcher: Option<u32>,
    /// Whether threads say in the log when they go to sleep and wake, for an agent that
    /// does not see it otherwise.
    pub marks_sleep: bool,
}

/// When a thread has work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    /// A periodic task.
    Periodic {
        /// Time between releases; positive.
        period_ns: u64,
        /// First release after the start.
        offset_ns: u64,
        /// What happens to a release while the job before it still runs.
        overrun: Overrun,
    },
    /// Best-effort work.
    Endless,
}

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Whether a signal ended it before its time.
    pub stopped: bool,
    /// Whether its memory was locked; otherwise the system may page it out.
    pub locked: bool,
    /// How much later than the start it was prepared; 0 is in time. Late, it has done nothing.
    pub late_ns: u64,
    /// By thread.
    pub threads: Vec<ThreadOutcome>,
}

/// What a thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadOutcome {
    /// Jobs that it has ended.
    pub jobs: u64,
    /// Pieces of endless work that it has ended.
    pub steps: u64,
    /// Accesses to memory in these, one a cache line.
    pub accesses: u64,
}

/// Why nothing was run, or not to the end.
#[derive(Debug, thiserror::Error)]
pub enum RunnerError {
    /// No such work.
    #[error("{what} of {found}; expected {expected}")]
    Range {
        /// Which value.
        what: &'static str,
        /// What it is.
        found: u64,
        /// What it should be.
        expected: &'static str,
    },
    /// Nobody would end it.
    #[error(
        "the launcher {0} is not the parent of this process; expected the process that starts it, still alive"
    )]
    Launcher(u32),
    /// The program cannot run here.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No log, or no place in it, or no place in the gang.
    #[error(transparent)]
    Log(#[from] JobLogError),
    /// The system refuses.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// A fault of ringfence.
    #[error(
        "thread {0} of the program has panicked, which is a fault of ringfence: please report it"
    )]
    Panicked(u16),
}

/// What threads tell the one that waits for them.
enum Message {
    Prepared(Result<(), RunnerError>),
    Ended,
    Panicked(u16),
    Signal,
}

/// Does the work until its end or until SIGTERM or SIGINT. After a signal its threads may
/// still be at work: the process is to exit, which ends them, and the agent finds out that
/// they have left.
///
/// # Errors
/// When the work cannot begin; then nothing of it was done.
pub fn run(work: &Work) -> Result<Outcome, RunnerError> {
    check(work)?;
    if let Some(launcher) = work.launcher {
        end_with(launcher)?;
    }
    // From here on a signal is no end without an outcome.
    let (sender, receiver) = channel();
    listen(sender.clone())?;
    let parts = prepare(&work.program, &work.setting)?;
    let jobs = match &work.log {
        Some(path) => Jobs::open(path)?,
        None => Jobs::none(),
    };
    let shared = Arc::new(Shared::new(work));
    for (number, part) in parts.into_iter().enumerate() {
        Worker {
            number: number as u16,
            part,
            jobs: jobs.clone(),
            shared: Arc::clone(&shared),
            sender: sender.clone(),
        }
        .spawn()?;
    }
    let threads = u32::from(work.setting.threads);
    let mut outcome = Outcome {
        stopped: !all_prepared(&receiver, threads)?,
        locked: lock_memory(),
        late_ns: clock::now_ns().saturating_sub(work.start_ns),
        threads: Vec::new(),
    };
    // One that is late would disturb the others: whoever launched it begins anew.
    if !outcome.stopped && outcome.late_ns == 0 {
        shared.begin();
        outcome.stopped = !all_ended(&receiver, threads)?;
    }
    outcome.threads = shared.progress.iter().map(Progress::outcome).collect();
    Ok(outcome)
}

/// Refuses what no launcher means.
fn check(work: &Work) -> Result<(), RunnerError> {
    let range = |what, found, expected| {
        Err(RunnerError::Range {
            what,
            found,
            expected,
        })
    };
    if work.cores.is_empty() {
        return range("cores", 0, "at least 1");
    }
    match work.release {
        Release::Periodic { period_ns: 0, .. } => range("a period", 0, "at least 1 ns"),
        _ => Ok(()),
    }
}

/// Has the system kill this process with the thread that has started it.
fn end_with(launcher: u32) -> Result<(), RunnerError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|source| RunnerError::System {
        what: "ending with the launcher".to_owned(),
        source: source.into(),
    })?;
    // It may have ended before the system knew.
    let parent = getppid().map(|parent| parent.as_raw_nonzero().get().cast_unsigned());
    match parent == Some(launcher) {
        true => Ok(()),
        false => Err(RunnerError::Launcher(launcher)),
    }
}

/// Locks what is there and touched: the job log has more pages than are used. Done when all
/// is there, as a process that may lock only a little could map nothing more after it.
fn lock_memory() -> bool {
    mlockall(MlockAllFlags::CURRENT | MlockAllFlags::ONFAULT).is_ok()
}

/// Has signals come as messages.
fn listen(sender: Sender<Message>) -> Result<(), RunnerError> {
    let error = |source| RunnerError::System {
        what: "waiting for signals".to_owned(),
        source,
    };
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(error)?;
    let listener = std::thread::Builder::new().name("rf-signals".to_owned());
    let listen = move || {
        for _ in signals.forever() {
            if sender.send(Message::Signal).is_err() {
                return;
            }
        }
    };
    listener.spawn(listen).map(drop).map_err(error)
}

/// Whether all threads have their places; not when a signal came before.
fn all_prepared(receiver: &Receiver<Message>, threads: u32) -> Result<bool, RunnerError> {
    let mut left = threads;
    while left > 0 {
        match receiver.recv() {
            Ok(Message::Prepared(Ok(()))) => left -= 1,
            Ok(Message::Prepared(Err(error))) => return Err(error),
            Ok(Message::Panicked(thread)) => return Err(RunnerError::Panicked(thread)),
            Ok(Message::Signal | Message::Ended) | Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Whether all threads have come to their end; not when a signal came before.
fn all_ended(receiver: &Receiver<Message>, threads: u32) -> Result<bool, RunnerError> {
    let mut left = threads;
    while left > 0 {
        match receiver.recv() {
            Ok(Message::Ended) => left -= 1,
            Ok(Message::Panicked(thread)) => return Err(RunnerError::Panicked(thread)),
            Ok(Message::Prepared(..)) => {}
            Ok(Message::Signal) | Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

impl Progress {
    fn outcome(&self) -> ThreadOutcome {
        ThreadOutcome {
            jobs: self.jobs.load(Relaxed),
            steps: self.steps.load(Relaxed),
            accesses: self.accesses.load(Relaxed),
        }
    }
}
