//! Target hyp: the VMs of a scenario under our own hypervisor.
//!
//! A case becomes a constant C table ([`table`]) with its VMs placed in a board's
//! memory ([`layout`]); the hypervisor is built with it, and linked with the images
//! of the guests ([`image`], [`format`](mod@format)). [`run`] boots that image in QEMU, reads what the
//! hypervisor traces from the machine's memory ([`trace`]) and makes a record of it
//! ([`record`]).

pub mod board;
pub mod colours;
mod device_tree;
mod emulator;
pub mod format;
mod guest;
pub mod image;
pub mod layout;
pub mod record;
mod reserved;
pub mod run;
mod sources;
pub mod table;
pub mod trace;

/// Why a scenario cannot be built or run.
#[derive(Debug, thiserror::Error)]
pub enum HypError {
    /// This machine, this board or the hypervisor cannot do it.
    #[error("{0}")]
    Unsupported(String),
    /// Something is wrong with the scenario, its images or the run.
    #[error("{0}")]
    Failed(String),
    /// The record cannot be written.
    #[error(transparent)]
    Record(#[from] ringfence_record::WriteError),
}

impl HypError {
    /// A file or folder that fails.
    pub(crate) fn file(path: &std::path::Path, error: impl std::fmt::Display) -> Self {
        Self::Failed(format!("{}: {error}", path.display()))
    }
}
