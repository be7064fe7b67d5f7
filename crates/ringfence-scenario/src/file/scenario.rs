//! The scenario file.

use super::channel::ChannelTable;
use super::macros::{file_table, file_word};
use super::numbers::{Colours, Cores, Ways};
use super::platform::PlatformFile;
use super::program::Program;
use super::rate::{Share, Tolerance};
use super::value::{Bandwidth, Count, Flag, Name, Names, Text, Time};
use super::vm::VmTable;
use super::{List, Located};
use crate::model;

file_table! {
    /// A scenario: a machine, the work on it and the runs to compare.
    ///
    /// Quantities are texts with a unit, decimal and exact: times in `ns`,
    /// `us` (or `µs`), `ms`, `s`, `min`; sizes in `B`, `KB`, `MB`, `GB` (powers
    /// of 1000) and `KiB`, `MiB`, `GiB` (powers of 1024); bandwidths the same
    /// per second, as `MB/s`; frequencies in `Hz`, `kHz`, `MHz`, `GHz`.
    pub struct ScenarioFile {
        /// Name, length, machine and seed.
        pub scenario: Located<ScenarioTable>,
        /// The machine, written out here instead of named by `scenario.platform`.
        pub platform: Option<Located<PlatformFile>>,
        /// How best-effort traffic is regulated while gangs run. Default: a period of `"1 ms"`.
        pub regulation: Option<Located<RegulationTable>>,
        /// The most time that real-time work of a partition gets in every
        /// window, so that the rest of the system lives: a table with `limit`
        /// and `window`, or `share = "off"` above the first table.
        /// Default: `limit = "950 ms"`, `window = "1 s"`.
        pub share: Option<Located<Share>>,
        /// What is sampled during a run. Default: counters every `"1 ms"`.
        pub observe: Option<Located<ObserveTable>>,
        /// Disjoint sets of cores; in each one gang runs at a time. Default:
        /// one partition `all` of all cores.
        #[schemars(with = "Option<List<PartitionTable>>")]
        pub partition: List<PartitionTable>,
        /// Shares of the last-level cache for gangs and best-effort work.
        #[schemars(with = "Option<List<ClassOfServiceTable>>")]
        pub class_of_service: List<ClassOfServiceTable>,
        /// The real-time work; at least one, or VMs.
        #[schemars(with = "Option<List<GangTable>>")]
        pub gang: List<GangTable>,
        /// Work without deadlines.
        #[schemars(with = "Option<List<BestEffortTable>>")]
        pub best_effort: List<BestEffortTable>,
        /// What all reservations of VMs together may be.
        pub reservations: Option<Located<ReservationsTable>>,
        /// Virtual machines; a scenario with some has no gang, no partition, no
        /// class of service and no best-effort work beside them.
        #[schemars(with = "Option<List<VmTable>>")]
        pub vm: List<VmTable>,
        /// What pairs of VMs have in common; at most eight.
        #[schemars(with = "Option<List<ChannelTable>>")]
        pub channel: List<ChannelTable>,
        /// The runs to make and compare; at least one.
        pub case: List<CaseTable>,
    }
}

file_table! {
    /// Name, length, machine and seed.
    #[schemars(title = "[scenario]")]
    pub struct ScenarioTable {
        /// Name, for titles and file names.
        pub name: Located<Name>,
        /// Free text at the top of reports. Default: empty.
        pub description: Option<Located<Text>>,
        /// The machine: a platform that `ringfence platforms` lists, or the
        /// path of a platform file (ending in `.toml`) relative to the folder
        /// of the scenario file. Left out when the file has a `[platform]` table.
        pub platform: Option<Located<Text>>,
        /// Length of each case's run, at most a day; not shorter than the longest
        /// period, nor than any task's `offset` and `deadline` together. On the
        /// command line (`ringfence run --duration`) it may be shorter than a
        /// period, as long as the first job of every task that takes part is due in it.
        pub duration: Located<Time>,
        /// Seed of every random choice in the run. Default: 1.
        pub seed: Option<Located<Count<0, 9_223_372_036_854_775_807>>>,
    }
}

file_table! {
    /// How best-effort traffic is regulated while gangs run.
    #[schemars(title = "[regulation]")]
    pub struct RegulationTable {
        /// How often budgets are refilled, `"1 us"` to `"1 s"`.
        pub period: Located<Time>,
    }
}

file_table! {
    /// What all reservations of VMs together may be.
    #[schemars(title = "[reservations]")]
    pub struct ReservationsTable {
        /// The bandwidth that they never exceed together, whatever they are changed to at run
        /// time. Needed where one can be changed. Each counts in whole events a second, rounded up.
        pub total: Located<Bandwidth>,
    }
}

file_table! {
    /// What is sampled during a run.
    #[schemars(title = "[observe]")]
    pub struct ObserveTable {
        /// Time between two samples of a core's counters, at least `"1 us"`.
        pub counters_every: Located<Time>,
    }
}

file_table! {
    /// A fixed set of cores inside which one gang runs at a time.
    #[schemars(title = "[[partition]]")]
    pub struct PartitionTable {
        /// Unique name.
        pub name: Located<Name>,
        /// Its cores; no two partitions share a core.
        pub cores: Located<Cores>,
    }
}

file_table! {
    /// A share of the last-level cache. It counts in cases with `cache_allocation`.
    ///
    /// Ways are a hardware's way mask: lines are found wherever they are, and
    /// new ones take only these ways. Colours are a page allocator's: memory
    /// comes from the pages that map to this part of the sets.
    #[schemars(title = "[[class_of_service]]")]
    pub struct ClassOfServiceTable {
        /// Unique name.
        pub name: Located<Name>,
        /// Ways that its work may fill. Default: all.
        pub ways: Option<Located<Ways>>,
        /// Page colours that its memory has. Default: all.
        pub colours: Option<Located<Colours>>,
    }
}

file_table! {
    /// All threads of one parallel real-time task, or several tasks scheduled as one.
    ///
    /// Gangs of equal partition and priority run together, as a virtual gang.
    #[schemars(title = "[[gang]]")]
    pub struct GangTable {
        /// Unique name.
        pub name: Located<Name>,
        /// The partition it runs in. Default: the partition, when there is only one.
        pub partition: Option<Located<Name>>,
        /// Bigger is more important.
        pub priority: Located<Count<1, 99>>,
        /// Traffic that the gang accepts from each best-effort core while it
        /// runs. Default: `"unlimited"`.
        pub tolerance: Option<Located<Tolerance>>,
        /// Its class of service. Default: all of the last-level cache.
        pub class_of_service: Option<Located<Name>>,
        /// Its tasks; at least one.
        pub task: List<TaskTable>,
    }
}

file_word! {
    /// What happens to a job that is released before its predecessor has finished.
    pub enum Overrun -> model::Overrun {
        /// The job waits; its response time counts from its release.
        Queue = "queue" => model::Overrun::Queue,
        /// The job is dropped and recorded as such.
        Skip = "skip" => model::Overrun::Skip,
    }
}

file_table! {
    /// A periodic real-time task.
    #[schemars(title = "[[gang.task]]")]
    pub struct TaskTable {
        /// Unique name among all tasks and best-effort work.
        pub name: Located<Name>,
        /// Time between releases; not shorter than the platform's tick.
        pub period: Located<Time>,
        /// Deadline after the release; may exceed the period, but the first
        /// deadline must not come after the end. Default: the period.
        pub deadline: Option<Located<Time>>,
        /// Time of the first release. Default: `"0 ms"`.
        pub offset: Option<Located<Time>>,
        /// Number of threads; all are released together and the job ends with
        /// the last. Default: 1.
        pub threads: Option<Located<Count<1, 65_535>>>,
        /// Cores of the gang's partition: thread `i` is pinned to core number
        /// `i` of the list, starting over when the list is shorter. Default:
        /// the partition's cores.
        pub cores: Option<Located<Cores>>,
        /// What happens to a job that is released before its predecessor has
        /// finished: `"queue"` or `"skip"`. Default: `"queue"`.
        pub overrun: Option<Located<Overrun>>,
        /// What `ringfence analyze` takes as given. Runs do not use it.
        pub known: Option<Located<KnownTable>>,
        /// What each job executes.
        pub program: Located<Program>,
    }
}

file_table! {
    /// What is known of a task beside its program, for `ringfence analyze`.
    ///
    /// `known = { wcet = "4 ms", jitter = "100 us" }`
    #[schemars(title = "known")]
    pub struct KnownTable {
        /// Longest execution time of one job when its gang is alone on the
        /// machine; not shorter than the `time` of a compute program. Default:
        /// that time; other programs have none unless `--measure` is given.
        pub wcet: Option<Located<Time>>,
        /// How much later than the period says a job may be released.
        /// Default: `"0 ns"`.
        pub jitter: Option<Located<Time>>,
        /// Longest stretch in which a thread cannot be preempted. Default: `"0 ns"`.
        pub non_preemptive: Option<Located<Time>>,
        /// Most accesses of one job to the last-level cache from one core:
        /// bounds what best-effort work can cost it there. Default: not known.
        pub llc_accesses: Option<Located<Count<0, 1_000_000_000_000>>>,
    }
}

file_table! {
    /// Endless work without a deadline.
    #[schemars(title = "[[best_effort]]")]
    pub struct BestEffortTable {
        /// Unique name among all tasks and best-effort work.
        pub name: Located<Name>,
        /// Number of threads. Default: 1.
        pub threads: Option<Located<Count<1, 65_535>>>,
        /// Cores that its threads may use. Default: all cores.
        pub cores: Option<Located<Cores>>,
        /// Whether thread `i` stays on core number `i` of the list, starting
        /// over when the list is shorter. Otherwise threads move to idle
        /// cores. Default: `false`.
        pub pinned: Option<Located<Flag>>,
        /// Its class of service. Default: all of the last-level cache.
        pub class_of_service: Option<Located<Name>>,
        /// What each thread executes, for ever.
        pub program: Located<Program>,
    }
}

file_word! {
    /// How real-time threads share the cores.
    pub enum Scheduling -> model::Scheduling {
        /// Fixed priority per core, as SCHED_FIFO: gangs of different priority run side by side.
        FixedPriority = "fixed-priority" => model::Scheduling::FixedPriority,
        /// One gang at a time per partition.
        Gang = "gang" => model::Scheduling::Gang,
    }
}

file_table! {
    /// One run of the scenario.
    ///
    /// Three names are presets, each of whose settings can be changed:
    /// `solo` (fixed priority, no regulation, no best-effort work, each gang in
    /// a run of its own: the cases `solo/GANG`, or `solo` when there is only
    /// one gang), `co-run` (everything together, fixed priority, no
    /// regulation) and `rt-gang` (everything together, one gang at a time,
    /// regulation). A case with another name states its scheduling.
    ///
    /// In a scenario of VMs three names are presets: `solo` (each VM in a run of
    /// its own: the cases `solo/VM`, or `solo` when there is only one VM),
    /// `co-run` (all VMs, nothing reserved) and `reserved` (all VMs, each with its
    /// reservation). There `vms`, `reservations`, `cache_allocation` and `interference` are what
    /// a case may set.
    #[schemars(title = "[[case]]")]
    pub struct CaseTable {
        /// Unique name.
        pub name: Located<Name>,
        /// `"fixed-priority"` or `"gang"`. Default: as the preset.
        pub scheduling: Option<Located<Scheduling>>,
        /// Whether best-effort traffic is throttled to the gangs' tolerances.
        /// Default: as the preset; otherwise `false`.
        pub regulation: Option<Located<Flag>>,
        /// Whether classes of service get their shares of the last-level cache,
        /// and no more; some work of the case must name one. In a scenario of VMs, whether
        /// these have their `colours`. Default: `false`.
        pub cache_allocation: Option<Located<Flag>>,
        /// Whether the `slowed_by` factors of compute programs apply. Default: `true`.
        pub interference: Option<Located<Flag>>,
        /// Names of the gangs that take part; at least one. Default: all.
        pub gangs: Option<Located<Names>>,
        /// Names of the best-effort work that takes part; may be `[]`.
        /// Default: all, but none in `solo`.
        pub best_effort: Option<Located<Names>>,
        /// Names of the VMs that take part; at least one. Default: all.
        pub vms: Option<Located<Names>>,
        /// Whether VMs are held to their reservations; some VM of the case must
        /// have one. Default: as the preset; otherwise `false`.
        pub reservations: Option<Located<Flag>>,
    }
}

impl ScenarioFile {
    /// The tasks of all gangs and VMs.
    pub(crate) fn tasks(&self) -> impl Iterator<Item = &Located<TaskTable>> {
        let of_gangs = self.gang.iter().flat_map(|gang| &gang.value.task);
        of_gangs.chain(self.vm.iter().flat_map(|vm| &vm.value.task))
    }

    /// The best-effort work, also that of VMs.
    pub(crate) fn all_best_effort(&self) -> impl Iterator<Item = &Located<BestEffortTable>> {
        let of_vms = self.vm.iter().flat_map(|vm| &vm.value.best_effort);
        self.best_effort.iter().chain(of_vms)
    }
}
