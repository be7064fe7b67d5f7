//! What is wrong, and where.

use std::path::{Path, PathBuf};

/// Why no record was made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {what}", file.display(), at(*place))]
pub struct ImportError {
    /// The file.
    pub file: PathBuf,
    /// Line and column, both from 1; `None` is the file as a whole.
    pub place: Option<(usize, usize)>,
    /// What was found, what was expected, and what to do.
    pub what: String,
}

fn at(place: Option<(usize, usize)>) -> String {
    place.map_or_else(String::new, |(line, column)| format!(":{line}:{column}"))
}

impl ImportError {
    /// Of a file as a whole.
    pub(crate) fn of_file(file: &Path, what: impl Into<String>) -> Self {
        Self {
            file: file.into(),
            place: None,
            what: what.into(),
        }
    }

    /// At a place in a file.
    pub(crate) fn at(file: &Path, line: usize, column: usize, what: impl Into<String>) -> Self {
        Self {
            place: Some((line, column)),
            ..Self::of_file(file, what)
        }
    }
}
