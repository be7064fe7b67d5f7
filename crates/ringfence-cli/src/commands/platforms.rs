//! `ringfence platforms`: the machines and memories that come with ringfence.

use ringfence_scenario::{DRAMS, PLATFORMS};

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
            print_text(&format!("memories: {}\n", memory_names()))?;
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

fn memory_names() -> String {
    let names: Vec<_> = DRAMS.iter().map(|memory| memory.name).collect();
    names.join(", ")
}

fn print_one(name: &str) -> Result<(), Failure> {
    let platform = PLATFORMS.iter().find(|platform| platform.name == name);
    let memory = DRAMS.iter().find(|memory| memory.name == name);
    let source = platform
        .map(|platform| platform.source)
        .or(memory.map(|memory| memory.source));
    let Some(source) = source else {
        let names: Vec<_> = PLATFORMS.iter().map(|platform| platform.name).collect();
        return Err(Failure::Error(format!(
            "no platform is called '{name}'; there are {}, and the memories {}; for a file of your own use its path as `platform` in the scenario",
            names.join(", "),
            memory_names()
        )));
    };
    print_text(source)
}
