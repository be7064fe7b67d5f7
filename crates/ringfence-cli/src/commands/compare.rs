//! `ringfence compare`: what changed between two records.

use ringfence_analysis::compare::compare;
use ringfence_report::compare::{write, write_json};

use crate::arguments::Compare;
use crate::commands::report::read;
use crate::files::print_with;
use crate::outcome::{Failure, Outcome};

/// Compares the cases and tasks that both records have.
pub fn run(arguments: &Compare) -> Result<Outcome, Failure> {
    let before = read(&arguments.before)?;
    let after = read(&arguments.after)?;
    let comparison = compare(&before.summary, &after.summary);
    if arguments.json {
        print_with(|out| write_json(&comparison, out))?;
    } else {
        let names = [&arguments.before, &arguments.after].map(|path| path.display().to_string());
        print_with(|out| write(&comparison, [&names[0], &names[1]], out))?;
    }
    Ok(Outcome::Pass)
}
