//! `ringfence check`: everything that is wrong with scenario files.

use ringfence_analysis::cache_share::ranges;
use ringfence_scenario::Diagnostics;
use ringfence_scenario::model::Scenario;

use crate::arguments::Check;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome, print_diagnostics};

/// Checks every file, and says what is wrong with all of them before it fails.
pub fn run(arguments: &Check) -> Result<Outcome, Failure> {
    let mut refused: Vec<Diagnostics> = Vec::new();
    let mut notes_of_all: Vec<String> = Vec::new();
    for path in &arguments.scenarios {
        match ringfence_scenario::load(path) {
            Ok(scenario) => {
                let of_file = notes(&scenario);
                let of_file = of_file.map(|note| format!("{}: note: {note}", path.display()));
                notes_of_all.extend(of_file);
                if !arguments.json {
                    print_text(&format!(
                        "{}: good: {} on {}, {}, {} cases\n",
                        path.display(),
                        scenario.name,
                        scenario.platform.name,
                        work(&scenario),
                        scenario.cases.len(),
                    ))?;
                }
            }
            Err(diagnostics) => refused.push(diagnostics),
        }
    }
    if arguments.json {
        let problems: Vec<_> = refused.iter().flat_map(Diagnostics::iter).collect();
        print_json(&serde_json::json!({ "problems": problems, "notes": notes_of_all }))?;
    } else {
        for note in notes_of_all {
            print_text(&format!("{note}\n"))?;
        }
        for diagnostics in &refused {
            print_diagnostics(diagnostics);
        }
    }
    match refused.len() {
        0 => Ok(Outcome::Pass),
        _ => Err(Failure::Reported),
    }
}

/// What is not wrong, but better meant: VMs that compete for sets of the cache.
fn notes(scenario: &Scenario) -> impl Iterator<Item = String> {
    let vms = &scenario.vms;
    let pairs = (0..vms.len()).flat_map(move |n| (0..n).map(move |m| (&vms[m], &vms[n])));
    pairs.filter_map(|(first, second)| {
        let shared = first.shared_colours(second);
        let (first, second) = (&first.name, &second.name);
        (!shared.is_empty()).then(|| {
            format!(
                "the VMs `{first}` and `{second}` share the colours {}",
                ranges(&shared)
            )
        })
    })
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
