//! The file system as the loader sees it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::builtin::Builtin;

/// What a file is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A scenario file.
    Scenario,
    /// A platform file, or one of a main memory alone.
    Platform,
    /// A recorded memory trace.
    Trace,
}

/// Where scenario, platform and trace files come from.
///
/// A file is `given` as on the command line or in a scenario, and lies at
/// `folder.join(given)`: `folder` is that of the scenario, or empty.
pub trait Files {
    /// Opens a file for reading. The stream need not be buffered.
    ///
    /// # Errors
    ///
    /// As [`File::open`].
    fn open(&self, kind: FileKind, folder: &Path, given: &Path) -> io::Result<Box<dyn Read>>;

    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`std::fs::read`].
    fn read(&self, kind: FileKind, folder: &Path, given: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(kind, folder, given)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Told that a scenario names this built-in platform, which is read from no file.
    fn built_in(&self, _: &Builtin) {}
}

/// The real file system.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, _: FileKind, folder: &Path, given: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(folder.join(given))?))
    }
}

/// No file at all, for fuzzing and for text that came from nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: FileKind, _: &Path, _: &Path) -> io::Result<Box<dyn Read>> {
        Err(io::ErrorKind::NotFound.into())
    }
}
