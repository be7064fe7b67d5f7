//! `ringfence bench`: how fast the simulator is on this machine, and what its parts do under a load.

mod dram;
mod llc;
mod platform;

use std::time::Duration;

use ringfence_sim::bench::{self, EngineBench, RequestorLatency};

use crate::arguments::{Bench, BenchEngine};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Measures and prints.
pub fn run(arguments: &Bench) -> Result<Outcome, Failure> {
    match arguments {
        Bench::Engine(arguments) => engine(arguments),
        Bench::Dram(arguments) => dram::run(arguments),
        Bench::Platform(arguments) => platform::run(arguments),
        Bench::Llc(arguments) => llc::run(arguments),
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

fn gigabytes(bytes_per_s: f64) -> f64 {
    bytes_per_s / 1e9
}

/// Latencies of the reads of each requestor.
fn requestor_table(mean_ns: f64, requestors: &[RequestorLatency]) -> String {
    let mut text = format!(
        "mean read latency {mean_ns:.1} ns; by requestor, in ns:\n\n{:>9}{:>12}{:>10}{:>10}{:>10}{:>10}{:>10}\n",
        "requestor", "reads GB/s", "mean", "50 %", "95 %", "99 %", "longest",
    );
    for (number, requestor) in requestors.iter().enumerate() {
        text += &format!(
            "{number:>9}{:>12.2}{:>10.1}{:>10.1}{:>10.1}{:>10.1}{:>10.1}\n",
            gigabytes(requestor.read_bytes_per_s),
            requestor.mean_ns,
            requestor.p50_ns,
            requestor.p95_ns,
            requestor.p99_ns,
            requestor.max_ns,
        );
    }
    text
}

/// How fast the load was simulated.
fn speed_text(
    wall_s: f64,
    requests_per_s: f64,
    best_requests_per_s: f64,
    ratio_to_walk: f64,
) -> String {
    format!(
        "\nsimulated in {wall_s:.2} s: {:.2} million requests per wall second, {:.2} in the fastest hundredth;\nratio to the lines per second of a plain walk over an array: {ratio_to_walk:.4}\n",
        requests_per_s / 1e6,
        best_requests_per_s / 1e6,
    )
}
