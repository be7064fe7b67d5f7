//! The files that a run is made from, for the header of its record.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::Path;

use ringfence_record::event::{Input, InputKind};
use ringfence_scenario::{Builtin, FileKind, Files};
use sha2::{Digest, Sha256};

/// The real file system, which remembers what a scenario was read from.
#[derive(Default)]
pub struct Inputs {
    read: RefCell<Vec<Input>>,
}

impl Inputs {
    /// What was read, each file once, in the order of reading.
    pub fn into_read(self) -> Vec<Input> {
        self.read.into_inner()
    }

    fn note(
        &self,
        kind: InputKind,
        given: Option<&Path>,
        mut contents: impl Read,
    ) -> io::Result<()> {
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
            kind,
            path: given.map(|path| path.display().to_string()),
            size_bytes,
            sha256: hash.finalize().iter().map(|b| format!("{b:02x}")).collect(),
        };
        let mut read = self.read.borrow_mut();
        if !read.contains(&input) {
            read.push(input);
        }
        Ok(())
    }
}

fn input_kind(kind: FileKind) -> InputKind {
    match kind {
        FileKind::Scenario => InputKind::Scenario,
        FileKind::Platform => InputKind::Platform,
        FileKind::Trace => InputKind::Trace,
    }
}

impl ringfence_import::Source for Inputs {
    fn read(
        &self,
        kind: ringfence_import::FileKind,
        folder: &Path,
        given: &Path,
    ) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(folder.join(given))?;
        let kind = match kind {
            ringfence_import::FileKind::Description => InputKind::Description,
            ringfence_import::FileKind::Table => InputKind::Table,
        };
        self.note(kind, Some(given), &bytes[..])?;
        Ok(bytes)
    }
}

impl Files for Inputs {
    fn open(&self, kind: FileKind, folder: &Path, given: &Path) -> io::Result<Box<dyn Read>> {
        let mut file = File::open(folder.join(given))?;
        self.note(input_kind(kind), Some(given), &file)?;
        file.rewind()?;
        Ok(Box::new(file))
    }

    fn read(&self, kind: FileKind, folder: &Path, given: &Path) -> io::Result<Vec<u8>> {
        let bytes = std::fs::read(folder.join(given))?;
        self.note(input_kind(kind), Some(given), &bytes[..])?;
        Ok(bytes)
    }

    fn built_in(&self, platform: &Builtin) {
        self.note(InputKind::Platform, None, platform.source.as_bytes())
            .expect("bytes in memory can be read");
    }
}
