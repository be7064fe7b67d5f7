//! The command line. Flags that rtla has keep rtla's letters.

mod bench;
mod gangs;
mod hyp;
mod live;
mod machine;

use std::path::PathBuf;

pub use bench::{
    Bench, BenchDram, BenchEngine, BenchLlc, BenchPlatform, LlcPatternName, MapName, PatternName,
    SchedulerName,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub use gangs::{Enforce, Exec, Join};
pub use hyp::{Hyp, HypImage, ImageFormat};
pub use live::{Metrics, Top};
pub use machine::{Calibrate, Doctor, Restore};
use ringfence_linux::run::RegulateBy;

/// Keeps critical real-time work on time on a multicore chip that it shares with anything else.
#[derive(Debug, Parser)]
#[command(name = "ringfence", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 all held, 1 error, 2 a bound was missed, 4 not supported here."
)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check scenario files and say everything that is wrong with them
    Check(Check),
    /// Make a scenario of a workload file of rt-app
    Import(Import),
    /// Make a record of a run that ringfence did not make, from tables of what happened in it
    ImportRun(ImportRun),
    /// Print exactly what a run would do
    Plan(Plan),
    /// Run a scenario into a record and judge it
    Run(Run),
    /// Build the hypervisor for the VMs of a scenario
    #[command(subcommand)]
    Hyp(Hyp),
    /// Report a record: terminal, HTML, Perfetto, CSV, JSON
    Report(Report),
    /// Compare two records
    Compare(Compare),
    /// Bound response times before anything runs: do all deadlines hold?
    Analyze(Analyze),
    /// Record and inspect memory-access traces of real programs
    #[command(subcommand)]
    Trace(Trace),
    /// Measure the simulator: its speed, and what its parts do under a load
    #[command(subcommand)]
    Bench(Bench),
    /// List the built-in platforms and memories, or print one
    Platforms(Platforms),
    /// Measure this machine and write a platform file for it
    Calibrate(Calibrate),
    /// Say what this machine can enforce, what it cannot, and what would change that
    Doctor(Doctor),
    /// Keep the gangs of a scenario apart on this machine, whatever programs `exec` and `join` put into them
    Enforce(Enforce),
    /// Run a program, unmodified, as a member of a gang
    Exec(Exec),
    /// Put processes that run already into a gang, or take them out of it
    Join(Join),
    /// Show what is enforced on this machine now: gangs, budgets, throttling, missed deadlines
    Top(Top),
    /// Serve the same to Prometheus
    Metrics(Metrics),
    /// Undo what a run that ended early has changed on this machine
    Restore(Restore),
    /// Print the JSON Schema of scenario or platform files
    Schema(Schema),
    /// Print completions for a shell
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Do the work of one process of a run on this machine
    #[command(hide = true)]
    Runner(Runner),
    /// Undo the changes of a run that ends without doing so
    #[command(hide = true)]
    Guard(Guard),
}

/// `ringfence check`
#[derive(Debug, Args)]
pub struct Check {
    /// Scenario files
    #[arg(required = true)]
    pub scenarios: Vec<PathBuf>,
    /// Print the problems as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence import`
#[derive(Debug, Args)]
pub struct Import {
    /// Workload file of rt-app; `-` is the standard input
    pub workload: PathBuf,
    /// Where to write the scenario; `-` is the standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// The machine: a built-in platform, or the path of a platform file as seen from the scenario's, which `ringfence calibrate` writes
    #[arg(long, value_name = "PLATFORM", default_value = "this-machine.toml")]
    pub platform: String,
}

/// `ringfence import-run`
#[derive(Debug, Args)]
pub struct ImportRun {
    /// Description of the run in TOML, which names the tables of its jobs, trajectories and measures
    pub description: PathBuf,
    /// Where to write the record
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Print what the record has as JSON
    #[arg(long)]
    pub json: bool,
}

/// What `plan` and `run` share: a scenario and what to change in it.
#[derive(Debug, Args)]
pub struct Selection {
    /// Scenario file
    pub scenario: PathBuf,
    /// Run only the case of this name (`solo` also selects every `solo/GANG`); repeatable
    #[arg(long = "case", value_name = "NAME")]
    pub cases: Vec<String>,
    /// Length of each case instead of the scenario's: seconds, or with a unit such as `500ms` or `10m`
    #[arg(short, long)]
    pub duration: Option<String>,
    /// Seed instead of the scenario's
    #[arg(long)]
    pub seed: Option<u64>,
}

/// `ringfence plan`
#[derive(Debug, Args)]
pub struct Plan {
    /// What would run
    #[command(flatten)]
    pub selection: Selection,
    /// Where it would run
    #[command(flatten)]
    pub target: TargetChoice,
    /// Print the plan as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence run`
#[derive(Debug, Args)]
pub struct Run {
    /// What to run
    #[command(flatten)]
    pub selection: Selection,
    /// Where to write the record [default: NAME.rfr in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the plan and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Where to run it
    #[command(flatten)]
    pub target: TargetChoice,
    /// Cases to simulate at a time [default: one a core of this machine]
    #[arg(short = 'j', long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Print the summary as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// Break the enforcer on purpose, to see the verdict catch it
    #[arg(long, value_enum, hide = true)]
    pub inject: Option<Fault>,
}

/// Where a scenario runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Target {
    /// On the modelled board
    Sim,
    /// On this machine: needs root
    Linux,
    /// VMs under our hypervisor, in QEMU
    Hyp,
}

/// Who keeps gangs apart on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum GangScheduler {
    /// sched_ext where the kernel has it and takes our scheduler, else portable
    Auto,
    /// The kernel, by a scheduler that is loaded into it
    SchedExt,
    /// An agent that freezes and thaws gangs, on any kernel
    Portable,
}

/// Who tells the portable scheduler which threads are awake.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WakeUps {
    /// The kernel where it can, else the threads
    Auto,
    /// The kernel, from Linux 5.8 on with type information (BTF)
    Tracepoints,
    /// The threads, by the job API, and a look at each of them every millisecond; who ran where
    /// is not recorded then
    Jobs,
}

/// What `plan` and `run` share: a target and what to expect of it.
#[derive(Debug, Args)]
pub struct TargetChoice {
    /// Where to run it
    #[arg(long, value_enum, default_value = "sim")]
    pub target: Target,
    /// Who keeps gangs apart [default: auto]; --target linux only
    #[arg(long, value_enum, value_name = "WHO")]
    pub gang_scheduler: Option<GangScheduler>,
    /// Who tells which threads are awake [default: auto]; --target linux only
    #[arg(long, value_enum, value_name = "WHO")]
    pub wake_ups: Option<WakeUps>,
    /// Longest time that a lower gang may run on beside a higher one on this machine, which the verdict judges: seconds, or with a unit [default: 200us, and with the portable scheduler what is measured]; --target linux only
    #[arg(long, value_name = "TIME")]
    pub hand_over: Option<String>,
    /// What best-effort work is held to on this machine: time; one event of the PMU, or one that counts reads and one that counts writes, by name or number such as raw:0x17=reads,raw:0x18=writes; or what proves to count memory traffic, else time [default: auto]; --target linux only
    #[arg(long, value_name = "WHAT")]
    pub regulate_by: Option<RegulateBy>,
}

/// `ringfence runner`
#[derive(Debug, Args)]
pub struct Runner {
    /// The work; the documentation of ringfence_workloads::runner::Work says what it has
    #[arg(value_name = "JSON")]
    pub work: String,
}

/// `ringfence guard`
#[derive(Debug, Args)]
pub struct Guard {
    /// Folder of the journal
    #[arg(value_name = "FOLDER")]
    pub journal: PathBuf,
}

/// Faults of `run --inject`.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Fault {
    /// The scheduler lets lower gangs run beside higher ones
    LowerGangRuns,
    /// The regulator never throttles
    NeverThrottle,
    /// The hypervisor's table has an event more for each VM than is reserved; --target hyp only
    OneEventMore,
    /// Each VM whose reservation nobody may change borrows in the hypervisor's table; --target hyp only
    AllBorrow,
    /// Reservations can be changed to anything in the hypervisor's table; --target hyp only
    NoBounds,
}

/// `ringfence report`
#[derive(Debug, Args)]
pub struct Report {
    /// Record to report
    pub record: PathBuf,
    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Write jobs.csv, intervals.csv, counters.csv, positions.csv and measures.csv into a folder
    #[arg(long, value_name = "FOLDER")]
    pub csv: Option<PathBuf>,
    /// Write all events as JSON lines
    #[arg(long, value_name = "FILE")]
    pub events: Option<PathBuf>,
    /// Print the summary as JSON instead of text
    #[arg(long)]
    pub json: bool,
}

/// `ringfence compare`
#[derive(Debug, Args)]
pub struct Compare {
    /// Record to compare with
    pub before: PathBuf,
    /// Record that is compared
    pub after: PathBuf,
    /// Print the comparison as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence analyze`
#[derive(Debug, Args)]
pub struct Analyze {
    /// What to analyse: the first of the cases that runs one gang at a time
    #[command(flatten)]
    pub selection: Selection,
    /// Take execution times that the scenario does not state from simulation, each task alone
    #[arg(long)]
    pub measure: bool,
    /// Also take what best-effort work costs each task from simulation, regulated as in the case
    #[arg(long, requires = "measure")]
    pub measure_interference: bool,
    /// Slowdowns of tasks that run side by side, as --measure-pairs prints them
    #[arg(long, value_name = "FILE")]
    pub factors: Option<PathBuf>,
    /// Also say what other ways of scheduling could guarantee
    #[arg(long)]
    pub compare: bool,
    /// Also propose virtual gangs with which all deadlines hold
    #[arg(long)]
    pub compose: bool,
    /// Simulate every pair of tasks side by side, print their slowdowns as TOML and analyse nothing
    #[arg(long, conflicts_with_all = ["measure", "factors", "compare", "compose", "json"])]
    pub measure_pairs: bool,
    /// Print the analysis as JSON
    #[arg(long)]
    pub json: bool,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
}

/// `ringfence trace`
#[derive(Debug, Subcommand)]
pub enum Trace {
    /// Run a program under valgrind and record its memory accesses
    Record(TraceRecord),
    /// Print what is in a trace
    Info(TraceInfo),
}

/// `ringfence trace record`
#[derive(Debug, Args)]
pub struct TraceRecord {
    /// Where to write the trace [default: PROGRAM.rftrace in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Stop after this many marked jobs
    #[arg(long, value_name = "N")]
    pub jobs: Option<u64>,
    /// Take no notice of job marks: one job from the loader to the exit
    #[arg(long, conflicts_with = "jobs")]
    pub whole_run: bool,
    /// Record lines of instructions that a cache of 32 KiB does not have, too, as loads
    #[arg(long)]
    pub instruction_lines: bool,
    /// Stop after this many accesses and cut the job there
    #[arg(long, value_name = "N")]
    pub max_accesses: Option<u64>,
    /// Show no progress
    #[arg(short, long)]
    pub quiet: bool,
    /// The program and its arguments
    #[arg(last = true, required = true)]
    pub command: Vec<std::ffi::OsString>,
}

/// `ringfence trace info`
#[derive(Debug, Args)]
pub struct TraceInfo {
    /// Trace file
    pub trace: PathBuf,
    /// Print it as JSON
    #[arg(long)]
    pub json: bool,
}

/// `ringfence platforms`
#[derive(Debug, Args)]
pub struct Platforms {
    /// Print the file of this platform or memory, with the sources of its figures
    pub name: Option<String>,
    /// Print the list as JSON
    #[arg(long, conflicts_with = "name")]
    pub json: bool,
}

/// `ringfence schema`
#[derive(Debug, Args)]
pub struct Schema {
    /// Which files it describes
    #[arg(value_enum)]
    pub of: SchemaOf,
}

/// Kinds of files with a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum SchemaOf {
    /// Scenario files
    Scenario,
    /// Platform files
    Platform,
}

/// `ringfence completions`
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}

/// `ringfence man`
#[derive(Debug, Args)]
pub struct Man {
    /// Folder to write the pages into
    #[arg(default_value = ".")]
    pub folder: PathBuf,
}
