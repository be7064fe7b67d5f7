//! Commands about the machine that they run on.

use std::path::PathBuf;

use clap::Args;

/// `ringfence calibrate`
#[derive(Debug, Args)]
pub struct Calibrate {
    /// Where to write the platform file; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "this-machine.toml")]
    pub output: PathBuf,
    /// Family of the memory, which is not measured: a built-in one, or the path of a file with the keys of `[memory.dram]`
    #[arg(long, default_value = "ddr4-3200")]
    pub memory: String,
    /// Channels of the memory instead of as many as the bandwidths ask for: a power of two
    #[arg(long, value_name = "N", value_parser = channels)]
    pub channels: Option<u32>,
    /// Measure on these cores only, such as `0,2-3` [default: all that this process may use]
    #[arg(short, long, value_name = "CORES", value_parser = cores)]
    pub cores: Option<Cores>,
    /// Measure nothing new: run programs side by side here and on the model of this platform file, and compare
    #[arg(long, value_name = "FILE", conflicts_with_all = ["output", "memory", "channels"])]
    pub compare: Option<PathBuf>,
    /// Write the comparison as a page of Markdown
    #[arg(long, value_name = "FILE", requires = "compare")]
    pub markdown: Option<PathBuf>,
    /// A few seconds instead of a minute or more: enough to see that it works
    #[arg(long)]
    pub quick: bool,
    /// Print the figures as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// Processors by number, ascending.
#[derive(Debug, Clone)]
pub struct Cores(pub Vec<u16>);

pub(super) fn cores(text: &str) -> Result<Cores, String> {
    ringfence_workloads::cpu::parse_list(text)
        .filter(|cores| !cores.is_empty())
        .map(Cores)
        .ok_or_else(|| "expected numbers and ranges such as 0,2-3".to_owned())
}

fn channels(text: &str) -> Result<u32, String> {
    let count = text.parse().ok();
    count
        .filter(|count: &u32| count.is_power_of_two() && *count <= 16)
        .ok_or_else(|| "expected 1, 2, 4, 8 or 16".to_owned())
}

/// `ringfence doctor`
#[derive(Debug, Args)]
pub struct Doctor {
    /// Examine the machine whose /proc and /sys are copied below this folder; nothing is tried then
    #[arg(long, value_name = "FOLDER")]
    pub root: Option<PathBuf>,
    /// Print what was found as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// `ringfence restore`
#[derive(Debug, Args)]
pub struct Restore {
    /// Folder of the journal [default: /run/ringfence, without root ringfence in $XDG_RUNTIME_DIR]
    #[arg(long, value_name = "FOLDER")]
    pub journal: Option<PathBuf>,
    /// Print every write and make none
    #[arg(long)]
    pub dry_run: bool,
    /// Print what was done as JSON
    #[arg(long)]
    pub json: bool,
}
