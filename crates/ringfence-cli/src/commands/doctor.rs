//! `ringfence doctor`: what this machine can enforce.

use std::path::Path;
use std::time::Duration;

use ringfence_linux::doctor::check::{Check, Level};
use ringfence_linux::doctor::machine_files::MachineFiles;
use ringfence_linux::doctor::modes::{Mode, Regulation};
use ringfence_linux::doctor::probe::Probed;
use ringfence_linux::doctor::{Examination, examine};

use crate::arguments::Doctor;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};
use crate::progress::spinner;

/// Columns that the text keeps to.
const WIDTH: usize = 100;
/// Columns of the name and of the level of a check.
const NAME: usize = 19;
const LEVEL: usize = 10;

/// Examines this machine, or the copy of another one's files.
pub fn run(arguments: &Doctor) -> Result<Outcome, Failure> {
    let examination = match &arguments.root {
        Some(root) => examine_copy(root)?,
        None => examine_here(arguments.quiet),
    };
    match arguments.json {
        true => print_json(&examination)?,
        false => print_text(&text(&examination))?,
    }
    match examination.is_fit() {
        true => Ok(Outcome::Pass),
        false => Err(Failure::Unsupported(
            "neither mode of target linux can work; run scenarios on the modelled board (target sim) \
             instead"
                .into(),
        )),
    }
}

fn examine_copy(root: &Path) -> Result<Examination, Failure> {
    if !root.join("proc").is_dir() {
        return Err(Failure::Error(format!(
            "--root: found no folder {}/proc, expected copies of a machine's /proc and /sys",
            root.display()
        )));
    }
    Ok(examine(&MachineFiles::below(root), Probed::default()))
}

fn examine_here(quiet: bool) -> Examination {
    let line = spinner(quiet);
    line.set_message("trying what this machine can do");
    line.enable_steady_tick(Duration::from_millis(200));
    let examination = examine(&MachineFiles::below("/"), Probed::this_machine());
    line.finish_and_clear();
    examination
}

fn text(examination: &Examination) -> String {
    let mut text: String = examination.checks.iter().map(check_text).collect();
    text += "\nGang scheduling here (target linux)\n";
    for mode in &examination.modes {
        text += &mode_text(mode);
    }
    text
}

fn check_text(check: &Check) -> String {
    let mut text = format!("{:<NAME$}{:<LEVEL$}", check.name, check.state.name());
    text += &wrapped(&check.found);
    // Of what is as it should be, what it is good for goes without saying.
    if check.state < Level::Usable {
        text += &indented(&check.why);
    }
    if let Some(remedy) = &check.remedy {
        text += &indented(&format!("to change it: {remedy}"));
    }
    text
}

fn mode_text(mode: &Mode) -> String {
    let works = match mode.works {
        true => "works",
        false => "no",
    };
    let mut text = format!("{:<NAME$}{works:<LEVEL$}", mode.name);
    let missing = match mode.missing.as_slice() {
        [] => String::new(),
        missing => format!("missing: {}", missing.join("; ")),
    };
    match &mode.regulation {
        None => text += &wrapped(&missing),
        Some(regulation) => {
            text += &wrapped(&match regulation {
                Regulation::PmuEvents { events } => format!(
                    "best-effort work is held to budgets of memory traffic ({})",
                    events.join(", ")
                ),
                Regulation::DutyCycle => {
                    "best-effort work is held to a share of time (duty cycle)".to_owned()
                }
            });
            if !missing.is_empty() {
                text += &indented(&missing);
            }
        }
    }
    text
}

fn indented(text: &str) -> String {
    format!("{:width$}{}", "", wrapped(text), width = NAME + LEVEL)
}

/// The words in lines that begin behind name and level.
fn wrapped(text: &str) -> String {
    let (indent, mut lines) = (NAME + LEVEL, String::new());
    let mut column = indent;
    for word in text.split(' ') {
        let length = word.chars().count();
        if column > indent && column + 1 + length > WIDTH {
            lines += &format!("\n{:indent$}", "");
            column = indent;
        } else if column > indent {
            lines.push(' ');
            column += 1;
        }
        lines += word;
        column += length;
    }
    lines + "\n"
}
