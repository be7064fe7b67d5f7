//! Scenario and platform files as they are written.
//!
//! One declaration of a table ([`file_table!`]) gives the Rust type, its
//! reader and, through `schemars`, its JSON Schema and reference. Reading does
//! not stop at the first problem: a table whose required keys are missing or
//! wrong is dropped after all its problems are reported, the rest is read on.
//!
//! The doc comments of the types in here are what users read in the generated
//! reference and in their editors.

pub mod channel;
mod macros;
pub mod numbers;
pub mod platform;
pub mod program;
pub mod rate;
pub mod scenario;
pub mod value;
pub mod vm;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use std::borrow::Cow;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::diagnostic::{Problems, Span};
use crate::suggest::nearest;

/// A value and where it stands in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located<T> {
    /// The value.
    pub value: T,
    /// Where it stands.
    pub span: Span,
}

/// A list of tables or values; empty when its key is absent.
pub type List<T> = Vec<Located<T>>;

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// A type that a TOML value can be read into.
pub(crate) trait Decode: Sized {
    /// What to write, as in `expected …`.
    fn expected() -> String;

    /// Reads `value`; on failure reports what is wrong with it and gives nothing.
    fn decode(value: &DeValue<'_>, span: Span, problems: &mut Problems) -> Option<Self>;
}

/// A key of a table: required, optional or a list.
pub(crate) trait Field: Sized {
    /// Reads the key. Nothing means that the table cannot be used.
    fn take(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<Self>;
}

impl<T: Decode> Field for Located<T> {
    fn take(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<Self> {
        match reader.table_entry(key) {
            Some(entry) => reader.decode(entry),
            None => {
                reader.report_missing(key, &T::expected());
                None
            }
        }
    }
}

impl<T: Decode> Field for Option<Located<T>> {
    fn take(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<Self> {
        Some(
            reader
                .table_entry(key)
                .and_then(|entry| reader.decode(entry)),
        )
    }
}

impl<T: Decode> Field for List<T> {
    fn take(reader: &mut TableReader<'_, '_>, key: &'static str) -> Option<Self> {
        let Some(entry) = reader.table_entry(key) else {
            return Some(Vec::new());
        };
        match entry.get_ref() {
            DeValue::Array(array) => Some(
                array
                    .iter()
                    .filter_map(|item| reader.decode(item))
                    .collect(),
            ),
            other => {
                reader.problems.report(
                    entry.span().into(),
                    describe(other),
                    format!("a list, each entry {}", T::expected()),
                );
                Some(Vec::new())
            }
        }
    }
}

/// Takes the keys out of one table and reports those that are left over.
pub(crate) struct TableReader<'t, 'p> {
    table: &'t DeTable<'t>,
    span: Span,
    keys: &'p [&'p str],
    problems: &'p mut Problems,
}

impl<'t, 'p> TableReader<'t, 'p> {
    /// Reads `table`, which may have `keys`.
    pub(crate) fn new(
        table: &'t DeTable<'t>,
        span: Span,
        keys: &'p [&'p str],
        problems: &'p mut Problems,
    ) -> Self {
        Self {
            table,
            span,
            keys,
            problems,
        }
    }

    /// Reports that the required `key` is missing. Of a list of tables, which
    /// may have many alike, it names the entry and says what it may hold.
    fn report_missing(&mut self, key: &str, expected: &str) {
        let expected = format!("`{key}`: {expected}");
        let header = self.problems.text_at(self.span);
        if !header.starts_with("[[") {
            let found = format!("no key `{key}` here");
            self.problems.report(self.span, found, expected);
            return;
        }
        let found = match text_at(self.table, "name") {
            Some((name, _)) => format!("no key `{key}` in {header} `{}`", shortened(name)),
            None => format!("no key `{key}` in {header}"),
        };
        let help = format!("the keys of {header} are {}", quoted(self.keys, "and"));
        self.problems
            .report_with_help(self.span, found, expected, help);
    }

    /// Reports every key that the table may not have.
    pub(crate) fn refuse_unknown(&mut self) {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !self.keys.contains(&name) {
                let span = key.span().into();
                let found = format!("unknown key `{name}`");
                let expected = format!("one of {}", quoted_list(self.keys));
                match nearest(name, self.keys.iter().copied()) {
                    Some(near) => self.problems.report_with_help(
                        span,
                        found,
                        expected,
                        format!("did you mean `{near}`?"),
                    ),
                    None => self.problems.report(span, found, expected),
                }
            }
        }
    }

    fn table_entry(&self, key: &str) -> Option<&'t Spanned<DeValue<'t>>> {
        self.table.get(key)
    }

    fn decode<T: Decode>(&mut self, value: &Spanned<DeValue<'_>>) -> Option<Located<T>> {
        let span = value.span().into();
        let value = T::decode(value.get_ref(), span, self.problems)?;
        Some(Located { value, span })
    }
}

/// The text at `key` of a table, as far as it is one.
pub(crate) fn text_at<'t>(table: &'t DeTable<'_>, key: &str) -> Option<(&'t str, Span)> {
    let value = table.get(key)?;
    Some((value.get_ref().as_str()?, value.span().into()))
}

/// What a TOML value is, for `found …`.
pub(crate) fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {:?}", shortened(text)),
        DeValue::Integer(number) => format!("the bare number {number}"),
        DeValue::Float(number) => format!("the bare number {number}"),
        DeValue::Boolean(flag) => format!("{flag}"),
        DeValue::Datetime(_) => "a date".to_owned(),
        DeValue::Array(_) => "a list".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// At most the first 40 characters of `text`.
pub(crate) fn shortened(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]).into(),
        None => text.into(),
    }
}

/// "`a`, `b` or `c`".
pub(crate) fn quoted_list<S: AsRef<str>>(words: &[S]) -> String {
    quoted(words, "or")
}

/// "`a`, `b` and `c`", with any last `conjunction`.
pub(crate) fn quoted<S: AsRef<str>>(words: &[S], conjunction: &str) -> String {
    let quoted: Vec<String> = words.iter().map(|w| format!("`{}`", w.as_ref())).collect();
    match quoted.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}
