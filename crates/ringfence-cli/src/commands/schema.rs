//! `ringfence schema`: what an editor needs to complete and check files.

use crate::arguments::{Schema, SchemaOf};
use crate::files::print_text;
use crate::outcome::{Failure, Outcome};

/// Prints a JSON Schema.
pub fn run(arguments: &Schema) -> Result<Outcome, Failure> {
    print_text(&match arguments.of {
        SchemaOf::Scenario => ringfence_scenario::scenario_schema(),
        SchemaOf::Platform => ringfence_scenario::platform_schema(),
    })?;
    Ok(Outcome::Pass)
}
