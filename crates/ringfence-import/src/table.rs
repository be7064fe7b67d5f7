//! Tables with comma-separated values under a row of names.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{Position, ReaderBuilder, StringRecord, Trim};
use ringfence_record::event::MAX_CASE_NS;

use crate::error::ImportError;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A table; `file` is what messages call it.
pub struct Table<'a> {
    file: &'a Path,
    bytes: &'a [u8],
    names: StringRecord,
    rows: Vec<StringRecord>,
}

/// A row of a table.
#[derive(Clone, Copy)]
pub struct Row<'a> {
    table: &'a Table<'a>,
    cells: &'a StringRecord,
}

impl<'a> Table<'a> {
    /// Reads a table whole.
    pub fn read(file: &'a Path, bytes: &'a [u8]) -> Result<Self, ImportError> {
        let mut reader = ReaderBuilder::new()
            .comment(Some(b'#'))
            .trim(Trim::All)
            .from_reader(bytes);
        let error = |error: csv::Error| {
            let line = line_of(bytes, error.position());
            let what = match error.kind() {
                csv::ErrorKind::UnequalLengths {
                    expected_len, len, ..
                } => format!("found {len} columns, expected {expected_len} as in the first row"),
                csv::ErrorKind::Utf8 { .. } => "found bytes that are no UTF-8 text".into(),
                _ => error.to_string(),
            };
            ImportError::at(file, line, 1, what)
        };
        let names = reader.headers().map_err(error)?.clone();
        let rows = reader.records().collect::<Result<_, _>>().map_err(error)?;
        Ok(Self {
            file,
            bytes,
            names,
            rows,
        })
    }

    /// The number of a column.
    pub fn column(&self, name: &str) -> Result<usize, ImportError> {
        self.names
            .iter()
            .position(|one| one == name)
            .ok_or_else(|| {
                let names: Vec<_> = self.names.iter().collect();
                let what = format!(
                    "found the columns {}, expected one called '{name}'",
                    names.join(", ")
                );
                let line = line_of(self.bytes, self.names.position());
                ImportError::at(self.file, line, 1, what)
            })
    }

    /// The rows that have these words in these columns.
    pub fn rows<'t>(
        &'t self,
        r#where: &BTreeMap<String, String>,
    ) -> Result<Vec<Row<'t>>, ImportError> {
        let mut wanted = Vec::new();
        for (name, word) in r#where {
            wanted.push((self.column(name)?, word.as_str()));
        }
        let is_wanted =
            |cells: &&StringRecord| wanted.iter().all(|(column, word)| &cells[*column] == *word);
        let rows = self.rows.iter().filter(is_wanted);
        Ok(rows.map(|cells| Row { table: self, cells }).collect())
    }
}

/// The line on which a record begins. The reader has it begin where the one before it ends: the rest
/// of a line break, comments and blank lines are still to come.
fn line_of(bytes: &[u8], position: Option<&Position>) -> usize {
    let mut begin = position.map_or(0, |position| position.byte() as usize);
    if begin == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
        begin = BYTE_ORDER_MARK.len();
    }
    while let Some(byte) = bytes.get(begin) {
        let rest = &bytes[begin..];
        begin += match byte {
            b'\r' | b'\n' => 1,
            b'#' => rest.iter().take_while(|byte| **byte != b'\n').count(),
            _ => break,
        };
    }
    1 + bytes[..begin].iter().filter(|byte| **byte == b'\n').count()
}

/// How long a case may be, in words.
pub fn at_most() -> String {
    format!("at most {} hours", MAX_CASE_NS / 3_600_000_000_000)
}

impl<'a> Row<'a> {
    /// What stands in a column.
    pub fn text(&self, column: usize) -> &'a str {
        &self.cells[column]
    }

    /// An error at a column; in a table with quotes or blanks the column of the text may be a little
    /// further.
    pub fn error(&self, column: usize, what: impl Into<String>) -> ImportError {
        let line = line_of(self.table.bytes, self.cells.position());
        let before = self.cells.iter().take(column);
        let place = 1 + before.map(|cell| cell.chars().count() + 1).sum::<usize>();
        ImportError::at(self.table.file, line, place, what)
    }

    /// A time of the case in whole nanoseconds; `None` where nothing stands.
    pub fn time_ns(&self, column: usize) -> Result<Option<u64>, ImportError> {
        let text = self.text(column);
        if text.is_empty() {
            return Ok(None);
        }
        let time_ns: u64 = text.parse().map_err(|_| {
            let what = format!("found {text:?}, expected a time in whole nanoseconds, 0 or more");
            self.error(column, what)
        })?;
        if time_ns > MAX_CASE_NS {
            let what = format!(
                "found {time_ns}, expected nanoseconds since the start of the case, {}",
                at_most()
            );
            return Err(self.error(column, what));
        }
        Ok(Some(time_ns))
    }

    /// A number that is finite.
    pub fn number(&self, column: usize) -> Result<f64, ImportError> {
        let text = self.text(column);
        let number = text.parse().ok().filter(|number: &f64| number.is_finite());
        number.ok_or_else(|| self.error(column, format!("found {text:?}, expected a number")))
    }
}
