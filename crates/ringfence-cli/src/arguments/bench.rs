//! Loads on the models, for their speed and their figures.

use clap::{Args, Subcommand, ValueEnum};

/// `ringfence bench`
#[derive(Debug, Subcommand)]
pub enum Bench {
    /// Simulated accesses per wall second, as a ratio to a plain array walk
    Engine(BenchEngine),
    /// A load on a modelled DRAM: bandwidth, latency and simulated requests per wall second
    Dram(BenchDram),
    /// Latency and bandwidth that a modelled platform gives to one core, and to all cores
    Platform(BenchPlatform),
    /// A load on a modelled last-level cache: bandwidth, latency and simulated requests per wall second
    Llc(BenchLlc),
}

/// `ringfence bench engine`
#[derive(Debug, Args)]
pub struct BenchEngine {
    /// Platform to simulate: a built-in one, or the path of a platform file
    #[arg(long, default_value = "raspberry-pi-3")]
    pub platform: String,
    /// Wall seconds for each case
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=600))]
    pub seconds: u32,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence bench dram`
#[derive(Debug, Args)]
pub struct BenchDram {
    /// Memory: a built-in one, or the path of a file with the keys of `[memory.dram]`
    #[arg(long, default_value = "ddr4-2400-reference")]
    pub memory: String,
    /// The memory of this platform instead: a built-in one, or the path of a platform file
    #[arg(long, conflicts_with = "memory")]
    pub platform: Option<String>,
    /// Channels instead of the memory's
    #[arg(long, value_name = "N")]
    pub channels: Option<u32>,
    /// Ranks of a channel instead of the memory's
    #[arg(long, value_name = "N")]
    pub ranks: Option<u32>,
    /// Address map instead of the memory's: fields from low to high after the line offset
    #[arg(long, value_enum, value_name = "MAP")]
    pub map: Option<MapName>,
    /// Scheduler instead of the memory's
    #[arg(long, value_enum)]
    pub scheduler: Option<SchedulerName>,
    /// Row hits that may overtake under fr-fcfs-cap [default: the memory's, or 4]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub hit_cap: Option<u32>,
    /// Order of the lines
    #[arg(long, value_enum, default_value = "seq")]
    pub pattern: PatternName,
    /// Requestors, each with a GiB of its own as far as the memory has it
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub requestors: u32,
    /// Reads that each requestor keeps in flight
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub outstanding: u32,
    /// Reads to count, after 20000 that are not
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub requests: u64,
    /// Writes in a hundred requests; at 50 every read causes a write-back
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    pub write_share: u32,
    /// How much further into its region each requestor starts than the one before, such as 8KiB
    #[arg(long, value_name = "SIZE", default_value = "0 B", value_parser = size)]
    pub skew: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence bench platform`
#[derive(Debug, Args)]
pub struct BenchPlatform {
    /// Platform to measure: a built-in one, or the path of a platform file
    pub platform: String,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence bench llc`
#[derive(Debug, Args)]
pub struct BenchLlc {
    /// Platform with the cache: a built-in one, or the path of a platform file
    #[arg(long, default_value = "jetson-nano")]
    pub platform: String,
    /// Order of the lines
    #[arg(long, value_enum, default_value = "seq")]
    pub pattern: LlcPatternName,
    /// Requestors, each with a part of the working set of its own
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub requestors: u32,
    /// Reads that each requestor keeps in flight
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub outstanding: u32,
    /// Reads to count, after so many that the cache is as full as it gets
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub requests: u64,
    /// Writes in a hundred requests: dirty lines that an L1 gives up; at 50 every read causes one
    #[arg(long, value_name = "PERCENT", default_value_t = 0)]
    pub write_share: u32,
    /// Bytes that all requestors walk together, such as 1MiB; more than the cache has makes misses
    /// [default: half the cache]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub working_set: Option<u64>,
    /// Nanoseconds in which memory answers, whatever the load, rounded up to a whole cycle of
    /// the cores [default: a closed row of the platform's idle DRAM]
    #[arg(long, value_name = "NS")]
    pub memory_latency: Option<u32>,
    /// Seed of random lines and of random replacement
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
}

/// Patterns of `bench llc`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum LlcPatternName {
    /// Line after line
    Seq,
    /// Uniform over the requestor's part of the working set
    Rand,
    /// Line after line of those that lie in bank 0
    Bank,
}

/// Address maps of `bench dram`, by their lowest field.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum MapName {
    /// Column, bank group, bank, rank, row
    #[value(name = "co_bg_ba_ro")]
    Column,
    /// Bank group, column, bank, rank, row
    #[value(name = "bg_co_ba_ro")]
    BankGroup,
    /// Bank group, bank, rank, column, row
    #[value(name = "bank_co_ro")]
    Bank,
}

/// Schedulers of `bench dram`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchedulerName {
    /// The oldest request among the legal commands
    FrFcfs,
    /// As fr-fcfs, with a cap on row hits that overtake
    FrFcfsCap,
    /// Row hits before all others
    RowHitFirst,
    /// Requestors that were not served too often in a row first
    Blacklist,
}

/// Patterns of `bench dram`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum PatternName {
    /// Line after line
    Seq,
    /// Uniform over the requestor's region
    Rand,
    /// The first requestor random, the others sequential
    Mix,
}

/// A size in bytes.
fn size(text: &str) -> Result<u64, String> {
    let parsed = ringfence_scenario::quantity::SIZE.parse(text);
    parsed.map_err(|_| "expected a whole number of bytes such as 8KiB or \"64 B\"".to_owned())
}
