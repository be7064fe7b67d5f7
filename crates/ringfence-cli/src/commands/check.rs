//! `ringfence check`: everything that is wrong with scenario files.

use ringfence_scenario::Diagnostics;
use ringfence_scenario::model::Scenario;

use crate::arguments::Check;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome, print_diagnostics};

/// Checks every file, and says what is wrong with all of them before it fails.
pub fn run(arguments: &Check) -> Result<Outcome, Failure> {
    let mut refused: Vec<Diagnostics> = Vec::new();
    for path in &arguments.scenarios {
        match ringfence_scenario::load(path) {
            Ok(scenario) if !arguments.json => print_text(&format!(
                "{}: good: {} on {}, {}, {} cases\n",
                path.display(),
                scenario.name,
                scenario.platform.name,
                work(&scenario),
                scenario.cases.len(),
            ))?,
            Ok(_) => {}
            Err(diagnostics) => refused.push(diagnostics),
        }
    }
    if arguments.json {
        let problems: Vec<_> = refused.iter().flat_map(Diagnostics::iter).collect();
        print_json(&serde_json::json!({ "problems": problems }))?;
    } else {
        for diagnostics in &refused {
            print_diagnostics(diagnostics);
        }
    }
    match refused.len() {
        0 => Ok(Outcome::Pass),
        _ => Err(Failure::Reported),
    }
}

fn work(scenario: &Scenario) -> String {
    match scenario.vms.len() {
        0 => format!(
            "{} gangs, {} best-effort entries",
            scenario.gangs.len(),
            scenario.best_effort.len()
        ),
        vms => format!("{vms} VMs"),
    }
}
