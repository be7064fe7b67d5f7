//! The journal: what was changed, written down before it is.
//!
//! Lines of JSON. A line that was not written to its end has no newline, and what it speaks
//! of was never done.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::subject::{State, Subject};

/// Version of the lines.
pub const VERSION: u32 = 1;

/// Who writes the journal: its first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// [`VERSION`].
    pub ringfence_journal: u32,
    /// The start of the machine that it is of.
    pub boot_id: String,
    /// The process.
    pub pid: u32,
    /// What it does, for people.
    pub command: String,
}

/// A change that is about to be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its number, from 1 on.
    pub change: u64,
    /// What is changed.
    pub subject: Subject,
    /// How it was.
    pub before: State,
    /// How it is to be. None: the owner changes it again and again, and whatever it is, the
    /// owner made it so.
    pub after: Option<State>,
}

/// A line after the first.
#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged)]
enum Line {
    Change(Entry),
    Undone { undone: u64 },
}

/// What is in a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    /// Who wrote it.
    pub owner: Owner,
    /// Changes that were not undone, in the order in which they were made.
    pub entries: Vec<Entry>,
}

/// What is wrong with a journal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: found {found}, expected {expected}")]
pub struct ParseError {
    /// Number of the line, from 1 on.
    pub line: usize,
    /// What was found.
    pub found: String,
    /// What was expected.
    pub expected: &'static str,
}

/// Reads a journal. `None` if its writer came to no change.
///
/// # Errors
/// A whole line is not what ringfence writes: nothing of the journal is to be trusted.
pub fn parse(bytes: &[u8]) -> Result<Option<Contents>, ParseError> {
    let mut lines = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .take_while(|line| line.ends_with(b"\n"))
        .enumerate()
        .map(|(index, line)| (index + 1, line));
    let Some((_, first)) = lines.next() else {
        return Ok(None);
    };
    let owner: Owner = json(1, first, "the journal's owner")?;
    if owner.ringfence_journal != VERSION {
        return Err(ParseError {
            line: 1,
            found: format!("version {}", owner.ringfence_journal),
            expected: "version 1: use the ringfence that wrote it",
        });
    }
    let mut all: Vec<(Entry, bool)> = Vec::new();
    for (line, text) in lines {
        match json(line, text, "a change, or that one is undone")? {
            Line::Change(entry) => {
                check(&entry, all.len() as u64 + 1, line)?;
                all.push((entry, false));
            }
            Line::Undone { undone } => {
                let index = usize::try_from(undone).ok().and_then(|n| n.checked_sub(1));
                let entry = index.and_then(|index| all.get_mut(index));
                let (_, is_undone) = entry.ok_or_else(|| ParseError {
                    line,
                    found: format!("that change {undone} is undone"),
                    expected: "the number of a change before",
                })?;
                *is_undone = true;
            }
        }
    }
    let left = all.into_iter().filter(|(_, is_undone)| !is_undone);
    Ok(Some(Contents {
        owner,
        entries: left.map(|(entry, _)| entry).collect(),
    }))
}

fn json<T: serde::de::DeserializeOwned>(
    line: usize,
    text: &[u8],
    expected: &'static str,
) -> Result<T, ParseError> {
    serde_json::from_slice(text).map_err(|error| ParseError {
        line,
        found: error.to_string(),
        expected,
    })
}

fn check(entry: &Entry, number: u64, line: usize) -> Result<(), ParseError> {
    if entry.change != number {
        return Err(ParseError {
            line,
            found: format!("change {}", entry.change),
            expected: "changes that are numbered without gaps",
        });
    }
    let states = [Some(&entry.before), entry.after.as_ref()];
    let refused = states
        .into_iter()
        .flatten()
        .find_map(|state| entry.subject.refuses(state));
    refused.map_or(Ok(()), |why| {
        Err(ParseError {
            line,
            found: why.to_owned(),
            expected: "a change that ringfence makes",
        })
    })
}

/// A journal that is written.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
}

impl Journal {
    /// Where the journal is in a folder.
    pub fn path(folder: &Path) -> PathBuf {
        folder.join("journal.jsonl")
    }

    /// Begins a journal; there must be none.
    ///
    /// # Errors
    /// There is one, or the folder cannot be written.
    pub fn begin(folder: &Path, owner: &Owner) -> io::Result<Self> {
        let path = Self::path(folder);
        let mut options = OpenOptions::new();
        let file = options.append(true).create_new(true).mode(0o600);
        let mut journal = Self {
            file: file.open(&path)?,
            path,
        };
        journal.append(owner)?;
        sync_folder(&journal.path)?;
        Ok(journal)
    }

    /// Goes on with the journal of somebody else, whose last line is cut off if it is no
    /// whole one.
    ///
    /// # Errors
    /// It cannot be read or written.
    pub fn go_on(folder: &Path, bytes: &[u8]) -> io::Result<Self> {
        let path = Self::path(folder);
        let file = OpenOptions::new().append(true).open(&path)?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        file.set_len(whole.map_or(0, |last| last as u64 + 1))?;
        Ok(Self { file, path })
    }

    /// Writes a change down, on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written; then the change must not be made.
    pub fn about_to(&mut self, entry: &Entry) -> io::Result<()> {
        self.append(entry)
    }

    /// Writes down that a change is undone.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn undone(&mut self, change: u64) -> io::Result<()> {
        self.append(&Line::Undone { undone: change })
    }

    /// Takes the journal away: nothing is left to undo.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub fn end(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)?;
        sync_folder(&self.path)
    }

    fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let length = self.file.metadata()?.len();
        let written = self.file.write_all(&text);
        let synced = written.and_then(|()| self.file.sync_data());
        if synced.is_err() {
            // Half a line must not become the beginning of the next one.
            self.file.set_len(length)?;
        }
        synced
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    File::open(folder)?.sync_all()
}
