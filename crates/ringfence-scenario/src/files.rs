//! The file system as the loader sees it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Where platform and trace files come from.
pub trait Files {
    /// Opens a file for reading. The stream need not be buffered.
    ///
    /// # Errors
    ///
    /// As [`File::open`].
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>>;

    /// The bytes of a file.
    ///
    /// # Errors
    ///
    /// As [`std::fs::read`].
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// The real file system.
#[derive(Debug, Clone, Copy)]
pub struct Disk;

impl Files for Disk {
    fn open(&self, path: &Path) -> io::Result<Box<dyn Read>> {
        Ok(Box::new(File::open(path)?))
    }
}

/// No file at all, for fuzzing and for text that came from nowhere.
#[derive(Debug, Clone, Copy)]
pub struct NoFiles;

impl Files for NoFiles {
    fn open(&self, _: &Path) -> io::Result<Box<dyn Read>> {
        Err(io::ErrorKind::NotFound.into())
    }
}
