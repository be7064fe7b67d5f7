//! Gang scheduling of one partition of CPUs, one gang at a time.
//!
//! The rules, what the caller owes and the known gaps are stated in
//! `policy/include/ringfence/gang.h`, which this module calls.

mod ffi;

use crate::CpuSet;

/// Whether a CPU may start a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Decision {
    /// It may, and counts as occupied from now until it reports [`Event::Stopping`].
    Run,
    /// It may not, and waits until it is told to reschedule.
    Block,
}

/// How much of a partition's time real-time work may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ShareLimit {
    /// All of it.
    Off,
    /// At most `limit_ns` of every `window_ns`, on a fixed grid of windows;
    /// `0 < limit_ns < window_ns < 2^63`.
    Limited {
        /// Real-time nanoseconds allowed in a window.
        limit_ns: u64,
        /// Length of a window in nanoseconds.
        window_ns: u64,
    },
}

impl Default for ShareLimit {
    /// 950 of every 1000 ms, as Linux gives its own real-time class by default.
    fn default() -> Self {
        Self::Limited {
            limit_ns: 950_000_000,
            window_ns: 1_000_000_000,
        }
    }
}

/// What real-time work has used of the window of a share limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct ShareUse {
    /// When the window began.
    pub window_start_ns: u64,
    /// Up to when it was counted; later use is not in it.
    pub seen_ns: u64,
    /// Nanoseconds used.
    pub used_ns: u64,
}

/// What a scheduler reports to a [`Partition`]. Priorities are 1 to 99, bigger is
/// more important; times are nanoseconds of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A thread became runnable. Told to reschedule: the CPUs of the gang that it pre-empts.
    Runnable {
        /// Of the thread.
        priority: u8,
    },
    /// A thread is no longer runnable. Told to reschedule: waiting CPUs, if it was
    /// the last of the active gang.
    Quiescent {
        /// Of the thread.
        priority: u8,
    },
    /// A CPU wants to start a thread. The answer is a [`Decision`].
    Decide {
        /// That asks.
        cpu: u16,
        /// Of the thread.
        priority: u8,
    },
    /// A thread started, after [`Decision::Run`].
    Running {
        /// On which it started.
        cpu: u16,
        /// Of the thread.
        priority: u8,
        /// Now.
        now_ns: u64,
    },
    /// A CPU's thread left it, or it starts none after [`Decision::Run`]. Told to
    /// reschedule: waiting CPUs, if it was the last of its gang.
    Stopping {
        /// That is free now.
        cpu: u16,
        /// Now.
        now_ns: u64,
    },
    /// The time of [`Partition::next_timer_ns`] has come. Told to reschedule: running
    /// CPUs when the share limit is used up, waiting ones when its window is over.
    Timer {
        /// Now.
        now_ns: u64,
    },
}

/// What follows from an [`Event`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The answer to [`Event::Decide`], and only to that.
    pub decision: Option<Decision>,
    /// CPUs that have to decide again.
    pub reschedule: CpuSet,
}

/// Why a partition cannot be made, or an event cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum GangError {
    /// The partition has no CPU.
    #[error("a partition without a CPU: expected at least one CPU")]
    NoCpus,
    /// The share limit is not one.
    #[error("not a share limit: expected 0 < limit_ns < window_ns < 2^63")]
    BadShare,
    /// The CPU is outside the partition.
    #[error("a CPU outside the partition")]
    BadCpu,
    /// The priority is out of range.
    #[error("not a priority: expected 1 to 99")]
    BadPriority,
    /// More than 2^32 - 1 threads of one priority.
    #[error("too many runnable threads of one priority: expected at most 2^32 - 1")]
    TooManyThreads,
    /// A thread goes quiescent, but none of its priority is runnable.
    #[error("quiescent without runnable: no thread of this priority is runnable")]
    NotRunnable,
    /// A thread starts where one runs.
    #[error("a second thread starts on a CPU: expected stopping first")]
    AlreadyRunning,
    /// A thread starts that may not.
    #[error("a thread starts that may not run: expected to decide first, and to heed the answer")]
    NotAllowed,
    /// A CPU stops that was not allowed to run.
    #[error("stopping without running: the CPU runs no thread of a gang")]
    NotRunning,
}

/// One partition of CPUs, in which one gang runs at a time.
///
/// [`apply`](Self::apply) takes every event and refuses those that cannot be, the
/// state unchanged. The methods named after the events are for schedulers that are
/// right by construction: an event that cannot be is a mistake in the scheduler,
/// and they panic on it.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Partition(ffi::State);

impl Partition {
    /// A partition of `cpus`, at least one, with nothing runnable. The first window
    /// of the share limit starts at `now_ns`.
    pub fn new(cpus: &CpuSet, share: ShareLimit, now_ns: u64) -> Result<Self, GangError> {
        let (limit_ns, window_ns) = match share {
            ShareLimit::Off => (0, 0),
            // The policy core reads a window of 0 as no limit.
            ShareLimit::Limited { window_ns: 0, .. } => return Err(GangError::BadShare),
            ShareLimit::Limited {
                limit_ns,
                window_ns,
            } => (limit_ns, window_ns),
        };
        ffi::State::new(cpus, limit_ns, window_ns, now_ns).map(Self)
    }

    /// Reports any event; one that cannot be is an error and changes nothing.
    pub fn apply(&mut self, event: Event) -> Result<Outcome, GangError> {
        let mut reschedule = CpuSet::new();
        let mut decision = None;
        match event {
            Event::Runnable { priority } => self.0.runnable(priority, &mut reschedule)?,
            Event::Quiescent { priority } => self.0.quiescent(priority, &mut reschedule)?,
            Event::Decide { cpu, priority } => decision = Some(self.0.decide(cpu, priority)?),
            Event::Running {
                cpu,
                priority,
                now_ns,
            } => self.0.running(cpu, priority, now_ns)?,
            Event::Stopping { cpu, now_ns } => self.0.stopping(cpu, now_ns, &mut reschedule)?,
            Event::Timer { now_ns } => self.0.timer(now_ns, &mut reschedule),
        }
        Ok(Outcome {
            decision,
            reschedule,
        })
    }

    /// A thread of `priority` became runnable; answers the CPUs to reschedule.
    ///
    /// # Panics
    /// If `priority` is not 1 to 99.
    #[track_caller]
    pub fn runnable(&mut self, priority: u8) -> CpuSet {
        self.expect(Event::Runnable { priority }).reschedule
    }

    /// A thread of `priority` is no longer runnable; answers the CPUs to reschedule.
    ///
    /// # Panics
    /// If no thread of `priority` is runnable.
    #[track_caller]
    pub fn quiescent(&mut self, priority: u8) -> CpuSet {
        self.expect(Event::Quiescent { priority }).reschedule
    }

    /// Whether `cpu` may start a thread of `priority` now. After [`Decision::Run`] it
    /// counts as occupied; after [`Decision::Block`] it waits to be rescheduled.
    ///
    /// # Panics
    /// If `cpu` is outside the partition or `priority` is not 1 to 99.
    #[track_caller]
    pub fn decide(&mut self, cpu: u16, priority: u8) -> Decision {
        self.expect(Event::Decide { cpu, priority })
            .decision
            .expect("decide is answered by a decision")
    }

    /// A thread of `priority` started on `cpu`.
    ///
    /// # Panics
    /// If a thread runs on `cpu` already, or this one is not allowed to.
    #[track_caller]
    pub fn running(&mut self, cpu: u16, priority: u8, now_ns: u64) {
        self.expect(Event::Running {
            cpu,
            priority,
            now_ns,
        });
    }

    /// The thread on `cpu` left it, or none starts after [`Decision::Run`]; answers
    /// the CPUs to reschedule.
    ///
    /// # Panics
    /// If `cpu` was not told to run.
    #[track_caller]
    pub fn stopping(&mut self, cpu: u16, now_ns: u64) -> CpuSet {
        self.expect(Event::Stopping { cpu, now_ns }).reschedule
    }

    /// The time of [`next_timer_ns`](Self::next_timer_ns) has come; answers the CPUs
    /// to reschedule.
    pub fn timer(&mut self, now_ns: u64) -> CpuSet {
        self.expect(Event::Timer { now_ns }).reschedule
    }

    /// When to call [`timer`](Self::timer); ask again after `running`, `stopping` and
    /// `timer`. `None`: not before one of them.
    pub fn next_timer_ns(&self) -> Option<u64> {
        self.0.next_timer_ns()
    }

    /// Priority of the active gang: the highest of which a thread is runnable.
    pub fn active_priority(&self) -> Option<u8> {
        self.0.active_priority()
    }

    /// Whether the share limit is used up: no gang may start before its window ends.
    /// Only `stopping` and `timer` change it.
    pub fn is_share_exhausted(&self) -> bool {
        self.0.is_share_exhausted()
    }

    /// What was used of the window of the share limit; all 0 without a limit.
    pub fn share_use(&self) -> ShareUse {
        self.0.share_use()
    }

    #[track_caller]
    fn expect(&mut self, event: Event) -> Outcome {
        self.apply(event)
            .unwrap_or_else(|error| panic!("{event:?}: {error}"))
    }
}

impl std::fmt::Debug for Partition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Partition")
            .field("active_priority", &self.active_priority())
            .field("next_timer_ns", &self.next_timer_ns())
            .finish_non_exhaustive()
    }
}
