//! The file system as the loader sees it.

use std::io;
use std::path::Path;

/// Where platform and trace files come from.
pub trait Files {
    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`std::fs::read`].
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Whether `path` is a file.
    fn is_file(&self, path: &Path) -> bool;
}

/// The real file system.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Files for Disk {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        std::fs::read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        path.is_file()
    }
}

/// No file at all, for fuzzing and for text that came from nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn read(&self, _: &Path) -> io::Result<Vec<u8>> {
        Err(io::ErrorKind::NotFound.into())
    }

    fn is_file(&self, _: &Path) -> bool {
        false
    }
}
