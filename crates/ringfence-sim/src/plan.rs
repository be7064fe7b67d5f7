//! What a run of a scenario would do, without doing it.

use ringfence_scenario::model::Scenario;
use ringfence_target::plan::{Plan, PlanError, RegulatedBy};

use crate::os::claims;

/// The plan of `scenario` on the modelled board.
///
/// # Errors
/// The first case that has too many threads to be run.
pub fn plan(scenario: &Scenario) -> Result<Plan, PlanError> {
    Plan::of(scenario, RegulatedBy::Traffic, |case| {
        claims(scenario, case)
    })
}
