//! `ringfence bench llc`: bandwidth and latency of a modelled last-level cache under a load.

use ringfence_scenario::load_platform;
use ringfence_scenario::platform::{MemorySystem, Platform};
use ringfence_sim::bench::{self, Bottleneck, LlcBench, LlcLoad, LlcPattern, MAX_MEMORY_CYCLES};
use ringfence_sim::time::cycle_ps;
use serde::Serialize;

use super::{gigabytes, requestor_table, speed_text};
use crate::arguments::{BenchLlc, LlcPatternName};
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Walks over the working set before the reads that are counted: a random one then
/// leaves out a line in nine millions.
const WARM_UP_WALKS: u64 = 16;

/// The figures and what they are of.
#[derive(Serialize)]
struct Report<'a> {
    pattern: &'a str,
    outstanding: u32,
    write_percent: u32,
    working_set_bytes: u64,
    seed: u64,
    #[serde(flatten)]
    figures: &'a LlcBench,
}

/// Runs the load and prints.
pub fn run(arguments: &BenchLlc) -> Result<Outcome, Failure> {
    let platform = load_platform(&arguments.platform)?;
    let Some(memory) = &platform.memory else {
        return Err(Failure::Error(format!(
            "platform `{}` has no caches; name one that has, such as jetson-nano",
            arguments.platform
        )));
    };
    let (pattern, pattern_name) = match arguments.pattern {
        LlcPatternName::Seq => (LlcPattern::Sequential, "seq"),
        LlcPatternName::Rand => (LlcPattern::Random, "rand"),
        LlcPatternName::Bank => (LlcPattern::OneBank, "bank"),
    };
    let half_the_cache = u64::from(memory.llc.size_bytes / 2);
    let load = LlcLoad {
        pattern,
        requestors: arguments.requestors,
        outstanding: arguments.outstanding,
        write_percent: arguments.write_share,
        working_set_bytes: arguments.working_set.unwrap_or(half_the_cache),
        memory_cycles: memory_cycles(&platform, memory, arguments.memory_latency)?,
        seed: arguments.seed,
    };
    // What does not fit is evicted as soon as the cache is full.
    let cached_bytes = load.working_set_bytes.min(memory.llc.size_bytes.into());
    let warm_up = WARM_UP_WALKS * (cached_bytes / u64::from(memory.line_bytes)).max(1);
    let figures = bench::llc(&platform, &load, warm_up, arguments.requests)
        .map_err(|error| Failure::Error(error.to_string()))?;
    let report = Report {
        pattern: pattern_name,
        outstanding: load.outstanding,
        write_percent: load.write_percent,
        working_set_bytes: load.working_set_bytes,
        seed: load.seed,
        figures: &figures,
    };
    if arguments.json {
        print_json(&report)?;
    } else {
        print_text(&text(&report))?;
    }
    Ok(Outcome::Pass)
}

/// Latency of the memory in cycles: the flag's, or a read of a closed row with nothing else to do.
fn memory_cycles(
    platform: &Platform,
    memory: &MemorySystem,
    flag_ns: Option<u32>,
) -> Result<u64, Failure> {
    let cycle_ps = cycle_ps(platform.frequency_hz);
    let Some(ns) = flag_ns else {
        let timing = &memory.dram.timing;
        let clocks = u64::from(timing.rcd) + u64::from(timing.cl) + u64::from(timing.burst);
        let link_ps = u64::from(memory.dram.controller.link_ps);
        return Ok((clocks * u64::from(timing.clock_ps) + link_ps).div_ceil(cycle_ps));
    };
    let max_ns = MAX_MEMORY_CYCLES * cycle_ps / 1000;
    if !(1..=max_ns).contains(&u64::from(ns)) {
        return Err(Failure::Error(format!(
            "--memory-latency is {ns} ns, expected 1 to {max_ns} ns with the cores of `{}`",
            platform.name
        )));
    }
    Ok((u64::from(ns) * 1000).div_ceil(cycle_ps))
}

fn text(report: &Report<'_>) -> String {
    let figures = report.figures;
    let share = |of: f64| figures.achieved_bytes_per_s / of * 100.0;
    let mut text = format!(
        "last-level cache of {}, banks with lines: {}, {:.2} ns an access, hit {:.1} ns, memory {:.1} ns\n{}, requestors: {}, reads in flight of each: {}, {} % writes, working set {} KiB, banks: {}, seed {}\n\n",
        figures.platform,
        figures.banks,
        figures.bank_service_ns,
        figures.hit_latency_ns,
        figures.memory_latency_ns,
        report.pattern,
        figures.requestors.len(),
        report.outstanding,
        report.write_percent,
        report.working_set_bytes.div_ceil(1024),
        figures.banks_in_use,
        report.seed,
    );
    text += &format!(
        "reads {}: hits {}, merged {}, misses {}; write-backs {}, dirty lines evicted {}\n",
        figures.reads,
        figures.hits,
        figures.merged,
        figures.misses,
        figures.write_backs,
        figures.evictions,
    );
    text += &format!(
        "achieved {:.2} GB/s: {:.1} % of the peak {:.2} GB/s, {:.1} % of the analytic cap {:.2} GB/s, set by {}\n",
        gigabytes(figures.achieved_bytes_per_s),
        share(figures.peak_bytes_per_s),
        gigabytes(figures.peak_bytes_per_s),
        share(figures.cap_bytes_per_s),
        gigabytes(figures.cap_bytes_per_s),
        match figures.cap_set_by {
            Bottleneck::Banks => "the banks",
            Bottleneck::MissRegisters => "the miss-status registers",
            Bottleneck::WriteBackBuffer => "the places of the write-back buffer",
            Bottleneck::ReadsInFlight => "the reads in flight",
        }
    );
    text += &requestor_table(figures.mean_latency_ns, &figures.requestors);
    text += &speed_text(
        figures.wall_s,
        figures.requests_per_wall_s,
        figures.best_requests_per_wall_s,
        figures.ratio_to_walk,
    );
    text
}
