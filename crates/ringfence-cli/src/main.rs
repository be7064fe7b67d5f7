//! The `ringfence` command.
//!
//! Exit codes, as rtla's: 0 all held, 1 error, 2 a bound was missed, 4 not
//! supported here.

mod arguments;
mod commands;
mod files;
mod outcome;
mod progress;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use outcome::{Failure, Outcome};

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match dispatch(arguments.command) {
        Ok(outcome) => outcome.into(),
        Err(failure) => failure.report(),
    }
}

fn dispatch(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Platforms(arguments) => commands::platforms::run(&arguments),
        Command::Schema(arguments) => commands::schema::run(&arguments),
        Command::Completions(arguments) => commands::generate::completions(&arguments),
        Command::Man(arguments) => commands::generate::man(&arguments),
    }
}
