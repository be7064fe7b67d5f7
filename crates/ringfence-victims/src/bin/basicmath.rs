//! Roots of cubic polynomials, integer square roots, degrees and radians.

use clap::Parser;
use ringfence_victims::basicmath::BasicMath;
use ringfence_victims::command::{self, MAX_SIZE, Options};
use ringfence_victims::jobs::repeat;
use std::process::ExitCode;

/// Solves cubic equations, takes integer square roots, turns degrees into
/// radians and back, and prints the checksum of all results.
#[derive(Debug, Parser)]
#[command(name = "basicmath", version)]
struct Arguments {
    /// Polynomials, and as many square roots and angles
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u32).range(1..=MAX_SIZE))]
    size: u32,
    /// Draws other polynomials
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    options: Options,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let state = BasicMath::new(arguments.size, arguments.seed);
    let done = repeat(state, arguments.options.jobs, BasicMath::calculate);
    let roots = done.roots().iter().flatten();
    let angles = done.radians().iter().chain(done.degrees());
    let numbers = roots.chain(angles).copied().flat_map(f64::to_le_bytes);
    let square_roots = done.square_roots().iter().copied();
    let checksum = command::checksum(numbers.chain(square_roots.flat_map(u32::to_le_bytes)));
    let result = format!("checksum {checksum:08x}\n");
    command::exit(
        "basicmath",
        arguments.options.write_result(result.as_bytes()),
    )
}
