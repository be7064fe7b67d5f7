//! What can be wrong with a trace.

use std::io;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file or stream failed.
    #[error("cannot access the trace: {0}")]
    Io(#[from] io::Error),
    /// The first bytes are not [`crate::MAGIC`].
    #[error(
        "not a ringfence trace: it does not start with \"rftrace\"; expected a file written by `ringfence trace record`"
    )]
    NotATrace,
    /// Written by another version of the format.
    #[error(
        "trace format version {found}, but this ringfence reads version {expected}; record the program again"
    )]
    Version {
        /// In the file.
        found: u32,
        /// [`crate::VERSION`].
        expected: u32,
    },
    /// The file ends early or its bytes were changed.
    #[error("trace damaged {place} at byte {offset}: {reason}; copy or record it again")]
    Damaged {
        /// Part of the trace.
        place: Place,
        /// Start of the damaged block in the file.
        offset: u64,
        /// What was found.
        reason: String,
    },
    /// An access that the format cannot hold, given to [`crate::Writer::access`].
    #[error("a trace cannot hold {0}")]
    Access(&'static str),
    /// [`crate::Writer::finish`] was called inside a job.
    #[error("the trace ends inside job {0}; end the job first")]
    UnfinishedJob(u64),
    /// The metadata is too long for the format.
    #[error(
        "the trace's metadata takes {found} bytes, more than {expected}; shorten the command line"
    )]
    MetadataTooLong {
        /// Encoded length in bytes.
        found: usize,
        /// Most bytes allowed.
        expected: usize,
    },
}

/// Part of a trace, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// Before the first job.
    Header,
    /// A job, counted from 0; for the last number also the end of the trace.
    Job(u64),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Header => write!(f, "in its header"),
            Place::Job(number) => write!(f, "in job {number}"),
        }
    }
}
