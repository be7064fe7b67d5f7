//! How a command ends: its exit code, and how an error is shown.

use std::io::{IsTerminal, stderr};
use std::path::Path;
use std::process::ExitCode;

use ringfence_scenario::Diagnostics;

/// What a command that did its work found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Everything that was promised held.
    Pass,
    /// A deadline or a claim was missed.
    BoundMissed,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Pass => Self::SUCCESS,
            Outcome::BoundMissed => Self::from(2),
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Bad input or a failing system call, already in words.
    Error(String),
    /// A scenario or platform file with problems.
    Diagnostics(Diagnostics),
    /// Problems that the command has printed already.
    Reported,
    /// This machine cannot do it, already in words.
    Unsupported(String),
}

impl Failure {
    /// An error about a file.
    pub fn file(path: &Path, error: impl std::fmt::Display) -> Self {
        Self::Error(format!("{}: {error}", path.display()))
    }

    /// Prints the failure to standard error and gives its exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Error(text) => {
                eprintln!("error: {text}");
                ExitCode::from(1)
            }
            Self::Diagnostics(diagnostics) => {
                print_diagnostics(diagnostics);
                ExitCode::from(1)
            }
            Self::Reported => ExitCode::from(1),
            Self::Unsupported(text) => {
                eprintln!("not supported here: {text}");
                ExitCode::from(4)
            }
        }
    }
}

/// Prints problems to standard error, in colour on a terminal.
pub fn print_diagnostics(diagnostics: &Diagnostics) {
    if stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        eprintln!("{}\n", diagnostics.coloured());
    } else {
        eprintln!("{diagnostics}\n");
    }
}

impl From<Diagnostics> for Failure {
    fn from(diagnostics: Diagnostics) -> Self {
        Self::Diagnostics(diagnostics)
    }
}
