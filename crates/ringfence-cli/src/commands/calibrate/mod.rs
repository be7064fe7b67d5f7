//! `ringfence calibrate`: this machine as a platform file, and what predictions from it are worth.

mod compare;
mod page;
mod simulate;

use std::path::Path;

use indicatif::ProgressBar;
use ringfence_calibrate::figures::Figures;
use ringfence_calibrate::measure::{self, Effort, MeasureError};
use ringfence_calibrate::platform_file::{self, Family, PlatformError};
use ringfence_workloads::inventory::Inventory;

use ringfence_workloads::cpu;

use crate::arguments::Calibrate;
use crate::files::{print_json, print_text, write_whole};
use crate::outcome::{Failure, Outcome};
use crate::progress::spinner;

/// Measures and writes the platform, or compares with one.
pub fn run(arguments: &Calibrate) -> Result<Outcome, Failure> {
    let inventory = inventory(arguments)?;
    let effort = match arguments.quick {
        true => Effort::Quick,
        false => Effort::Full,
    };
    if let Some(platform) = &arguments.compare {
        return compare::run(arguments, platform, &inventory, effort);
    }
    let family = family(&arguments.memory)?;
    let line = spinner(arguments.quiet);
    let tell = |what: &str| tell(&line, what);
    let figures = measure::measure(&inventory, effort, &tell).map_err(refused)?;
    tell("latency on the model");
    let file = platform_file::write(&figures, &family, arguments.channels, |platform| {
        let bytes = figures
            .memory
            .as_ref()
            .map_or(0, |memory| memory.arrays.dram);
        simulate::chase_ns(platform, bytes).map_err(|error| error.to_string())
    })
    .map_err(unwritten)?;
    line.finish_and_clear();
    write_whole(&arguments.output, |output| {
        output.write_all(file.as_bytes())
    })?;
    for warning in &figures.warnings {
        eprintln!("warning: {warning}");
    }
    match arguments.json {
        true => print_json(&figures)?,
        false if arguments.output == Path::new("-") => {}
        false => print_text(&text(&figures, &arguments.output))?,
    }
    Ok(Outcome::Pass)
}

/// The processors that the command line asks for, as the system describes them.
fn inventory(arguments: &Calibrate) -> Result<Inventory, Failure> {
    let allowed = cpu::allowed().map_err(|error| {
        Failure::Unsupported(format!(
            "the system does not say which cores there are: {error}"
        ))
    })?;
    let cpus = match &arguments.cores {
        None => allowed,
        Some(wanted) => {
            if let Some(cpu) = wanted.0.iter().find(|cpu| !allowed.contains(cpu)) {
                return Err(Failure::Error(format!(
                    "--cores: found core {cpu}, expected some of those that this process may use: {}",
                    ringfence_analysis::cache_share::ranges(&allowed)
                )));
            }
            wanted.0.clone()
        }
    };
    Ok(Inventory::read(Path::new("/"), &cpus))
}

fn family(name: &str) -> Result<Family, Failure> {
    if let Some(family) = Family::built_in(name) {
        return Ok(family);
    }
    // Says what is wrong with a file, or which names there are.
    ringfence_scenario::load_dram(name)?;
    let source =
        std::fs::read_to_string(name).map_err(|error| Failure::file(Path::new(name), error))?;
    Ok(Family {
        source,
        name: name.to_owned(),
    })
}

/// Shows what is being done.
fn tell(line: &ProgressBar, what: &str) {
    line.set_message(what.to_owned());
    line.enable_steady_tick(std::time::Duration::from_millis(200));
}

fn refused(error: MeasureError) -> Failure {
    match error {
        MeasureError::System { .. } => Failure::Unsupported(error.to_string()),
        MeasureError::Shape(_) | MeasureError::NoProcessor => Failure::Error(error.to_string()),
    }
}

fn unwritten(error: PlatformError) -> Failure {
    match error {
        PlatformError::NoClock => Failure::Unsupported(error.to_string()),
        PlatformError::File(diagnostics) => Failure::Diagnostics(diagnostics),
        PlatformError::Memory { .. } | PlatformError::Model(_) => Failure::Error(error.to_string()),
    }
}

fn text(figures: &Figures, output: &Path) -> String {
    let mut text = String::new();
    if let Some(memory) = &figures.memory {
        text += &format!(
            "{:<18}{:>12}{:>12}{:>12}{:>12}\n",
            "", "array", "latency ns", "read ns", "write ns"
        );
        let levels = [
            (
                "private cache",
                memory.arrays.private,
                memory.latency_ns.private,
                memory.read_ns.private,
                memory.write_ns.private,
            ),
            (
                "last-level cache",
                memory.arrays.llc,
                memory.latency_ns.llc,
                memory.read_ns.llc,
                memory.write_ns.llc,
            ),
            (
                "memory",
                memory.arrays.dram,
                memory.latency_ns.dram,
                memory.read_ns.dram,
                memory.write_ns.dram,
            ),
        ];
        for (name, bytes, latency, read, write) in levels {
            text += &format!(
                "{name:<18}{:>8} KiB{:>12.2}{:>12.2}{:>12.2}\n",
                bytes >> 10,
                latency.median,
                read.median,
                write.median
            );
        }
        text += "medians for one access, one a line\n";
    }
    text + &format!("platform: {}\n", output.display())
}
