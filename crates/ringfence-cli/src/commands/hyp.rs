//! `ringfence hyp`: the hypervisor, built for the VMs of a scenario.

use std::fs;

use ringfence_hyp::HypError;
use ringfence_hyp::format::Format;
use ringfence_hyp::image::{Builder, Configuration};
use ringfence_scenario::model::{Case, Scenario};

use crate::arguments::{Hyp, HypImage, ImageFormat};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Builds an image.
pub fn run(arguments: &Hyp) -> Result<Outcome, Failure> {
    let Hyp::Image(arguments) = arguments;
    image(arguments)
}

fn image(arguments: &HypImage) -> Result<Outcome, Failure> {
    let scenario = ringfence_scenario::load(&arguments.scenario)?;
    let case = case_of(&scenario, arguments.case.as_deref())?;
    let configuration = Configuration::of(&scenario, case, arguments.trace)?;
    let format = match arguments.format {
        ImageFormat::Elf => Format::Elf,
        ImageFormat::Raw => Format::Raw,
    };
    let image = Builder::new()?.build(&configuration, format)?;
    let output = &arguments.output;
    fs::write(output, &image).map_err(|error| Failure::file(output, error))?;
    if arguments.json {
        print_json(&serde_json::json!({
            "image": output,
            "size_bytes": image.len(),
            "board": configuration.board.name,
            "case": case.name,
            "table": configuration.table(),
        }))?;
    } else {
        print_text(&format!(
            "{}: {} bytes for {}, case `{}`; entry {:#x}\n",
            output.display(),
            image.len(),
            configuration.board.name,
            case.name,
            configuration.board.link
        ))?;
    }
    Ok(Outcome::Pass)
}

fn case_of<'s>(scenario: &'s Scenario, name: Option<&str>) -> Result<&'s Case, Failure> {
    let names: Vec<&str> = scenario
        .cases
        .iter()
        .map(|case| case.name.as_str())
        .collect();
    let names = names.join(", ");
    match (name, &scenario.cases[..]) {
        (None, [one]) => Ok(one),
        (None, _) => Err(Failure::Error(format!(
            "--case: found several cases, expected the name of one: {names}"
        ))),
        (Some(name), cases) => cases.iter().find(|case| case.name == name).ok_or_else(|| {
            Failure::Error(format!(
                "--case: no case is called '{name}'; there are {names}"
            ))
        }),
    }
}

impl From<HypError> for Failure {
    fn from(error: HypError) -> Self {
        match error {
            HypError::Unsupported(text) => Self::Unsupported(text),
            other => Self::Error(other.to_string()),
        }
    }
}
