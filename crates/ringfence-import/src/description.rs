//! The description of a run, as it is written.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ringfence_record::accuracy::Quantity;
use ringfence_scenario::quantity::TIME;
use serde::Deserialize;
use toml::Spanned;

use crate::error::ImportError;

/// A text and where it is from.
pub struct Text<'a> {
    file: &'a Path,
    text: String,
}

/// A run.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub target: String,
    pub platform: String,
    pub kernel: Option<String>,
    #[serde(default)]
    pub seed: u64,
    #[serde(rename = "case", default)]
    pub cases: Vec<Case>,
}

/// A case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub name: Spanned<String>,
    pub duration: Spanned<String>,
    #[serde(rename = "task", default)]
    pub tasks: Vec<Task>,
    #[serde(rename = "trajectory", default)]
    pub trajectories: Vec<Trajectory>,
    #[serde(rename = "measure", default)]
    pub measures: Vec<Measure>,
}

/// A task and the table of its jobs.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Task {
    pub name: String,
    /// The task's own name, if it is left out.
    pub gang: Option<String>,
    pub priority: Spanned<u8>,
    pub period: Spanned<String>,
    pub deadline: Spanned<String>,
    #[serde(default)]
    pub sporadic: bool,
    pub jobs: Rows,
}

/// Rows of a table: all, or those with these words in these columns.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rows {
    pub table: Spanned<PathBuf>,
    #[serde(default)]
    pub r#where: BTreeMap<String, String>,
}

/// A trajectory, in TUM's format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trajectory {
    pub name: String,
    pub estimate: Spanned<PathBuf>,
    pub truth: Option<Spanned<PathBuf>>,
    #[serde(default = "yes")]
    pub aligned: bool,
    pub median_limit_m: Option<Spanned<f64>>,
}

/// A measure and a column of its values.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    pub name: String,
    pub quantity: Spanned<Quantity>,
    /// In the unit of the values.
    pub limit: Option<Spanned<f64>>,
    pub values: Column,
}

/// A column of a table, in some of its rows.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Column {
    pub table: Spanned<PathBuf>,
    pub column: String,
    #[serde(default)]
    pub r#where: BTreeMap<String, String>,
}

fn yes() -> bool {
    true
}

impl<'a> Text<'a> {
    /// A text has to be UTF-8.
    pub fn new(file: &'a Path, bytes: Vec<u8>) -> Result<Self, ImportError> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self { file, text }),
            Err(_) => Err(ImportError::of_file(
                file,
                "found bytes that are no UTF-8 text, expected the description of a run in TOML",
            )),
        }
    }

    /// An error at a place in it.
    pub fn error(&self, span: Range<usize>, what: impl Into<String>) -> ImportError {
        let start = self.text.floor_char_boundary(span.start);
        let before = &self.text[..start];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        ImportError::at(self.file, line, column, what)
    }

    /// A time in nanoseconds.
    pub fn time_ns(&self, value: &Spanned<String>) -> Result<u64, ImportError> {
        let text = value.get_ref();
        TIME.parse(text).map_err(|_| {
            let what = format!("found {text:?}, expected a time with its unit such as \"50 ms\"");
            self.error(value.span(), what)
        })
    }
}

/// Reads a description.
pub fn parse(text: &Text) -> Result<Run, ImportError> {
    let run = toml::from_str(&text.text).map_err(|error| {
        text.error(
            error.span().unwrap_or(0..0),
            error.message().replace('\n', "; "),
        )
    })?;
    one_quantity_a_name(&run, text)?;
    Ok(run)
}

/// Reports compare what has one name.
fn one_quantity_a_name(run: &Run, text: &Text) -> Result<(), ImportError> {
    let mut quantities = BTreeMap::new();
    for measure in run.cases.iter().flat_map(|case| &case.measures) {
        let (name, quantity) = (&measure.name, *measure.quantity.get_ref());
        if *quantities.entry(name).or_insert(quantity) != quantity {
            let what = format!(
                "'{name}' has another quantity above; expected the same one, or another name"
            );
            return Err(text.error(measure.quantity.span(), what));
        }
    }
    Ok(())
}
