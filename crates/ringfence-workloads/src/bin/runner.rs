//! One task or best-effort entry as a process of its own.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser;
use ringfence_victims::command;
use ringfence_workloads::runner::{self, Work};

/// Does the work that a JSON object describes, until its end or SIGTERM, and prints what
/// was done as JSON.
#[derive(Debug, Parser)]
#[command(name = "runner", version)]
struct Arguments {
    /// The work; the documentation of ringfence_workloads::runner::Work says what it has
    #[arg(value_name = "JSON")]
    work: String,
}

fn main() -> ExitCode {
    command::exit("runner", run(&Arguments::parse()))
}

fn run(arguments: &Arguments) -> Result<(), String> {
    let work: Work =
        serde_json::from_str(&arguments.work).map_err(|error| format!("the work: {error}"))?;
    let outcome = runner::run(&work).map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&outcome).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| format!("cannot write to the standard output: {error}"))
}
