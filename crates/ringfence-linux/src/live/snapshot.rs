//! What is seen at one instant. Names and units are part of the format: its version changes
//! with them.

use serde::{Deserialize, Serialize};

/// Version of [`Snapshot`].
pub const VERSION: u32 = 1;

/// What is enforced on this machine, at one instant. What is not known is `null`, never 0.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Version of this format.
    pub version: u32,
    /// When it was taken, in milliseconds since 1970.
    pub time_unix_ms: u64,
    /// Since when it is enforced, in milliseconds since 1970.
    pub since_unix_ms: u64,
    /// The process that enforces.
    pub process: i32,
    /// Who keeps gangs apart.
    pub mode: Mode,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the case.
    pub case: String,
    /// In the order of the scenario.
    pub partitions: Vec<Partition>,
    /// By number: those of the platform.
    pub cpus: Vec<Cpu>,
    /// In the order of the case.
    pub gangs: Vec<Gang>,
}

/// Who keeps gangs apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The kernel, by the scheduler that was loaded into it.
    SchedExt,
    /// An agent that freezes and thaws gangs.
    Portable,
}

/// A partition of CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// Its CPUs, ascending.
    pub cpus: Vec<u16>,
    /// The gang that has them; several are one virtual gang.
    pub active_gangs: Vec<String>,
    /// Gangs that are runnable and may not run.
    pub blocked_gangs: Vec<String>,
    /// What real-time work has used of its share; `null` without a limit.
    pub share: Option<Share>,
}

/// The share limit of a partition, in the window of now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Nanoseconds used.
    pub used_ns: u64,
    /// Nanoseconds allowed.
    pub limit_ns: u64,
    /// Length of the window in nanoseconds.
    pub window_ns: u64,
    /// Whether no gang may run before the window ends.
    pub is_exhausted: bool,
}

/// A CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cpu {
    /// Number.
    pub cpu: u16,
    /// Name of its partition; `null` if gangs never run there.
    pub partition: Option<String>,
    /// The gang that has it; several are one virtual gang.
    pub held_by: Vec<String>,
    /// How best-effort work is held to budgets; `null` if it is not.
    pub best_effort: Option<BestEffort>,
}

/// Best-effort work of a CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BestEffort {
    /// Whether there is none until the next period.
    pub is_throttled: bool,
    /// How often it was throttled.
    pub times_throttled: u64,
    /// Length of a period in nanoseconds.
    pub period_ns: u64,
    /// What there are budgets of.
    pub budgets: Vec<Budget>,
}

/// One budget of a CPU, in the period of now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// Of what.
    pub of: Resource,
    /// Used, when it was charged last; `null` if nobody counts it.
    pub used: Option<u64>,
    /// Allowed; `null` if it is not limited now, as while no gang runs.
    pub budget: Option<u64>,
}

/// What a budget is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Nanoseconds of the CPU.
    TimeNs,
    /// Events of the counter of reads.
    ReadEvents,
    /// Events of the counter of writes.
    WriteEvents,
}

/// A gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gang {
    /// Name.
    pub name: String,
    /// Name of its partition.
    pub partition: String,
    /// Priority, 1 to 99; gangs of one priority are one virtual gang.
    pub priority: u8,
    /// What it does; of virtual gangs all have one state.
    pub state: GangState,
    /// How long it had its CPUs, a tenth of a second ago or less, in nanoseconds.
    pub active_ns: u64,
    /// Jobs that its tasks have finished; `null` if nobody tells.
    pub jobs: Option<u64>,
    /// Jobs that were finished after their deadline, or dropped; one that is late counts when
    /// it ends. `null` if nobody tells.
    pub deadline_misses: Option<u64>,
}

/// What a gang does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GangState {
    /// It has CPUs.
    Active,
    /// It is runnable and may not run.
    Blocked,
    /// It has nothing to do.
    Sleeping,
}
