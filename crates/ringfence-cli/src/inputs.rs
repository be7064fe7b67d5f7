//! The files that a run is made from, for the header of its record.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

use ringfence_record::event::{Input, InputKind};
use ringfence_scenario::{BuiltinPlatform, FileKind, Files};
use sha2::{Digest, Sha256};

/// The real file system, which remembers what a scenario was read from.
pub struct Inputs {
    /// Folder of the scenario; the paths in it are relative to it.
    folder: PathBuf,
    read: RefCell<Vec<Input>>,
}

impl Inputs {
    /// For the scenario at `path`.
    pub fn of(path: &Path) -> Self {
        Self {
            folder: path.parent().map_or_else(PathBuf::new, Path::to_owned),
            read: RefCell::default(),
        }
    }

    /// What was read, each file once, in the order of reading.
    pub fn into_read(self) -> Vec<Input> {
        self.read.into_inner()
    }

    fn note(&self, kind: FileKind, path: Option<&Path>, mut contents: impl Read) -> io::Result<()> {
        let mut hash = Sha256::new();
        let mut size_bytes = 0;
        let mut chunk = vec![0; 1 << 16];
        loop {
            let count = contents.read(&mut chunk)?;
            if count == 0 {
                break;
            }
            hash.update(&chunk[..count]);
            size_bytes += count as u64;
        }
        let input = Input {
            kind: match kind {
                FileKind::Scenario => InputKind::Scenario,
                FileKind::Platform => InputKind::Platform,
                FileKind::Trace => InputKind::Trace,
            },
            path: path.map(|path| self.as_given(kind, path)),
            size_bytes,
            sha256: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
        };
        let mut read = self.read.borrow_mut();
        if !read.contains(&input) {
            read.push(input);
        }
        Ok(())
    }

    /// The loader puts the scenario's folder before the paths in the scenario.
    fn as_given(&self, kind: FileKind, path: &Path) -> String {
        let given = match kind {
            FileKind::Scenario => path,
            FileKind::Platform | FileKind::Trace => path.strip_prefix(&self.folder).unwrap_or(path),
        };
        given.display().to_string()
    }
}

impl Files for Inputs {
    fn open(&self, kind: FileKind, path: &Path) -> io::Result<Box<dyn Read>> {
        let mut file = File::open(path)?;
        self.note(kind, Some(path), &file)?;
        file.rewind()?;
        Ok(Box::new(file))
    }

    fn read(&self, kind: FileKind, path: &Path) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(path)?;
        self.note(kind, Some(path), &bytes[..])?;
        Ok(bytes)
    }

    fn built_in(&self, platform: &BuiltinPlatform) {
        self.note(FileKind::Platform, None, platform.source.as_bytes())
            .expect("bytes in memory can be read");
    }
}
