//! `ringfence compare`: what changed between two records.

use crate::arguments::Compare;
use crate::commands::report::read;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Compares the cases and tasks that both records have.
pub fn run(arguments: &Compare) -> Result<Outcome, Failure> {
    let before = read(&arguments.before)?;
    let after = read(&arguments.after)?;
    let comparison = ringfence_analysis::compare(before.summary(), after.summary());
    if arguments.json {
        print_json(&comparison)?;
    } else {
        print_text(&ringfence_report::compare::text(&comparison))?;
    }
    Ok(Outcome::Pass)
}
