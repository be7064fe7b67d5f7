//! What the response-time analysis works on: one partition, its tasks and the
//! costs of its operating system.

/// A fixed set of cores inside which one gang runs at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Name.
    pub name: String,
    /// Tasks; those of equal priority are one gang, whatever its name.
    pub tasks: Vec<Task>,
    /// What scheduling costs.
    pub costs: Costs,
    /// At most this share of time goes to real-time work.
    pub share: Option<Share>,
    /// Period of the regulator, whose refill may interrupt every core; `None`
    /// when nothing is regulated.
    pub refill_period_ns: Option<u64>,
    /// Priorities whose tasks may hold each other up across cores, see
    /// [`Partition::is_entangled`].
    pub entangled: Vec<u8>,
}

/// A real-time task as the analysis sees it: all its threads together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// Unique name.
    pub name: String,
    /// Name of its gang.
    pub gang: String,
    /// 1 to 99; bigger is more important.
    pub priority: u8,
    /// Least time between two releases before jitter; positive.
    pub period_ns: u64,
    /// Time from the nominal release until a job must be finished.
    pub deadline_ns: u64,
    /// Nominal time of the first release.
    pub offset_ns: u64,
    /// How much later than nominal a job may be released.
    pub jitter_ns: u64,
    /// Cores that its threads are pinned to, each once.
    pub cores: Vec<u16>,
    /// Longest execution of one job when its gang is alone on the machine.
    pub execution_ns: u64,
    /// Longest time that best-effort work and other tasks that run at the same
    /// time add to one job; `None` when there is no bound.
    pub interference_ns: Option<u64>,
    /// Longest time that dirty lines of others, in caches and on their way to
    /// memory, add to a job that begins.
    pub begin_ns: u64,
    /// Longest time that being resumed after a preemption adds: the working set
    /// comes back into the caches, and best-effort work has fresh budgets.
    pub resume_ns: u64,
    /// Barriers between the phases of a job: at each, threads sleep until the last one arrives.
    pub barriers: u64,
    /// Longest time that a barrier adds to the phase after it: the L1 comes back.
    pub barrier_reload_ns: u64,
    /// Longest stretch in which a thread cannot be preempted.
    pub non_preemptive_ns: u64,
    /// Whether a job waits for its predecessor; otherwise it is dropped.
    pub queues: bool,
}

impl Task {
    /// Whether a thread of `other` shares a core with one of `self`.
    pub fn shares_core(&self, other: &Task) -> bool {
        self.cores.iter().any(|core| other.cores.contains(core))
    }
}

/// Real-time work of the partition runs at most `limit_ns` of every window on a fixed grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// `0 < limit_ns < window_ns`.
    pub limit_ns: u64,
    /// Length of the window.
    pub window_ns: u64,
}

/// What scheduling costs on one core, and how these costs add up on a partition.
///
/// A core that chooses is inside the kernel, with interrupts off, for at most
/// [`Costs::choice_ns`]; what arrives meanwhile waits, and costs one interrupt
/// however much of it there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Costs {
    /// From a core's decision to the first instruction of the next thread.
    pub context_switch_ns: u64,
    /// Extra work of a timer or reschedule interrupt on the core that takes it.
    pub interrupt_ns: u64,
    /// From sending a reschedule interrupt to its arrival.
    pub latency_ns: u64,
    /// Longest wait for an instruction boundary: one memory access.
    pub access_ns: u64,
}

impl Costs {
    /// Longest time that a core is inside the kernel for one choice.
    pub fn choice_ns(&self) -> u64 {
        self.interrupt_ns.saturating_add(self.context_switch_ns)
    }

    /// Longest work left for interrupts that were sent to a core before it began to run
    /// a gang: offers of best-effort work, refused budgets, hand-overs that are over.
    ///
    /// All of them arrive within the latency. Those that arrive during the switch
    /// to the gang are taken together; from then on they take at most the time
    /// that is left of the latency, and one interrupt that began in it.
    fn stale_ns(&self) -> u64 {
        self.latency_ns
            .saturating_sub(self.context_switch_ns)
            .saturating_add(self.interrupt_ns)
    }

    /// Longest time from telling waiting cores that they may run until all of them
    /// execute their threads without a stale interrupt: the message travels, finds
    /// the core in a choice or in an access, and the core chooses.
    pub fn hand_over_ns(&self) -> u64 {
        self.latency_ns
            .saturating_add(self.access_ns)
            .saturating_add(self.choice_ns().saturating_mul(2))
            .saturating_add(self.stale_ns())
    }

    /// Longest time from a release that makes a gang active until all of its threads
    /// execute, when cores that run a lower gang cannot be preempted for up to
    /// `non_preemptive_ns`: these cores are told, finish a choice and an
    /// access, and leave; then it is as in [`Costs::hand_over_ns`].
    pub fn take_over_ns(&self, non_preemptive_ns: u64) -> u64 {
        self.latency_ns
            .saturating_add(self.choice_ns())
            .saturating_add(self.access_ns)
            .saturating_add(non_preemptive_ns)
            .saturating_add(self.hand_over_ns())
    }
}

impl Partition {
    /// Whether tasks of `task`'s gang may hold each other up across cores.
    ///
    /// Threads that wait for each other, at a barrier or for the end of the job
    /// before, on cores that they share with other tasks of their gang, wait for
    /// what these other tasks wait for. Then all that can be said is that some core
    /// of the gang makes progress, so all work of all cores counts as one queue.
    pub fn is_entangled(&self, task: &Task) -> bool {
        self.entangled.contains(&task.priority)
    }

    /// Takes down the priorities of tasks that wait, by `waits`, and share a core with another
    /// task of their gang, as entangled; whether there is a new one.
    pub fn entangle(&mut self, waits: impl Fn(&Task) -> bool) -> bool {
        let mut found: Vec<u8> = self
            .tasks
            .iter()
            .filter(|task| waits(task) && self.has_core_mates(task) && !self.is_entangled(task))
            .map(|task| task.priority)
            .collect();
        found.dedup();
        let is_new = !found.is_empty();
        self.entangled.extend(found);
        is_new
    }

    fn has_core_mates(&self, task: &Task) -> bool {
        self.tasks.iter().any(|other| {
            other.name != task.name && other.priority == task.priority && task.shares_core(other)
        })
    }

    /// Longest stretch in which a gang below `priority` cannot be preempted.
    pub fn blocking_ns(&self, priority: u8) -> u64 {
        let lower = self.tasks.iter().filter(|task| task.priority < priority);
        lower.map(|task| task.non_preemptive_ns).max().unwrap_or(0)
    }

    /// What an interrupt that hits all cores costs the gang that runs.
    ///
    /// Without barriers the threads lose the same time side by side. With
    /// barriers each core's loss can fall into another phase.
    pub fn interrupt_ns(&self) -> u64 {
        let phased = self.tasks.iter().filter(|task| task.barriers > 0);
        let cores = phased.map(|task| task.cores.len()).max().unwrap_or(1);
        let cores = u64::try_from(cores).unwrap_or(u64::MAX);
        self.costs.interrupt_ns.saturating_mul(cores)
    }

    /// What one resumption can cost all tasks of `priority` together.
    pub fn resume_ns(&self, priority: u8) -> u64 {
        let gang = self.tasks.iter().filter(|task| task.priority == priority);
        gang.fold(0, |sum: u64, task| sum.saturating_add(task.resume_ns))
    }

    /// The most that one preemption of a gang with `lowest <= priority < below` costs it.
    pub fn worst_resume_ns(&self, lowest: u8, below: u8) -> u64 {
        (lowest..below)
            .map(|priority| self.resume_ns(priority))
            .max()
            .unwrap_or(0)
    }
}
