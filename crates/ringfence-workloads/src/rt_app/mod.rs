//! Import of rt-app's workload files (github.com/scheduler-tools/rt-app, doc/tutorial.txt).
//!
//! Tasks with a real-time policy become gangs, those of equal priority one gang; the
//! others become best-effort work. What rt-app can do and a scenario cannot say is
//! refused by the name of its key. What a scenario says a little differently is said in
//! a comment beside it.

mod events;
mod json;
mod scenario;
mod workload;

#[cfg(test)]
mod tests;

/// Why a file cannot be a scenario.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Not JSON, even with the liberties that rt-app's files take.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// From 1.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong.
        message: String,
    },
    /// A key whose meaning a scenario does not have, or a value that makes no sense.
    #[error("{key}: {problem}")]
    Key {
        /// Keys from the top, with points between them.
        key: String,
        /// What is wrong, and what to do.
        problem: String,
    },
}

/// The scenario file of a workload file, on `platform`: the name of a built-in one, or the path
/// of a file as seen from the scenario's.
///
/// # Errors
/// When a scenario cannot say what the workload is.
pub fn import(text: &str, platform: &str) -> Result<String, Error> {
    let file = json::parse(text)?;
    let workload = workload::read(&file)?;
    Ok(scenario::write(&workload, platform))
}
