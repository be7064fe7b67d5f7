//! Why a machine cannot be built.

use thiserror::Error;

/// A platform or program that the exact engine cannot run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum MachineError {
    /// The platform has no memory system.
    #[error(
        "platform `{platform}` has no caches and DRAM; give it a memory system or run compute programs only"
    )]
    NoMemory {
        /// Name of the platform.
        platform: String,
    },
    /// A size that must be a power of two.
    #[error("{what} is {value}, expected a power of two")]
    NotPowerOfTwo {
        /// Which size.
        what: &'static str,
        /// Its value.
        value: u64,
    },
    /// A value that the model cannot represent.
    #[error("{what} is {value}, expected {expected}")]
    OutOfRange {
        /// Which value.
        what: &'static str,
        /// Its value.
        value: u64,
        /// What is possible.
        expected: &'static str,
    },
    /// A value that is too small for others.
    #[error("{what} is {value}, expected at least {least}: {why}")]
    TooSmall {
        /// Which value.
        what: &'static str,
        /// Its value.
        value: u64,
        /// The least that is possible.
        least: u64,
        /// What makes it so.
        why: &'static str,
    },
    /// The programs need more memory than the platform has.
    #[error(
        "`{task}` needs {needed_bytes} bytes, but only {free_bytes} of the platform's DRAM are free; shrink the working sets"
    )]
    OutOfMemory {
        /// Task or best-effort work that found too little.
        task: String,
        /// Bytes asked for.
        needed_bytes: u64,
        /// Bytes left.
        free_bytes: u64,
    },
    /// The programs of a class of service need more memory than its colours have.
    #[error(
        "`{task}` needs {needed_bytes} bytes, but only {free_bytes} of the {colours} colours of class of service `{class}` are free; give the class more colours or shrink its working sets"
    )]
    OutOfColours {
        /// Task or best-effort work that found too little.
        task: String,
        /// Its class of service.
        class: String,
        /// Colours of the class.
        colours: usize,
        /// Bytes asked for.
        needed_bytes: u64,
        /// Bytes left in these colours.
        free_bytes: u64,
    },
    /// A program that keeps to one bank of the last-level cache finds too few lines in it.
    #[error(
        "only {lines} lines of a working set lie in bank {bank} of the last-level cache, for {lists} lists; enlarge the working set"
    )]
    FewLinesInBank {
        /// The bank.
        bank: u16,
        /// Lines in it.
        lines: u64,
        /// Lists that want one each.
        lists: u8,
    },
    /// A trace that cannot be replayed.
    #[error("trace {}: {reason}", path.display())]
    Trace {
        /// Its file.
        path: std::path::PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A program for the machine without memory.
    #[error("compute programs have no memory accesses; the machine without memory runs them")]
    ComputeProgram,
}

/// Passes `value` on if it is a power of two.
pub(crate) fn power_of_two(what: &'static str, value: u64) -> Result<u64, MachineError> {
    if value.is_power_of_two() {
        Ok(value)
    } else {
        Err(MachineError::NotPowerOfTwo { what, value })
    }
}
