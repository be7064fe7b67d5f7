//! The `ringfence` command.
//!
//! Exit codes, as rtla's: 0 all held, 1 error, 2 a bound was missed, 4 not
//! supported here.

mod arguments;
mod commands;
mod files;
mod inputs;
mod outcome;
mod progress;

use std::process::ExitCode;

use arguments::{Arguments, Command};
use clap::Parser;
use outcome::{Failure, Outcome};

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return usage(&error),
    };
    match dispatch(arguments.command) {
        Ok(outcome) => outcome.into(),
        Err(failure) => failure.report(),
    }
}

/// Prints help, the version, or what is wrong with the command line. Clap's own
/// exit code for errors is 2, which here says that a bound was missed.
fn usage(error: &clap::Error) -> ExitCode {
    // Nobody is left to tell when the message itself cannot be printed.
    let _ = error.print();
    if error.use_stderr() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

fn dispatch(command: Command) -> Result<Outcome, Failure> {
    match command {
        Command::Check(arguments) => commands::check::run(&arguments),
        Command::Import(arguments) => commands::import::run(&arguments),
        Command::ImportRun(arguments) => commands::import_run::run(&arguments),
        Command::Plan(arguments) => commands::plan::run(&arguments),
        Command::Run(arguments) => commands::run::run(&arguments),
        Command::Hyp(arguments) => commands::hyp::run(&arguments),
        Command::Report(arguments) => commands::report::run(&arguments),
        Command::Compare(arguments) => commands::compare::run(&arguments),
        Command::Analyze(arguments) => commands::analyze::run(&arguments),
        Command::Trace(arguments) => commands::trace::run(&arguments),
        Command::Bench(arguments) => commands::bench::run(&arguments),
        Command::Platforms(arguments) => commands::platforms::run(&arguments),
        Command::Calibrate(arguments) => commands::calibrate::run(&arguments),
        Command::Doctor(arguments) => commands::doctor::run(&arguments),
        Command::Enforce(arguments) => commands::enforce::run(&arguments),
        Command::Exec(arguments) => commands::exec::run(&arguments),
        Command::Join(arguments) => commands::join::run(&arguments),
        Command::Top(arguments) => commands::top::run(&arguments),
        Command::Metrics(arguments) => commands::metrics::run(&arguments),
        Command::Restore(arguments) => commands::restore::run(&arguments),
        Command::Schema(arguments) => commands::schema::run(&arguments),
        Command::Completions(arguments) => commands::generate::completions(&arguments),
        Command::Man(arguments) => commands::generate::man(&arguments),
        Command::Runner(arguments) => commands::runner::run(&arguments),
        Command::Guard(arguments) => commands::guard::run(&arguments),
    }
}
