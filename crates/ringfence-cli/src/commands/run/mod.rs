//! `ringfence run`: a scenario into a record, and its verdict.

mod hyp;
mod linux;
mod sim;

use std::fs::File;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ringfence_hyp::HypError;
use ringfence_record::Writer;
use ringfence_record::event::{Header, Input};
use ringfence_scenario::model::Scenario;

use crate::arguments::{Fault, Run};
use crate::commands::target::{Target, linux_failure};
use crate::commands::{plan, report, selection};
use crate::inputs::Inputs;
use crate::outcome::{Failure, Outcome};
use crate::progress::CaseBars;

/// Runs every case, writes the record and prints what it proves.
pub fn run(arguments: &Run) -> Result<Outcome, Failure> {
    let inputs = Inputs::default();
    let scenario = selection::load(&arguments.selection, &inputs)?;
    let target = Target::of(&arguments.target, &scenario)?;
    if arguments.dry_run {
        return plan::show(&scenario, &target, arguments.json);
    }
    if let Some(flag) = flag_of_another(arguments, &target) {
        return Err(Failure::Error(format!(
            "{flag}: found it with --target {}, which does not have it",
            target.name()
        )));
    }
    if matches!(target, Target::Hyp) {
        ringfence_hyp::run::check_board(&scenario)?;
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
    let header = header(&scenario, &target, overrides(arguments), inputs.into_read());
    record(&scenario, &header, &target, arguments, &output)?;
    if !arguments.json {
        eprintln!("record: {}", output.display());
    }
    report::show(&report::read(&output)?, arguments.json)
}

fn record(
    scenario: &Scenario,
    header: &Header,
    target: &Target,
    arguments: &Run,
    output: &Path,
) -> Result<(), Failure> {
    let bars = CaseBars::new(
        scenario.cases.iter().map(|case| case.name.as_str()),
        scenario.duration_ns,
        arguments.quiet,
    );
    let partial = partial(output);
    let file = File::create(&partial).map_err(|error| Failure::file(&partial, error))?;
    let failed = |error: &dyn std::fmt::Display| {
        Failure::Error(format!(
            "{error}; the cases before are in {}",
            partial.display()
        ))
    };
    let mut writer = Writer::new(file, header).map_err(|error| failed(&error))?;
    let result = match target {
        Target::Sim => sim::run(scenario, arguments, &bars, &mut writer).map_err(|e| failed(&e)),
        Target::Linux(linux) => linux::run(scenario, linux, &bars, &mut writer)
            .map_err(|error| linux_failure(error, failed)),
        Target::Hyp => {
            hyp::run(scenario, arguments, output, &bars, &mut writer).map_err(|error| match error {
                HypError::Unsupported(text) => Failure::Unsupported(text),
                other => failed(&other),
            })
        }
    };
    bars.clear();
    result?;
    writer.finish().map_err(|error| failed(&error))?;
    std::fs::rename(&partial, output).map_err(|error| Failure::file(output, error))
}

/// Where a record grows, case by case, until it is complete: an interrupted run
/// leaves the cases that it has finished, and an older record as it was.
fn partial(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".part");
    name.into()
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
    overrides.extend(Target::flags(&arguments.target));
    let fault = arguments.inject.and_then(|fault| fault.to_possible_value());
    overrides.extend(fault.map(|fault| format!("--inject {}", fault.get_name())));
    overrides
}

/// A flag of the command line that the target does not have.
fn flag_of_another(arguments: &Run, target: &Target) -> Option<&'static str> {
    let of_hypervisor = matches!(
        arguments.inject,
        Some(Fault::OneEventMore | Fault::AllBorrow | Fault::NoBounds)
    );
    let has_fault = match target {
        Target::Sim => !of_hypervisor,
        Target::Linux(_) => false,
        Target::Hyp => of_hypervisor,
    };
    match (arguments.jobs, arguments.inject) {
        (Some(_), _) if !matches!(target, Target::Sim) => Some("--jobs"),
        (_, Some(_)) if !has_fault => Some("--inject"),
        _ => None,
    }
}

fn header(
    scenario: &Scenario,
    target: &Target,
    overrides: Vec<String>,
    inputs: Vec<Input>,
) -> Header {
    let (platform, kernel) = match target {
        Target::Sim => (scenario.platform.name.clone(), None),
        Target::Linux(_) => (linux::machine(), Some(linux::kernel())),
        Target::Hyp => {
            let hypervisor = "ringfence hypervisor in QEMU";
            (scenario.platform.name.clone(), Some(hypervisor.into()))
        }
    };
    Header {
        target: target.name().into(),
        ringfence_version: env!("CARGO_PKG_VERSION").into(),
        scenario: scenario.name.clone(),
        description: scenario.description.clone(),
        platform,
        kernel,
        seed: scenario.seed,
        overrides,
        inputs,
    }
}
