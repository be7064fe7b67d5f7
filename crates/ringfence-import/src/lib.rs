//! Records of runs that ringfence did not make, from tables of what happened in them.
//!
//! A description in TOML names the cases, and for each the tables of its jobs, its trajectories and
//! what was measured; `docs/src/importing-runs.md` has its keys. What a table says wrong is refused
//! with file, line and column.

mod assemble;
mod description;
mod error;
mod table;
mod tum;

use std::io;
use std::path::Path;

use ringfence_record::event::{Event, Header};

pub use error::ImportError;

/// What a file is read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// The description.
    Description,
    /// A table that it names.
    Table,
}

/// Where description and tables come from.
pub trait Source {
    /// The bytes of the file that is `given` in the description, which lies in `folder`; of the
    /// description itself as on the command line.
    ///
    /// # Errors
    /// As [`std::fs::read`].
    fn read(&self, kind: FileKind, folder: &Path, given: &Path) -> io::Result<Vec<u8>>;
}

/// A record that is yet to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// Its header, without inputs.
    pub header: Header,
    /// Its events: a section for each case.
    pub events: Vec<Event>,
}

/// Makes a record of the run that the file `description` describes.
///
/// # Errors
/// What is wrong, in the description or in a table, and where.
pub fn import(
    description: &Path,
    version: &str,
    source: &dyn Source,
) -> Result<Imported, ImportError> {
    let bytes = source
        .read(FileKind::Description, Path::new(""), description)
        .map_err(|error| ImportError::of_file(description, error.to_string()))?;
    let text = description::Text::new(description, bytes)?;
    let run = description::parse(&text)?;
    let files = assemble::Files {
        text: &text,
        folder: description.parent().unwrap_or(Path::new("")),
        source,
    };
    let mut events = Vec::new();
    for case in &run.cases {
        events.extend(assemble::case(case, &files)?);
    }
    Ok(Imported {
        header: Header {
            target: run.target,
            ringfence_version: version.into(),
            scenario: run.name,
            description: run.description,
            platform: run.platform,
            kernel: run.kernel,
            seed: run.seed,
            overrides: Vec::new(),
            inputs: Vec::new(),
        },
        events,
    })
}
