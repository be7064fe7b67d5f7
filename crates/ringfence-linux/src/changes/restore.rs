//! Undoing what a run left that ended without doing so itself.

use std::io;
use std::path::{Path, PathBuf};

use super::journal::{self, Contents, Journal, ParseError};
use super::lock::{Lock, LockError};
use super::machine::Machine;
use super::undo::{self, Undone};

/// Why nothing was restored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// The run is still there, or the folder cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The journal cannot be trusted.
    #[error(
        "{path}: {error}; nothing was restored: read it, undo what it lists and remove it, or restart the machine"
    )]
    Damaged {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        error: ParseError,
    },
    /// The journal cannot be read or written.
    #[error("{path}: {error}")]
    File {
        /// The journal.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// What was found and done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Restored {
    /// No run has left anything.
    NothingLeft,
    /// The journal was of an earlier start of the machine, which knows nothing of it any more.
    EarlierBoot {
        /// Who wrote it.
        command: String,
    },
    /// The changes of a run were undone.
    Changes {
        /// Who made them.
        command: String,
        /// Its process.
        pid: u32,
        /// What became of each, the last one first.
        undone: Vec<Undone>,
    },
}

/// What [`restore`] would do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// Who made the changes.
    pub command: String,
    /// Its process.
    pub pid: u32,
    /// What would be done unless it is so already or somebody else has changed it, in order.
    pub actions: Vec<String>,
}

/// Undoes the changes in the journal of `folder`.
///
/// # Errors
/// Its owner is alive, or the journal is damaged or cannot be read.
pub fn restore(folder: &Path, machine: &mut impl Machine) -> Result<Restored, RestoreError> {
    let Some((_lock, bytes, contents)) = left_behind(folder)? else {
        return Ok(Restored::NothingLeft);
    };
    let failed = |error| RestoreError::File {
        path: Journal::path(folder),
        error,
    };
    let journal = Journal::go_on(folder, &bytes).map_err(failed)?;
    let Some(Contents { owner, entries }) = contents else {
        journal.end().map_err(failed)?;
        return Ok(Restored::NothingLeft);
    };
    if owner.boot_id != machine.boot_id().map_err(failed)? {
        journal.end().map_err(failed)?;
        return Ok(Restored::EarlierBoot {
            command: owner.command,
        });
    }
    Ok(Restored::Changes {
        command: owner.command,
        pid: owner.pid,
        undone: undo::undo_all(machine, journal, &entries),
    })
}

/// What [`restore`] would do; `None` if nothing is left behind.
///
/// # Errors
/// As of [`restore`].
pub fn plan(folder: &Path, machine: &impl Machine) -> Result<Option<Plan>, RestoreError> {
    let Some((_lock, _, Some(Contents { owner, entries }))) = left_behind(folder)? else {
        return Ok(None);
    };
    let now = machine.boot_id().map_err(|error| RestoreError::File {
        path: Journal::path(folder),
        error,
    })?;
    let actions = match owner.boot_id == now {
        true => entries.iter().rev().map(undo::action).collect(),
        false => Vec::new(),
    };
    Ok(Some(Plan {
        command: owner.command,
        pid: owner.pid,
        actions,
    }))
}

type LeftBehind = (Lock, Vec<u8>, Option<Contents>);

fn left_behind(folder: &Path) -> Result<Option<LeftBehind>, RestoreError> {
    // Looking must not make the folder.
    if !folder.exists() {
        return Ok(None);
    }
    let lock = Lock::take(folder, "ringfence restore")?;
    let path = Journal::path(folder);
    let bytes = match std::fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(RestoreError::File { path, error }),
        Ok(bytes) => bytes,
    };
    match journal::parse(&bytes) {
        Ok(contents) => Ok(Some((lock, bytes, contents))),
        Err(error) => Err(RestoreError::Damaged { path, error }),
    }
}
