//! The job API: programs say when their jobs begin and end, and which gang they are of.
//!
//! An agent makes a [`JobLog`] and hands its path on in the environment variable
//! [`VARIABLE`]. A program opens it and registers its threads:
//!
//! ```
//! use ringfence_workloads::job_log::Jobs;
//!
//! # fn main() -> Result<(), ringfence_workloads::job_log::JobLogError> {
//! let mut thread = Jobs::from_environment()?.register(0)?;
//! for _ in 0..3 {
//!     thread.begin();
//!     // … one job …
//!     thread.end();
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Without the variable every call does nothing. `ringfence_jobs.h` is the same for C.
//!
//! The log is shared memory: a table of slots, one for each thread, each with a ring of
//! marks that only its thread fills and only the agent empties. Both sides are wait-free:
//! a mark is a few stores, and a full ring loses the mark and counts it. The agent
//! trusts nothing that it reads there. A program can write into the slots of others,
//! though: programs of one log trust each other not to, and an agent that does not
//! gives each a log of its own.

mod layout;
mod mapping;
mod reader;
mod writer;

pub use layout::Size;
pub use reader::{Answer, Drained, JobLog, Listener, Mark, Request};
pub use writer::{Jobs, ThreadJobs, hand_down};

/// Environment variable with the path of the log.
pub const VARIABLE: &str = "RINGFENCE_JOBS";

/// What a thread says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A job may begin from now on.
    Released = 1,
    /// The thread begins its part of a job.
    Begin = 2,
    /// The thread has ended its part of a job.
    End = 3,
    /// A job was released and will not run.
    Dropped = 4,
    /// The thread has work.
    Runnable = 5,
    /// The thread is about to sleep.
    Sleeping = 6,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] = [
        Self::Released,
        Self::Begin,
        Self::End,
        Self::Dropped,
        Self::Runnable,
        Self::Sleeping,
    ];

    fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }

    /// Whether the agent is woken for it, since it decides who may run.
    fn rings(self) -> bool {
        matches!(self, Self::Runnable | Self::Sleeping)
    }
}

/// A thread of a program, by the numbers that it has in its own PID namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId {
    /// Its process.
    pub process: u32,
    /// The thread.
    pub thread: u32,
}

/// Why there is no log, or no place in it.
#[derive(Debug, thiserror::Error)]
pub enum JobLogError {
    /// A size that a log cannot have.
    #[error(
        "a job log of {slots} slots with {events} events; expected 1 to 65536 slots and a power of two from 2 to 65536 events"
    )]
    Size {
        /// Slots asked for.
        slots: u32,
        /// Events of each.
        events: u32,
    },
    /// The file cannot be made, opened or mapped.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is something else.
    #[error(
        "{path} is no job log of this version; expected the path that ringfence has put into RINGFENCE_JOBS"
    )]
    NotALog {
        /// Which.
        path: String,
    },
    /// Every slot has its thread.
    #[error("all {0} slots of the job log are taken; make it larger or register fewer threads")]
    Full(u32),
    /// The agent knows no such gang.
    #[error("there is no gang {0:?}; expected the name of a gang of the scenario that runs")]
    UnknownGang(String),
    /// The agent does not take this thread.
    #[error("the agent refuses this thread as a member of the gang {0:?}")]
    Refused(String),
    /// No agent has looked at the request.
    #[error("no answer for {0} ms; is the agent that made the job log still running?")]
    NoAnswer(u128),
    /// A name that does not fit.
    #[error("a gang's name of {0} bytes; expected 1 to 256 bytes without a zero")]
    Name(usize),
}
