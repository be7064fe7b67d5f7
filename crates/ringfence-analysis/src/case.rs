//! A case in an indexed form: intervals instead of events.
//!
//! All intervals are half-open, `[from_ns, to_ns)`: what ends at an instant
//! does not meet what begins at it. Intervals of one core, thread or partition
//! are in the order of time and do not overlap.

use ringfence_record::event::{self, Counters, OffReason, UnthrottleReason};

/// What happened in one case, read from a section without contradictions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseRun {
    /// What the section declares.
    pub case: event::Case,
    /// When the run really ended.
    pub end_ns: u64,
    /// Jobs of each task, by number: `jobs[task][number]`.
    pub jobs: Vec<Vec<Job>>,
    /// Each core's course.
    pub cores: Vec<CoreRun>,
    /// Each thread's course.
    pub threads: Vec<ThreadRun>,
    /// What the enforcer says about each partition.
    pub partitions: Vec<Vec<GangActive>>,
    /// Changes of each reservation, in the order of [`event::Claims::reservations`].
    pub changes: Vec<Vec<ReservationChange>>,
    /// Trajectories, in the order of their declaration.
    pub trajectories: Vec<TrajectoryRun>,
    /// What was measured, in the order of the measures' declaration.
    pub measures: Vec<Vec<Measured>>,
    /// Messages.
    pub messages: Vec<Message>,
}

/// Where something was thought to be, and where it was; both by the trajectory's clock.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TrajectoryRun {
    /// Where it was thought to be.
    pub positions: Vec<FoundPosition>,
    /// Where it was.
    pub truth: Vec<Place>,
}

/// A place at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// The moment, by the trajectory's clock.
    pub at_ns: u64,
    /// The place, within 2^50 µm of the origin.
    pub position_um: [i64; 3],
}

/// Where something was thought to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FoundPosition {
    /// When that was found, since the start of the case.
    pub found_ns: u64,
    /// Where and when it was thought to be.
    pub place: Place,
}

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measured {
    /// When it was measured.
    pub time_ns: u64,
    /// In the unit of its quantity.
    pub value: i64,
}

/// One job of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// When it was released.
    pub released_ns: u64,
    /// When its first thread ran for the first time.
    pub started_ns: Option<u64>,
    /// How it ended.
    pub end: JobEnd,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd {
    /// Its last thread finished it then.
    Finished(u64),
    /// It was dropped then, before it started.
    Dropped(u64),
    /// The run ended before it did.
    Unfinished,
}

impl Job {
    /// From release to finish; `None` for a job that did not finish.
    pub fn response_ns(&self) -> Option<u64> {
        match self.end {
            JobEnd::Finished(finished_ns) => Some(finished_ns - self.released_ns),
            JobEnd::Dropped(_) | JobEnd::Unfinished => None,
        }
    }

    /// Whether it was dropped before it started.
    pub fn was_dropped(&self) -> bool {
        matches!(self.end, JobEnd::Dropped(_))
    }

    /// When it had to be finished.
    pub fn deadline_ns(&self, task: &event::Task) -> u64 {
        self.released_ns.saturating_add(task.deadline_ns)
    }

    /// Whether its deadline passed inside the run without its finish.
    pub fn missed(&self, task: &event::Task, end_ns: u64) -> bool {
        let deadline_ns = self.deadline_ns(task);
        match self.end {
            JobEnd::Finished(finished_ns) => finished_ns > deadline_ns,
            JobEnd::Dropped(_) | JobEnd::Unfinished => deadline_ns <= end_ns,
        }
    }
}

/// A thread on a core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Occupation {
    /// Core number.
    pub core: u16,
    /// Index of the thread.
    pub thread: u16,
    /// When it came.
    pub from_ns: u64,
    /// When it left.
    pub to_ns: u64,
    /// Why it left; `None` when the record ends with the thread on the core.
    pub off: Option<OffReason>,
}

impl Occupation {
    /// How long it was there.
    pub fn length_ns(&self) -> u64 {
        self.to_ns - self.from_ns
    }
}

/// One core's course.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CoreRun {
    /// Who ran.
    pub occupations: Vec<Occupation>,
    /// When it was throttled.
    pub throttles: Vec<Throttle>,
    /// Which budgets were in force. Before the first one there is none.
    pub budgets: Vec<BudgetInForce>,
    /// Its totals.
    pub samples: Vec<Sample>,
    /// What its vCPU lent and borrowed.
    pub loans: Vec<Loan>,
}

/// What a vCPU lent to others, or borrowed of what they lent, for one period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Loan {
    /// When.
    pub time_ns: u64,
    /// When the period begins.
    pub period_begin_ns: u64,
    /// How much it lent.
    pub lent_bytes: u64,
    /// How much it borrowed.
    pub borrowed_bytes: u64,
}

/// A reservation that is another one from here on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReservationChange {
    /// From when on.
    pub from_ns: u64,
    /// When it was asked for.
    pub asked_ns: u64,
    /// Length of its periods; not 0.
    pub period_ns: u64,
    /// Bytes a period of each vCPU.
    pub shares_bytes: Vec<u64>,
}

/// A core out of budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throttle {
    /// When it began.
    pub from_ns: u64,
    /// When it ended.
    pub to_ns: u64,
    /// Why it ended; `None` when the run ended first.
    pub reason: Option<UnthrottleReason>,
}

/// A budget of a core, until the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BudgetInForce {
    /// When it was set.
    pub from_ns: u64,
    /// When it was replaced.
    pub to_ns: u64,
    /// Bytes per period; `None` is unlimited.
    pub read_bytes: Option<u64>,
    /// Bytes per period; `None` is unlimited.
    pub write_bytes: Option<u64>,
}

/// A core's totals at an instant.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// When.
    pub time_ns: u64,
    /// Totals since the case began.
    pub counters: Counters,
}

/// One thread's course.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadRun {
    /// Where it ran.
    pub occupations: Vec<Occupation>,
    /// When it ran or wanted to run: from waking, or from being first seen on a
    /// core, to sleeping or ending.
    pub runnable: Vec<Interval>,
    /// Memory accesses that it executed; `None` when the record does not tell.
    pub accesses: Option<u64>,
}

/// A stretch of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Its begin.
    pub from_ns: u64,
    /// Its end.
    pub to_ns: u64,
}

/// What the enforcer says about a partition, until it says something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GangActive {
    /// From when.
    pub from_ns: u64,
    /// Until when.
    pub to_ns: u64,
    /// Priority of the active gang; `None` when no gang is.
    pub priority: Option<u8>,
}

/// Something a reader should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// When.
    pub time_ns: u64,
    /// The text.
    pub text: String,
}

impl CaseRun {
    /// Whether the record says who ran where: where it has no cores, or where jobs started and no
    /// thread was ever on one, nobody recorded it.
    pub fn says_who_ran(&self) -> bool {
        let has_started = |job: &Job| job.started_ns.is_some();
        let ran = |thread: &ThreadRun| !thread.occupations.is_empty();
        let nothing_ran = || !self.jobs.iter().flatten().any(has_started);
        self.case.cores > 0 && (self.threads.iter().any(ran) || nothing_ran())
    }

    /// The gang of a thread; `None` for best-effort work.
    pub fn gang_of(&self, thread: u16) -> Option<&event::Gang> {
        let task = self.case.threads[usize::from(thread)].task?;
        let gang = self.case.tasks[usize::from(task)].gang;
        Some(&self.case.gangs[usize::from(gang)])
    }

    /// Whether a thread is best-effort work.
    pub fn is_best_effort(&self, thread: u16) -> bool {
        self.case.threads[usize::from(thread)].task.is_none()
    }

    /// A thread's name.
    pub fn thread_name(&self, thread: u16) -> &str {
        &self.case.threads[usize::from(thread)].name
    }

    /// Indices of a task's threads, ascending.
    pub fn threads_of_task(&self, task: u16) -> impl Iterator<Item = u16> + '_ {
        (0..)
            .zip(&self.case.threads)
            .filter_map(move |(index, thread)| (thread.task == Some(task)).then_some(index))
    }
}
