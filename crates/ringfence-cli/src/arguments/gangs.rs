//! Commands that put programs into gangs.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ringfence_linux::run::RegulateBy;

use super::machine::{Cores, cores};

/// `ringfence enforce`
#[derive(Debug, Args)]
pub struct Enforce {
    /// Scenario file, whose gangs are scheduled; its tasks are not started
    pub scenario: PathBuf,
    /// The case to enforce, if the scenario has several
    #[arg(long, value_name = "NAME")]
    pub case: Option<String>,
    /// What best-effort work is held to; see `ringfence run --help`
    #[arg(long, value_name = "WHAT", default_value = "auto")]
    pub regulate_by: RegulateBy,
}

/// `ringfence exec`
#[derive(Debug, Args)]
pub struct Exec {
    /// The gang, by its name in the scenario that `ringfence enforce` enforces
    #[arg(long, value_name = "NAME")]
    pub gang: String,
    /// Run on these cores of the gang's partition only, such as `0,2-3` [default: all of them]
    #[arg(short, long, value_name = "CORES", value_parser = cores)]
    pub cores: Option<Cores>,
    /// The program and its arguments
    #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// `ringfence join`
#[derive(Debug, Args)]
pub struct Join {
    /// The gang, by its name in the scenario that `ringfence enforce` enforces
    #[arg(
        long,
        value_name = "NAME",
        required_unless_present = "none",
        conflicts_with = "none"
    )]
    pub gang: Option<String>,
    /// No gang: the processes become best-effort work, and the control group belongs to none
    #[arg(long)]
    pub none: bool,
    /// All that is in this control group or below it, such as /sys/fs/cgroup/slam, and whatever is
    /// put there later for as long as `ringfence enforce` runs
    #[arg(long, value_name = "FOLDER", required_unless_present = "processes")]
    pub cgroup: Option<PathBuf>,
    /// Numbers of processes
    #[arg(value_name = "PID", value_parser = clap::value_parser!(i32).range(1..))]
    pub processes: Vec<i32>,
}
