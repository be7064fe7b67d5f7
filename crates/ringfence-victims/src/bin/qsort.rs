//! Sorts words, and points by their distance.

use clap::Parser;
use ringfence_victims::command::{self, MAX_SIZE, Options};
use ringfence_victims::jobs::repeat;
use ringfence_victims::qsort::Sorter;
use std::process::ExitCode;

/// Draws words and points in space, sorts them by alphabet and by distance
/// from the origin, and prints the checksum of their order.
#[derive(Debug, Parser)]
#[command(name = "qsort", version)]
struct Arguments {
    /// Words, and as many points
    #[arg(long, value_name = "N", default_value_t = 3000, value_parser = clap::value_parser!(u32).range(1..=MAX_SIZE))]
    size: u32,
    /// Draws others
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let state = Sorter::new(arguments.size, arguments.seed);
    let sorter = repeat(state, arguments.options.jobs, Sorter::sort);
    let places = sorter.points().iter().flat_map(|point| point.place);
    let bytes = places.flat_map(i32::to_le_bytes);
    let checksum = command::checksum(sorter.words().iter().flatten().copied().chain(bytes));
    let result = format!("checksum {checksum:08x}\n");
    command::exit("qsort", arguments.options.write_result(result.as_bytes()))
}
