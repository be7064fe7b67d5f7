//! `ringfence run`: a scenario into a record, and its verdict.

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ringfence_record::Writer;
use ringfence_record::event::{Header, Input};
use ringfence_scenario::model::Scenario;
use ringfence_sim::os::Fault;
use ringfence_sim::run::RunOptions;

use crate::arguments::{self, Run};
use crate::commands::{plan, report, selection};
use crate::inputs::Inputs;
use crate::outcome::{Failure, Outcome};
use crate::progress::CaseBars;

/// Runs every case, writes the record and prints what it proves.
pub fn run(arguments: &Run) -> Result<Outcome, Failure> {
    let inputs = Inputs::default();
    let scenario = selection::load(&arguments.selection, &inputs)?;
    if arguments.dry_run {
        return plan::show(&scenario, arguments.json);
    }
    let output = arguments
        .output
        .clone()
        .unwrap_or_else(|| default_output(&arguments.selection.scenario));
    if !output.is_file() && output.exists() || output == Path::new("-") {
        return Err(Failure::Error(format!(
            "--output: found '{}', expected a file: the verdict is read from the record",
            output.display()
        )));
    }
    let header = header(&scenario, overrides(arguments), inputs.into_read());
    record(&scenario, &header, arguments, &output)?;
    if !arguments.json {
        eprintln!("record: {}", output.display());
    }
    report::show(&report::read(&output)?, arguments.json)
}

fn record(
    scenario: &Scenario,
    header: &Header,
    arguments: &Run,
    output: &Path,
) -> Result<(), Failure> {
    let bars = CaseBars::new(
        scenario.cases.iter().map(|case| case.name.as_str()),
        scenario.duration_ns,
        arguments.quiet,
    );
    let options = RunOptions {
        threads: arguments.jobs.unwrap_or_else(machine_threads).max(1),
        progress: &|progress| bars.reached(progress.case, progress.simulated_ns),
        fault: arguments.inject.map(|fault| match fault {
            arguments::Fault::LowerGangRuns => Fault::IgnoreBlock,
            arguments::Fault::NeverThrottle => Fault::NoThrottle,
        }),
    };
    let partial = partial(output);
    let file = File::create(&partial).map_err(|error| Failure::file(&partial, error))?;
    let result = write_record(scenario, header, &options, file);
    bars.clear();
    result.map_err(|error| {
        Failure::Error(format!(
            "{error}; the cases before are in {}",
            partial.display()
        ))
    })?;
    std::fs::rename(&partial, output).map_err(|error| Failure::file(output, error))
}

/// Where a record grows, case by case, until it is complete: an interrupted run
/// leaves the cases that it has finished, and an older record as it was.
fn partial(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".part");
    name.into()
}

fn write_record(
    scenario: &Scenario,
    header: &Header,
    options: &RunOptions<'_>,
    file: File,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = Writer::new(file, header)?;
    ringfence_sim::run::run(scenario, options, &mut writer)?;
    writer.finish()?;
    Ok(())
}

/// Cases to run at a time, unless the command line says otherwise.
pub fn machine_threads() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

fn default_output(scenario: &Path) -> PathBuf {
    let mut name = scenario.file_stem().unwrap_or_default().to_owned();
    name.push(".rfr");
    name.into()
}

/// The flags that change what the scenario says or break the enforcer.
fn overrides(arguments: &Run) -> Vec<String> {
    let mut overrides = selection::overrides(&arguments.selection);
    let fault = arguments.inject.and_then(|fault| fault.to_possible_value());
    overrides.extend(fault.map(|fault| format!("--inject {}", fault.get_name())));
    overrides
}

fn header(scenario: &Scenario, overrides: Vec<String>, inputs: Vec<Input>) -> Header {
    Header {
        target: "sim".into(),
        ringfence_version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        description: scenario.description.clone(),
        platform: scenario.platform.name.clone(),
        kernel: None,
        seed: scenario.seed,
        overrides,
        inputs,
    }
}
