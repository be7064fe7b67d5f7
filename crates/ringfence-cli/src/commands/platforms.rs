//! `ringfence platforms`: the machines that come with ringfence.

use ringfence_scenario::PLATFORMS;

use crate::arguments::Platforms;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Lists the platforms, or prints the file of one.
pub fn run(arguments: &Platforms) -> Result<Outcome, Failure> {
    match &arguments.name {
        Some(name) => print_one(name)?,
        None if arguments.json => print_json(&list()?)?,
        None => {
            for platform in list()? {
                print_text(&format!("{:<18} {}\n", platform.name, platform.description))?;
            }
        }
    }
    Ok(Outcome::Pass)
}

/// A platform in the list.
#[derive(serde::Serialize)]
struct Entry {
    name: String,
    description: String,
    cores: u16,
    frequency_hz: u64,
}

fn list() -> Result<Vec<Entry>, Failure> {
    PLATFORMS
        .iter()
        .map(|builtin| {
            let platform = ringfence_scenario::load_platform(builtin.name)?;
            Ok(Entry {
                name: platform.name,
                description: platform.description,
                cores: platform.cores,
                frequency_hz: platform.frequency_hz,
            })
        })
        .collect()
}

fn print_one(name: &str) -> Result<(), Failure> {
    let Some(platform) = PLATFORMS.iter().find(|platform| platform.name == name) else {
        let names: Vec<_> = PLATFORMS.iter().map(|platform| platform.name).collect();
        return Err(Failure::Error(format!(
            "no platform is called '{name}'; there are {}; for a file of your own use its path as `platform` in the scenario",
            names.join(", ")
        )));
    };
    print_text(platform.source)
}
