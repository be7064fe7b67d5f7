//! `ringfence bench`: how fast the simulator is on this machine, and what its parts do under a load.

mod dram;
mod platform;

use std::time::Duration;

use ringfence_sim::bench::{self, EngineBench};

use crate::arguments::{Bench, BenchEngine};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Measures and prints.
pub fn run(arguments: &Bench) -> Result<Outcome, Failure> {
    match arguments {
        Bench::Engine(arguments) => engine(arguments),
        Bench::Dram(arguments) => dram::run(arguments),
        Bench::Platform(arguments) => platform::run(arguments),
    }
}

fn engine(arguments: &BenchEngine) -> Result<Outcome, Failure> {
    let platform = ringfence_scenario::load_platform(&arguments.platform)?;
    let time_per_case = Duration::from_secs(u64::from(arguments.seconds));
    let figures = bench::engine(&platform, time_per_case)
        .map_err(|error| Failure::Error(error.to_string()))?;
    if arguments.json {
        print_json(&figures)?;
    } else {
        print_text(&text(&figures))?;
    }
    Ok(Outcome::Pass)
}

fn text(figures: &EngineBench) -> String {
    let mut text = format!(
        "{}: simulated accesses per wall second; the ratio is to the lines per second\nof a plain walk over an array, measured beside each case\n\n{:<28}{:>16}{:>16}{:>10}\n",
        figures.platform, "case", "accesses/s", "walk lines/s", "ratio"
    );
    for case in &figures.cases {
        text += &format!(
            "{:<28}{:>14.2} M{:>14.2} M{:>10.4}\n",
            case.name,
            case.accesses_per_s / 1e6,
            case.walk_lines_per_s / 1e6,
            case.ratio_to_walk
        );
    }
    text
}
