//! `ringfence guard`: waits beside a run on this machine, which starts it.

use std::io::stdin;

use crate::arguments::Guard;
use crate::outcome::{Failure, Outcome};

/// Undoes the changes of the run at the other end of the standard input, if it ends without
/// saying that it has done so.
pub fn run(arguments: &Guard) -> Result<Outcome, Failure> {
    ringfence_linux::portable::watch(stdin(), &arguments.journal)
        .map_err(|error| Failure::Error(error.to_string()))?;
    Ok(Outcome::Pass)
}
