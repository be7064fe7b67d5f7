//! `ringfence bench platform`: latency and bandwidth of a modelled platform.

use ringfence_scenario::load_platform;
use ringfence_sim::bench::{self, PlatformBench};

use crate::arguments::BenchPlatform;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Measures the model and prints.
pub fn run(arguments: &BenchPlatform) -> Result<Outcome, Failure> {
    let platform = load_platform(&arguments.platform)?;
    let figures = bench::platform(&platform).map_err(|error| Failure::Error(error.to_string()))?;
    if arguments.json {
        print_json(&figures)?;
    } else {
        print_text(&text(&figures, platform.cores))?;
    }
    Ok(Outcome::Pass)
}

fn text(figures: &PlatformBench, cores: u16) -> String {
    let mut text = format!("{}, nothing else running\n\n", figures.platform);
    for (level, ns) in [
        ("L1 hit", figures.l1_ns),
        ("LLC hit", figures.llc_ns),
        ("DRAM", figures.dram_ns),
    ] {
        text += &format!("{level:<9} {ns:>8.1} ns from load to load\n");
    }
    let all = format!("{cores} cores");
    for (who, read, written) in [
        (
            "one core",
            figures.read_bytes_per_s,
            figures.write_bytes_per_s,
        ),
        (
            &all,
            figures.read_all_bytes_per_s,
            figures.write_all_bytes_per_s,
        ),
    ] {
        let (read, written) = (read / 1e9, written / 1e9);
        text += &format!("{who:<9} {read:>8.2} GB/s read, {written:>6.2} GB/s written\n");
    }
    text
}
