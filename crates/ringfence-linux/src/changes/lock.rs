//! One run at a time: the lock beside the journal.
//!
//! The kernel gives the lock back when its owner ends, in any way. So a journal without a
//! lock on it is of a run that crashed.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Why the lock is not ours.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else has it.
    #[error("ringfence is already at work here: {owner}; let it end first")]
    Held {
        /// Who, as it said itself.
        owner: String,
    },
    /// The folder may be changed by others.
    #[error("{folder}: found a folder that {why}, expected one that only we can write; remove it")]
    Unsafe {
        /// The folder.
        folder: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Without root there is no place for it.
    #[error(
        "found no XDG_RUNTIME_DIR, expected the folder of this session in it; log in, or name a folder"
    )]
    NoFolder,
    /// The file cannot be used.
    #[error("{path}: {error}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The lock, until it is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Folder of the lock and the journal: `/run/ringfence`, or that of the session without root.
///
/// # Errors
/// Without root the environment does not name the session's folder.
pub fn default_folder() -> Result<PathBuf, LockError> {
    if effective_user() == 0 {
        return Ok("/run/ringfence".into());
    }
    let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let session = session.filter(|folder| folder.is_absolute());
    Ok(session.ok_or(LockError::NoFolder)?.join("ringfence"))
}

impl Lock {
    /// Takes the lock of `folder`, which is made if it is not there; others are told that
    /// `command` has it.
    ///
    /// # Errors
    /// A living process has it, or the folder cannot be trusted or used.
    pub fn take(folder: &Path, command: &str) -> Result<Self, LockError> {
        make_folder(folder)?;
        let path = folder.join("lock");
        let failed = |error| LockError::File {
            path: path.clone(),
            error,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let mut file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => {
                let mut owner = String::new();
                let _ = file.read_to_string(&mut owner);
                Err(LockError::Held {
                    owner: owner.trim().to_owned(),
                })
            }
            Err(TryLockError::Error(error)) => Err(failed(error)),
            Ok(()) => {
                let owner = format!("{command}, process {}\n", std::process::id());
                file.set_len(0).map_err(failed)?;
                file.write_all(owner.as_bytes()).map_err(failed)?;
                Ok(Self { _file: file })
            }
        }
    }
}

/// What a journal says is done as it says, so nobody else may write one.
pub(crate) fn make_folder(folder: &Path) -> Result<(), LockError> {
    let failed = |error| LockError::File {
        path: folder.to_owned(),
        error,
    };
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    let found = folder.symlink_metadata().map_err(failed)?;
    let why = if !found.is_dir() {
        "is none"
    } else if found.uid() != effective_user() {
        "somebody else owns"
    } else if found.mode() & 0o022 != 0 {
        "others can write"
    } else {
        return Ok(());
    };
    Err(LockError::Unsafe {
        folder: folder.to_owned(),
        why,
    })
}

fn effective_user() -> u32 {
    // SAFETY: the call takes no arguments and cannot fail.
    unsafe { libc::geteuid() }
}
