//! What a record begins with: who wrote it, and the files that the run was made from.

use serde::{Deserialize, Serialize};

/// Who wrote the record, on what, and from what.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Target that ran the scenario: `sim`, `linux` or `hyp`.
    pub target: String,
    /// Version of the ringfence that wrote it.
    pub ringfence_version: String,
    /// Name of the scenario.
    pub scenario: String,
    /// The scenario's description.
    pub description: String,
    /// Name of the platform.
    pub platform: String,
    /// Kernel that ran it; `None` for a simulation.
    pub kernel: Option<String>,
    /// Seed of the run.
    pub seed: u64,
    /// What the command line changed in the scenario or broke on purpose: a flag
    /// with its value each, as `--seed 2`; the short form of a flag as its long one.
    pub overrides: Vec<String>,
    /// The files that the run was made from, each once, in the order in which
    /// they were first read: the scenario comes first.
    pub inputs: Vec<Input>,
}

impl Header {
    /// The overrides as a command line has them, a value with white space in quotes.
    pub fn flags(&self) -> String {
        let flag = |flag: &String| match flag.split_once(' ') {
            Some((name, value)) if value.contains(char::is_whitespace) => {
                format!("{name} {value:?}")
            }
            _ => flag.clone(),
        };
        self.overrides
            .iter()
            .map(flag)
            .collect::<Vec<_>>()
            .join(" ")
    }
}

/// A file that a run was made from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Input {
    /// What it was read as.
    pub kind: InputKind,
    /// Its path as it was given: for a scenario or a description on the command line, for the
    /// others in that file. `None` when it is built into ringfence.
    pub path: Option<String>,
    /// Bytes that it has.
    pub size_bytes: u64,
    /// SHA-256 of these bytes, lower-case hexadecimal.
    pub sha256: String,
}

/// What a file was read as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// The scenario.
    Scenario,
    /// The platform that the scenario names.
    Platform,
    /// A recorded memory trace that the scenario names.
    Trace,
    /// The description of a run that ringfence did not make.
    Description,
    /// A table of what happened in such a run.
    Table,
}

impl InputKind {
    /// What it is, as a noun.
    pub fn noun(self) -> &'static str {
        match self {
            InputKind::Scenario => "scenario",
            InputKind::Platform => "platform",
            InputKind::Trace => "trace",
            InputKind::Description => "description",
            InputKind::Table => "table",
        }
    }
}
