//! Counts the ones of a series of numbers.

use clap::Parser;
use ringfence_victims::bitcount::{BitCount, METHODS};
use ringfence_victims::command::{self, MAX_SIZE, Options};
use ringfence_victims::jobs::repeat;
use std::fmt::Write as _;
use std::process::ExitCode;

/// Counts the ones of a series of numbers in several ways and prints what each counted.
#[derive(Debug, Parser)]
#[command(name = "bitcount", version)]
struct Arguments {
    /// Numbers of the series
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=MAX_SIZE))]
    size: u32,
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let state = BitCount::new(arguments.size);
    let ones = repeat(state, arguments.options.jobs, BitCount::count).ones();
    let mut result = String::new();
    for ((name, _), ones) in METHODS.iter().zip(ones) {
        let _ = writeln!(result, "{name} {ones}");
    }
    let checksum = command::checksum(ones.into_iter().flat_map(u64::to_le_bytes));
    let _ = writeln!(result, "checksum {checksum:08x}");
    command::exit(
        "bitcount",
        arguments.options.write_result(result.as_bytes()),
    )
}
