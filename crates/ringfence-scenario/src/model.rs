//! The checked scenario: what a target runs.
//!
//! Values here have passed every check, so a target may rely on the ranges
//! that the fields state. Lists keep the order of the file. Programs go to other
//! processes as JSON: those that run them natively.

use crate::channel::Channel;
use crate::network::NeuralNetwork;
use crate::platform::Platform;
use crate::vm::Vm;
use serde::{Deserialize, Serialize};

/// One scenario, checked against its platform.
#[derive(Debug, Clone, PartialEq)]
pub struct Scenario {
    /// Name, for titles and file names.
    pub name: String,
    /// Free text shown at the top of reports; may be empty.
    pub description: String,
    /// The machine it runs on.
    pub platform: Platform,
    /// Length of each case's run, in nanoseconds; positive.
    pub duration_ns: u64,
    /// Seed of every random choice in the run.
    pub seed: u64,
    /// How best-effort traffic is regulated while gangs run.
    pub regulation: Regulation,
    /// At most this share of a partition's time goes to real-time work.
    pub share: ShareLimit,
    /// Disjoint sets of cores; never empty.
    pub partitions: Vec<Partition>,
    /// Shares of the last-level cache.
    pub classes_of_service: Vec<ClassOfService>,
    /// Gangs; tasks of gangs with equal partition and priority form a virtual gang.
    pub gangs: Vec<Gang>,
    /// Work without deadlines.
    pub best_effort: Vec<BestEffort>,
    /// Virtual machines; empty in a scenario of gangs. VM `n` is partition `n`; its
    /// tasks are a gang there, and its best-effort work stays there.
    pub vms: Vec<Vm>,
    /// What pairs of VMs have in common.
    pub channels: Vec<Channel>,
    /// Bytes per second that all reservations together never exceed, whatever they are
    /// changed to; some when one can be changed.
    pub reservations_bytes_per_second: Option<u64>,
    /// The runs to make and compare; never empty.
    pub cases: Vec<Case>,
    /// What to sample while running.
    pub observe: Observe,
}

/// A fixed set of cores inside which one gang runs at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Unique name.
    pub name: String,
    /// Core numbers, ascending, each below the platform's number of cores.
    pub cores: Vec<u16>,
}

/// A share of the last-level cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassOfService {
    /// Unique name.
    pub name: String,
    /// Ways that new lines may take, a bit each; never empty, below the cache's ways.
    pub way_mask: u64,
    /// Page colours of its memory, ascending; never empty, each below the
    /// cache's colours ([`crate::platform::MemorySystem::page_colours`]).
    pub colours: Vec<u16>,
}

impl ClassOfService {
    /// The ways of [`Self::way_mask`], ascending.
    pub fn ways(&self) -> Vec<u16> {
        (0..64)
            .filter(|way| self.way_mask >> way & 1 == 1)
            .collect()
    }
}

/// All threads of one parallel real-time task, or several tasks scheduled as one.
#[derive(Debug, Clone, PartialEq)]
pub struct Gang {
    /// Unique name.
    pub name: String,
    /// Index into [`Scenario::partitions`].
    pub partition: usize,
    /// 1 to 99; bigger is more important.
    pub priority: u8,
    /// Interfering traffic that the gang accepts per core while it runs.
    pub tolerance: Tolerance,
    /// Index into [`Scenario::classes_of_service`]; `None` is all of the cache.
    pub class_of_service: Option<usize>,
    /// The tasks, at least one.
    pub tasks: Vec<Task>,
}

/// Interfering traffic that a gang accepts from each best-effort core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Bytes per second read; `None` is unlimited, zero stops best-effort work.
    pub read_bytes_per_second: Option<u64>,
    /// Bytes per second written back; `None` is unlimited, zero stops best-effort work.
    pub write_bytes_per_second: Option<u64>,
}

impl Tolerance {
    /// No limit on best-effort work.
    pub const UNLIMITED: Self = Self {
        read_bytes_per_second: None,
        write_bytes_per_second: None,
    };
    /// Best-effort work stands still while the gang runs.
    pub const NONE: Self = Self {
        read_bytes_per_second: Some(0),
        write_bytes_per_second: Some(0),
    };
}

/// A periodic real-time task.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// Unique name among all tasks and best-effort entries.
    pub name: String,
    /// Time between releases, in nanoseconds; positive.
    pub period_ns: u64,
    /// Relative deadline in nanoseconds; positive.
    pub deadline_ns: u64,
    /// First release, in nanoseconds after the start.
    pub offset_ns: u64,
    /// Number of threads; at least 1.
    pub threads: u16,
    /// Thread `i` is pinned to `cores[i % cores.len()]`; never empty.
    pub cores: Vec<u16>,
    /// What each job executes.
    pub program: Program,
    /// What happens to a release while the previous job still runs.
    pub overrun: Overrun,
    /// What the analysis takes as given.
    pub known: Known,
}

/// What is known of a task beside its program. The analysis takes it as given,
/// and no target uses it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Known {
    /// Longest execution time of one job alone on the machine, in nanoseconds; positive.
    pub wcet_ns: Option<u64>,
    /// How much later than its period says a job may be released, in nanoseconds.
    pub jitter_ns: u64,
    /// Longest stretch in which a thread cannot be preempted, in nanoseconds.
    pub non_preemptive_ns: u64,
    /// Most accesses of one job to the last-level cache from one core.
    pub llc_accesses: Option<u64>,
}

/// What happens when a job is released before its predecessor has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Overrun {
    /// The job waits; its response time counts from its release.
    Queue,
    /// The job is dropped and recorded as such.
    Skip,
}

/// Endless work without a deadline.
#[derive(Debug, Clone, PartialEq)]
pub struct BestEffort {
    /// Unique name among all tasks and best-effort entries.
    pub name: String,
    /// Number of threads; at least 1.
    pub threads: u16,
    /// Cores that its threads may use; never empty.
    pub cores: Vec<u16>,
    /// Thread `i` stays on `cores[i % cores.len()]`; otherwise threads move to idle cores.
    pub pinned: bool,
    /// Index into [`Scenario::classes_of_service`]; `None` is all of the cache.
    pub class_of_service: Option<usize>,
    /// What each thread executes, for ever.
    pub program: Program,
}

/// What a thread executes. A task's program is one job; best-effort work repeats it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Program {
    /// Execution time only, for schedules without a memory model.
    Compute(Compute),
    /// Bw: walks an array in address order, one access per cache line.
    Bandwidth(Bandwidth),
    /// PLL: walks shuffled linked lists in parallel.
    LinkedLists(LinkedLists),
    /// Work that stays in the core and its L1.
    Cpu(Cpu),
    /// Arrays that are read and written in lockstep, one line of each a step.
    Streams(Streams),
    /// Two walkers with strides of their own over one buffer.
    Strided(Strided),
    /// A sequence of compute-and-memory phases with a barrier after each.
    Phases(Vec<Phase>),
    /// A neural network, computed layer by layer with a barrier after each.
    NeuralNetwork(NeuralNetwork),
    /// A recorded memory trace.
    Trace(Trace),
}

/// A fixed execution time, stretched by named co-runners.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compute {
    /// Execution time of one job alone, in nanoseconds; best-effort work has no end and ignores it.
    pub time_ns: u64,
    /// `(task, factor in thousandths)`: how much longer it takes while that task
    /// runs anywhere; each at least 1000. Several apply as a product.
    pub slowed_by: Vec<(String, u32)>,
}

/// Reading or writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// Loads.
    Read,
    /// Stores: each line is fetched, changed and written back in the end.
    Write,
}

/// Parameters of [`Program::Bandwidth`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bandwidth {
    /// Reading or writing.
    pub access: Access,
    /// Bytes walked; the threads of a task split them evenly. At least one line a thread.
    pub working_set_bytes: u64,
    /// Walks over the working set in one job; at least 1. Ignored for best-effort work.
    pub passes: u32,
}

/// Parameters of [`Program::LinkedLists`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkedLists {
    /// Reading or writing.
    pub access: Access,
    /// Bytes that the lists cover together, for each thread.
    pub working_set_bytes: u64,
    /// Lists walked in parallel: the memory-level parallelism. 1 to 64.
    pub lists: u8,
    /// Bank of the last-level cache whose lines alone are in the lists; `None` is all lines.
    pub bank: Option<u16>,
    /// Walks over the working set in one job; at least 1. Ignored for best-effort work.
    pub passes: u32,
}

/// Parameters of [`Program::Cpu`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpu {
    /// Bytes touched over and over; fits the L1.
    pub working_set_bytes: u64,
    /// Cycles of computation between two accesses.
    pub cycles_per_access: u32,
    /// Accesses in one job; at least 1. Ignored for best-effort work.
    pub accesses: u64,
}

/// Parameters of [`Program::Streams`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Streams {
    /// Arrays that are read, at most 64.
    pub reads: u8,
    /// Arrays that are written, at most 64; with `reads` at least one array.
    pub writes: u8,
    /// Bytes of each array; the threads of a task split all of them evenly. At least one line a thread.
    pub array_bytes: u64,
    /// Bytes between two steps; whole lines, at most the array.
    pub stride_bytes: u64,
    /// Cycles of computation in a step, after its reads and before its writes.
    pub compute_cycles: u32,
    /// Walks over the arrays in one job; at least 1. Ignored for best-effort work.
    pub passes: u32,
}

/// Parameters of [`Program::Strided`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Strided {
    /// Bytes of the buffer, which the threads share; at least one line.
    pub working_set_bytes: u64,
    /// Bytes that the first walker moves on in a step; 1 to the working set. It
    /// changes what it visits in every other sweep and reads it in the others.
    pub change_stride_bytes: u64,
    /// Bytes that the second walker, which only reads, moves on in a step; 1 to the working set.
    pub read_stride_bytes: u64,
    /// Cycles of computation in a step.
    pub compute_cycles: u32,
    /// Sweeps in one job, of as many steps as the working set has bytes; at
    /// least 1. Ignored for best-effort work.
    pub passes: u32,
}

/// One phase of [`Program::Phases`]; all threads wait for each other at its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Computation of the phase in cycles of the core, spread evenly over its accesses; split over the threads.
    pub compute_cycles: u64,
    /// Bytes read, split over the threads.
    pub read_bytes: u64,
    /// Bytes written, split over the threads.
    pub write_bytes: u64,
    /// Bytes of the region that is walked, shared by the threads.
    pub working_set_bytes: u64,
    /// Order in which the region is walked.
    pub pattern: Pattern,
}

/// Order of accesses in a phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Pattern {
    /// Line after line.
    Sequential,
    /// Uniform over the region, drawn from the scenario's seed.
    Random,
}

/// Parameters of [`Program::Trace`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Path of the trace file, resolved against the scenario's folder.
    pub path: std::path::PathBuf,
    /// Which recorded job to replay; `None` replays them in turn.
    pub job: Option<u32>,
}

/// How best-effort traffic is regulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Regulation {
    /// How often budgets are refilled, in nanoseconds; 1 us to 1 s.
    pub period_ns: u64,
}

/// Real-time work of a partition runs at most `limit_ns` in every `window_ns`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShareLimit {
    /// No limit.
    Off,
    /// `0 < limit_ns < window_ns`.
    Limited {
        /// Real-time nanoseconds allowed in a window.
        limit_ns: u64,
        /// Length of the window in nanoseconds.
        window_ns: u64,
    },
}

/// How real-time threads share the cores in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// Fixed priority per core, as SCHED_FIFO: gangs of different priority run side by side.
    FixedPriority,
    /// One gang at a time per partition.
    Gang,
}

/// One run of the scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Case {
    /// Unique name, such as `solo`, `co-run` or `rt-gang`; a solo run of one of
    /// several gangs is named `solo/GANG`.
    pub name: String,
    /// How real-time threads share the cores.
    pub scheduling: Scheduling,
    /// Whether best-effort traffic is throttled to the gangs' tolerances.
    pub regulation: bool,
    /// Whether classes of service get their shares of the last-level cache.
    pub cache_allocation: bool,
    /// Whether the `slowed_by` factors of [`Compute`] apply.
    pub interference: bool,
    /// Indices into [`Scenario::gangs`] of the gangs that take part.
    pub gangs: Vec<usize>,
    /// Indices into [`Scenario::best_effort`] of the work that takes part.
    pub best_effort: Vec<usize>,
    /// Indices into [`Scenario::vms`] of the VMs that take part; their gangs and
    /// best-effort work are in the lists above.
    pub vms: Vec<usize>,
    /// Whether VMs are held to their reservations.
    pub reservations: bool,
}

/// What is sampled during a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Observe {
    /// Time between two counter samples of a core, in nanoseconds; positive.
    pub counters_every_ns: u64,
}
