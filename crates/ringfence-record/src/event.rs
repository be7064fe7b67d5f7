//! What happens in a run.
//!
//! A record is a header followed by one section per case. A section opens with
//! [`Event::CaseBegin`], which declares everything later events refer to by
//! index, and closes with [`Event::CaseEnd`]. Times are nanoseconds since the
//! start of the case; they never decrease within a section.

use serde::{Deserialize, Serialize};

use crate::accuracy::Accuracy;
pub use crate::header::{Header, Input, InputKind};

/// Longest case that a reader takes, in nanoseconds: 78 hours. Up to here the core
/// time of 65535 cores fits 64 bits.
pub const MAX_CASE_NS: u64 = 1 << 48;

/// One case: what ran, under which rules.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Case {
    /// Name, such as `solo`, `solo/tau1`, `co-run` or `rt-gang`.
    pub name: String,
    /// Planned length in nanoseconds.
    pub duration_ns: u64,
    /// Number of cores of the platform.
    pub cores: u16,
    /// What the run promises, and so what the verdict checks.
    pub claims: Claims,
    /// Partitions: name and cores.
    pub partitions: Vec<Partition>,
    /// Gangs.
    pub gangs: Vec<Gang>,
    /// Real-time tasks.
    pub tasks: Vec<Task>,
    /// Threads of tasks and of best-effort work.
    pub threads: Vec<Thread>,
    /// Shares of the last-level cache, as they were applied. A thread of none
    /// of them may have all of it; there are none where it is not allocated.
    pub classes_of_service: Vec<ClassOfService>,
    /// What is told of how right the work was.
    pub accuracy: Accuracy,
}

/// What the enforcer of a case promises; by default nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// One gang at a time in every partition.
    pub one_gang_at_a_time: bool,
    /// Longest time a lower gang may still be seen on a core after a higher one
    /// became runnable, in nanoseconds.
    pub hand_over_ns: u64,
    /// Longest time that a lower gang runs beside a higher one without leaving its core, in
    /// nanoseconds, where the enforcer reacts and cannot prevent; `None` is not at all.
    pub overlap_ns: Option<u64>,
    /// A thread that has waited this long for a core may have an instant there although a
    /// higher gang is runnable: up to `hand_over_ns`, with its own gang alone. In nanoseconds;
    /// `None` is never.
    pub instant_after_ns: Option<u64>,
    /// Real-time work of a partition stands back after this much; `None` is no limit.
    pub share: Option<ShareClaim>,
    /// Best-effort traffic stays within the budgets.
    pub budgets: Option<BudgetClaim>,
    /// VMs that stay within their reservations.
    pub reservations: Vec<ReservationClaim>,
    /// Bytes per second that all reservations together never exceed, whatever they are
    /// changed to; `None` where none can be changed.
    pub reservations_bytes_per_second: Option<u64>,
}

/// At most `limit_ns` of real-time work in every window of a partition. Windows
/// lie back to back and begin at multiples of `window_ns` since the start of the
/// case. Work is over at most [`Claims::hand_over_ns`] after the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareClaim {
    /// Real-time nanoseconds allowed in a window.
    pub limit_ns: u64,
    /// Length of the window in nanoseconds; not 0.
    pub window_ns: u64,
}

/// What the regulator promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BudgetClaim {
    /// Refill period in nanoseconds.
    pub period_ns: u64,
    /// Most bytes by which the use in one period may exceed the budget.
    pub quantum_bytes: u64,
}

/// What a hypervisor promises of one VM. Its periods lie back to back from the start of the
/// case. In any run of neighbouring periods a core moves at most its share of each, to and
/// from memory together and whichever threads cause it, less what it lent ([`Event::Lent`]) and
/// with what it borrowed ([`Event::Borrowed`]), and one quantum beyond. Period and shares are
/// those of [`Event::ReservationChanged`] from then on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationClaim {
    /// Name of the VM.
    pub vm: String,
    /// Length of a period in nanoseconds; not 0.
    pub period_ns: u64,
    /// Most bytes by which the use may exceed the shares.
    pub quantum_bytes: u64,
    /// Each vCPU's.
    pub shares: Vec<CoreShare>,
    /// Its vCPUs may lend what they leave of a period.
    pub lends: bool,
    /// Its vCPUs may borrow what others lend. All VMs that lend or borrow have periods of
    /// one length, for good.
    pub borrows: bool,
    /// What it may be changed to; `None` is nothing else.
    pub bounds: Option<ReservationBounds>,
}

/// What a reservation may be changed to, all ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReservationBounds {
    /// Fewest bytes of all vCPUs together in a period.
    pub bytes_min: u64,
    /// Most of them.
    pub bytes_max: u64,
    /// Shortest period in nanoseconds; not 0.
    pub period_min_ns: u64,
    /// Longest period in nanoseconds.
    pub period_max_ns: u64,
}

/// What the core of a vCPU may move in a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoreShare {
    /// The vCPU's core, which is in no other VM.
    pub core: u16,
    /// Bytes a period.
    pub bytes: u64,
}

/// A partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// Core numbers, ascending.
    pub cores: Vec<u16>,
}

/// A gang.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gang {
    /// Name.
    pub name: String,
    /// Index into [`Case::partitions`].
    pub partition: u16,
    /// Priority, 1 to 99; bigger is more important.
    pub priority: u8,
    /// Read traffic it accepts per best-effort core in bytes per second; `None` is unlimited.
    pub tolerance_read_bytes_per_second: Option<u64>,
    /// Write traffic it accepts per best-effort core in bytes per second; `None` is unlimited.
    pub tolerance_write_bytes_per_second: Option<u64>,
}

/// A real-time task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Name.
    pub name: String,
    /// Index into [`Case::gangs`].
    pub gang: u16,
    /// Period in nanoseconds; of a sporadic task the shortest time that is expected between two
    /// releases.
    pub period_ns: u64,
    /// Relative deadline in nanoseconds.
    pub deadline_ns: u64,
    /// When its first job is due to be released, in nanoseconds since the start of the case.
    pub offset_ns: u64,
    /// Its jobs are released when something asks for them, and none is ever due.
    pub sporadic: bool,
}

/// A thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// Name, such as `dnn/0`.
    pub name: String,
    /// Index into [`Case::tasks`]; `None` for best-effort work.
    pub task: Option<u16>,
}

/// A share of the last-level cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassOfService {
    /// Name.
    pub name: String,
    /// Ways that new lines of its threads took, ascending.
    pub ways: Vec<u16>,
    /// Page colours of its threads' memory, ascending.
    pub colours: Vec<u16>,
    /// Its threads: indices into [`Case::threads`], ascending. A thread is in
    /// one class at most.
    pub threads: Vec<u16>,
}

/// Why a thread left its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OffReason {
    /// Something else was more important; the thread is still runnable.
    Preempted,
    /// The thread waits: for its next job, at a barrier, for I/O.
    Sleeping,
    /// Its core is out of budget.
    Throttled,
    /// The run ended.
    Ended,
}

/// Why a core's throttling ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnthrottleReason {
    /// A new period began.
    Refill,
    /// No gang runs any more.
    NoGang,
    /// It borrowed what another VM lent.
    Loan,
}

/// Traffic and time of one core since the case began; all fields only grow.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Bytes read from memory on behalf of this core.
    pub read_bytes: u64,
    /// Bytes written back to memory on behalf of this core.
    pub write_bytes: u64,
    /// The part of `read_bytes` read by best-effort threads.
    pub best_effort_read_bytes: u64,
    /// The part of `write_bytes` written by best-effort threads.
    pub best_effort_write_bytes: u64,
    /// Last-level cache accesses on behalf of this core.
    pub llc_accesses: u64,
    /// Last-level cache misses on behalf of this core.
    pub llc_misses: u64,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A section begins.
    CaseBegin(Box<Case>),
    /// A job of `task` was released.
    JobReleased {
        /// When.
        time_ns: u64,
        /// Index into [`Case::tasks`].
        task: u16,
        /// Number of the job, counted from 0 for each task.
        job: u32,
    },
    /// The first thread of the job ran for the first time.
    JobStarted {
        /// When.
        time_ns: u64,
        /// Index into [`Case::tasks`].
        task: u16,
        /// Number of the job.
        job: u32,
    },
    /// The last thread of the job finished it.
    JobFinished {
        /// When.
        time_ns: u64,
        /// Index into [`Case::tasks`].
        task: u16,
        /// Number of the job.
        job: u32,
    },
    /// The job was dropped before it started.
    JobDropped {
        /// When.
        time_ns: u64,
        /// Index into [`Case::tasks`].
        task: u16,
        /// Number of the job.
        job: u32,
    },
    /// A thread became runnable.
    ThreadWoke {
        /// When.
        time_ns: u64,
        /// Index into [`Case::threads`].
        thread: u16,
    },
    /// A thread started to run on a core.
    ThreadOn {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
        /// Index into [`Case::threads`].
        thread: u16,
    },
    /// A thread stopped running on a core.
    ThreadOff {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
        /// Index into [`Case::threads`].
        thread: u16,
        /// Why.
        reason: OffReason,
    },
    /// The enforcer says which gang priority is active in a partition.
    GangActive {
        /// When.
        time_ns: u64,
        /// Index into [`Case::partitions`].
        partition: u16,
        /// Priority of the active gang; `None` when no gang is.
        priority: Option<u8>,
    },
    /// The enforcer set a core's budgets, counted from the current period on.
    BudgetSet {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
        /// Bytes per period; `None` is unlimited.
        read_bytes: Option<u64>,
        /// Bytes per period; `None` is unlimited.
        write_bytes: Option<u64>,
    },
    /// A core ran out of budget.
    Throttled {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
    },
    /// A core may run best-effort work again.
    Unthrottled {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
        /// Why.
        reason: UnthrottleReason,
    },
    /// Totals of a core, sampled; always at a period boundary of the regulator when one is active.
    Counters {
        /// When.
        time_ns: u64,
        /// Core number.
        core: u16,
        /// Totals since the case began.
        counters: Counters,
    },
    /// How many memory accesses a thread has executed since the case began,
    /// whether they went beyond its caches or not. Told of best-effort threads
    /// when a case ends, by targets that can count them.
    ThreadExecuted {
        /// When.
        time_ns: u64,
        /// Index into [`Case::threads`].
        thread: u16,
        /// Accesses; only grow.
        accesses: u64,
    },
    /// A vCPU gave some of its share of a period to others, for that period.
    Lent {
        /// When.
        time_ns: u64,
        /// The vCPU's core.
        core: u16,
        /// When the period begins.
        period_begin_ns: u64,
        /// How much.
        bytes: u64,
    },
    /// A vCPU took what others lent for a period, for that period.
    Borrowed {
        /// When.
        time_ns: u64,
        /// The vCPU's core.
        core: u16,
        /// When the period begins.
        period_begin_ns: u64,
        /// How much.
        bytes: u64,
    },
    /// A VM's reservation is another one from here on: a period of it begins.
    ReservationChanged {
        /// From when on.
        time_ns: u64,
        /// When it was asked for.
        asked_ns: u64,
        /// Index into [`Claims::reservations`].
        reservation: u16,
        /// Length of its periods in nanoseconds; not 0.
        period_ns: u64,
        /// Bytes a period of each vCPU, in the order of [`ReservationClaim::shares`].
        shares_bytes: Vec<u64>,
    },
    /// Something was found to be at a place.
    Position {
        /// When it was found; when the case ends, where nobody knows.
        time_ns: u64,
        /// Index into [`Accuracy::trajectories`].
        trajectory: u16,
        /// Of which moment it is, by the trajectory's clock; later than that before.
        at_ns: u64,
        /// The place.
        position_um: [i64; 3],
    },
    /// Where that was in truth.
    TruePosition {
        /// When it is told.
        time_ns: u64,
        /// Index into [`Accuracy::trajectories`].
        trajectory: u16,
        /// Of which moment it is, by the trajectory's clock; later than that before.
        at_ns: u64,
        /// The place.
        position_um: [i64; 3],
    },
    /// A figure was measured.
    Measured {
        /// When.
        time_ns: u64,
        /// Index into [`Accuracy::measures`].
        measure: u16,
        /// In the unit of its quantity.
        value: i64,
    },
    /// Something a reader should know.
    Message {
        /// When.
        time_ns: u64,
        /// The text.
        text: String,
    },
    /// A section is complete.
    CaseEnd {
        /// When the run really ended.
        time_ns: u64,
    },
}

impl Event {
    /// When it happened; `None` for [`Event::CaseBegin`], which is before time.
    pub fn time_ns(&self) -> Option<u64> {
        match *self {
            Event::CaseBegin(_) => None,
            Event::JobReleased { time_ns, .. }
            | Event::JobStarted { time_ns, .. }
            | Event::JobFinished { time_ns, .. }
            | Event::JobDropped { time_ns, .. }
            | Event::ThreadWoke { time_ns, .. }
            | Event::ThreadOn { time_ns, .. }
            | Event::ThreadOff { time_ns, .. }
            | Event::GangActive { time_ns, .. }
            | Event::BudgetSet { time_ns, .. }
            | Event::Throttled { time_ns, .. }
            | Event::Unthrottled { time_ns, .. }
            | Event::Counters { time_ns, .. }
            | Event::ThreadExecuted { time_ns, .. }
            | Event::Lent { time_ns, .. }
            | Event::Borrowed { time_ns, .. }
            | Event::ReservationChanged { time_ns, .. }
            | Event::Position { time_ns, .. }
            | Event::TruePosition { time_ns, .. }
            | Event::Measured { time_ns, .. }
            | Event::Message { time_ns, .. }
            | Event::CaseEnd { time_ns } => Some(time_ns),
        }
    }
}
