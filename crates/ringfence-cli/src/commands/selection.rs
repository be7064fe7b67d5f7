//! The scenario that `plan` and `run` work on, with what the command line changes in it.

use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::{Files, quantity};

use crate::arguments::Selection;
use crate::outcome::Failure;

/// Loads the scenario from `files` and applies the flags.
pub fn load(selection: &Selection, files: &dyn Files) -> Result<Scenario, Failure> {
    let mut scenario = ringfence_scenario::load_from(&selection.scenario, files)?;
    if let Some(seed) = selection.seed {
        scenario.seed = seed;
    }
    if !selection.cases.is_empty() {
        select_cases(&mut scenario, &selection.cases)?;
    }
    match &selection.duration {
        Some(text) => with_duration(scenario, text),
        None => Ok(scenario),
    }
}

/// The flags that change the scenario, each with its value.
pub fn overrides(selection: &Selection) -> Vec<String> {
    let cases = selection.cases.iter().map(|name| format!("--case {name}"));
    let duration = selection.duration.as_ref();
    cases
        .chain(duration.map(|text| format!("--duration {text}")))
        .chain(selection.seed.map(|seed| format!("--seed {seed}")))
        .collect()
}

fn with_duration(scenario: Scenario, text: &str) -> Result<Scenario, Failure> {
    let duration_ns = quantity::parse_command_line_time(text);
    duration_ns
        .and_then(|duration_ns| scenario.with_duration(duration_ns))
        .map_err(|problem| Failure::Error(format!("--duration: {problem}")))
}

fn select_cases(scenario: &mut Scenario, names: &[String]) -> Result<(), Failure> {
    for name in names {
        if !scenario.cases.iter().any(|case| matches(case, name)) {
            let known: Vec<_> = scenario
                .cases
                .iter()
                .map(|case| case.name.as_str())
                .collect();
            return Err(Failure::Error(format!(
                "--case: no case is called '{name}'; there are {}",
                known.join(", ")
            )));
        }
    }
    scenario
        .cases
        .retain(|case| names.iter().any(|name| matches(case, name)));
    Ok(())
}

/// `solo` stands for every `solo/GANG`.
fn matches(case: &Case, name: &str) -> bool {
    case.name == name
        || case
            .name
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with('/'))
}
