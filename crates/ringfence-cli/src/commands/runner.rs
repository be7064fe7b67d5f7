//! `ringfence runner`: one process of a run on this machine. `run` starts it.

use ringfence_workloads::runner::{self, Work};

use crate::arguments;
use crate::files::print_json;
use crate::outcome::{Failure, Outcome};

/// Does the work, and prints what was done as JSON.
pub fn run(arguments: &arguments::Runner) -> Result<Outcome, Failure> {
    let work: Work = serde_json::from_str(&arguments.work)
        .map_err(|error| Failure::Error(format!("the work: {error}")))?;
    let outcome = runner::run(&work).map_err(|error| Failure::Error(error.to_string()))?;
    print_json(&outcome)?;
    Ok(Outcome::Pass)
}
