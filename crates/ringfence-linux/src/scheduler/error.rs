//! Why the scheduler refuses.

use std::io;

use super::{MAX_CPUS, Membership};

/// Why the scheduler is not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libbpf or the kernel refused the programs.
    #[error("the kernel refused the scheduler: {0}")]
    Refused(#[from] libbpf_rs::Error),
    /// The machine is larger than what the programs were built for.
    #[error("this machine can have {cpus} CPUs, and the scheduler is built for {MAX_CPUS}")]
    TooManyCpus {
        /// CPUs that it can have.
        cpus: usize,
    },
    /// The scheduler refused what it was told.
    #[error("{what}: refused with {error}")]
    Told {
        /// What it was told.
        what: String,
        /// Its answer.
        error: io::Error,
    },
    /// A CPU number that the machine cannot have.
    #[error("found CPU {cpu}, and this machine can have CPUs 0 to {last}")]
    NoSuchCpu {
        /// The number.
        cpu: u16,
        /// The greatest.
        last: usize,
    },
    /// Nobody made room for a gang.
    #[error(
        "no gang of priority {} was added to partition {}",
        member.priority, member.partition
    )]
    NoSuchGang {
        /// The gang.
        member: Membership,
    },
    /// The maps cannot be read.
    #[error("the maps of the scheduler cannot be read: {0}; only root can")]
    Maps(libbpf_rs::Error),
    /// Another version has loaded the scheduler.
    #[error(
        "the scheduler's maps are not those of this version of ringfence; look with the version that enforces"
    )]
    OtherVersion,
    /// A counter cannot be used.
    #[error("a counter cannot be shared with the scheduler: {0}")]
    Counter(io::Error),
    /// A thread cannot join a gang.
    #[error("thread {tid} cannot join a gang: {error}")]
    Thread {
        /// The thread.
        tid: i32,
        /// Why.
        error: io::Error,
    },
}
