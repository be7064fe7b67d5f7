//! The gang policy as the paper describes it (RT-Gang, sections III and IV), in sets
//! and maps: slow, and easy to compare with the text.

use ringfence_policy::CpuSet;
use ringfence_policy::gang::{Decision, Event, GangError, Outcome, ShareLimit};
use std::collections::{BTreeMap, BTreeSet};

pub struct Reference {
    cpus: BTreeSet<u16>,
    /// Runnable threads by priority; no entry without a thread.
    threads: BTreeMap<u8, u32>,
    /// Priority for which a CPU was told to run, until it stops.
    told_to_run: BTreeMap<u16, u8>,
    /// CPUs whose thread has started.
    started: BTreeSet<u16>,
    /// CPUs told to block, until they are told otherwise.
    blocked: BTreeSet<u16>,
    share: Option<Share>,
}

struct Share {
    limit_ns: u64,
    window_ns: u64,
    origin_ns: u64,
    now_ns: u64,
    /// Nanoseconds used, by number of the window.
    used_ns: BTreeMap<u64, u64>,
    /// The window in which the limit was found used up, until it is found over.
    exhausted: Option<u64>,
}

impl Reference {
    pub fn new(cpus: &CpuSet, share: ShareLimit, now_ns: u64) -> Self {
        let share = match share {
            ShareLimit::Off => None,
            ShareLimit::Limited {
                limit_ns,
                window_ns,
            } => Some(Share {
                limit_ns,
                window_ns,
                origin_ns: now_ns,
                now_ns,
                used_ns: BTreeMap::new(),
                exhausted: None,
            }),
        };
        Self {
            cpus: cpus.iter().collect(),
            threads: BTreeMap::new(),
            told_to_run: BTreeMap::new(),
            started: BTreeSet::new(),
            blocked: BTreeSet::new(),
            share,
        }
    }

    pub fn active(&self) -> Option<u8> {
        self.threads.keys().max().copied()
    }

    pub fn apply(&mut self, event: Event) -> Result<Outcome, GangError> {
        self.check(event)?;
        let mut decision = None;
        let reschedule = match event {
            Event::Runnable { priority } => self.runnable(priority),
            Event::Quiescent { priority } => self.quiescent(priority),
            Event::Decide { cpu, priority } => {
                decision = Some(self.decide(cpu, priority));
                BTreeSet::new()
            }
            Event::Running {
                cpu,
                priority,
                now_ns,
            } => {
                self.pass_time(now_ns);
                self.let_run(cpu, priority);
                self.started.insert(cpu);
                BTreeSet::new()
            }
            Event::Stopping { cpu, now_ns } => self.stopping(cpu, now_ns),
            Event::Timer { now_ns } => {
                self.pass_time(now_ns);
                self.settle_share().unwrap_or_default()
            }
        };
        Ok(Outcome {
            decision,
            reschedule: reschedule.into_iter().collect(),
        })
    }

    fn check(&self, event: Event) -> Result<(), GangError> {
        let (cpu, priority) = match event {
            Event::Runnable { priority } | Event::Quiescent { priority } => (None, Some(priority)),
            Event::Decide { cpu, priority } | Event::Running { cpu, priority, .. } => {
                (Some(cpu), Some(priority))
            }
            Event::Stopping { cpu, .. } => (Some(cpu), None),
            Event::Timer { .. } => (None, None),
        };
        if cpu.is_some_and(|cpu| !self.cpus.contains(&cpu)) {
            return Err(GangError::BadCpu);
        }
        if priority.is_some_and(|priority| !(1..=99).contains(&priority)) {
            return Err(GangError::BadPriority);
        }
        match event {
            Event::Quiescent { priority } if !self.threads.contains_key(&priority) => {
                Err(GangError::NotRunnable)
            }
            Event::Running { cpu, .. } if self.started.contains(&cpu) => {
                Err(GangError::AlreadyRunning)
            }
            Event::Running { cpu, priority, .. }
                if self.told_to_run.get(&cpu) != Some(&priority) && !self.may_run(priority) =>
            {
                Err(GangError::NotAllowed)
            }
            Event::Stopping { cpu, .. } if !self.told_to_run.contains_key(&cpu) => {
                Err(GangError::NotRunning)
            }
            _ => Ok(()),
        }
    }

    fn runnable(&mut self, priority: u8) -> BTreeSet<u16> {
        let before = self.active();
        *self.threads.entry(priority).or_default() += 1;
        if self.active() == before {
            return BTreeSet::new();
        }
        let lower = self.told_to_run.iter().filter(|(_, p)| **p < priority);
        lower.map(|(cpu, _)| *cpu).collect()
    }

    fn quiescent(&mut self, priority: u8) -> BTreeSet<u16> {
        let before = self.active();
        let threads = self.threads.get_mut(&priority).expect("checked");
        *threads -= 1;
        if *threads == 0 {
            self.threads.remove(&priority);
        }
        if self.active() == before {
            BTreeSet::new()
        } else {
            self.tell_blocked()
        }
    }

    fn decide(&mut self, cpu: u16, priority: u8) -> Decision {
        if self.may_run(priority) {
            self.let_run(cpu, priority);
            Decision::Run
        } else {
            self.blocked.insert(cpu);
            Decision::Block
        }
    }

    fn stopping(&mut self, cpu: u16, now_ns: u64) -> BTreeSet<u16> {
        self.pass_time(now_ns);
        self.told_to_run.remove(&cpu);
        self.started.remove(&cpu);
        match self.settle_share() {
            Some(told) => told,
            None if self.told_to_run.is_empty() => self.tell_blocked(),
            None => BTreeSet::new(),
        }
    }

    fn may_run(&self, priority: u8) -> bool {
        self.active() == Some(priority)
            && self.told_to_run.values().all(|p| *p == priority)
            && !self.exhausted()
    }

    fn let_run(&mut self, cpu: u16, priority: u8) {
        self.told_to_run.insert(cpu, priority);
        self.blocked.remove(&cpu);
    }

    fn tell_blocked(&mut self) -> BTreeSet<u16> {
        if self.exhausted() {
            return BTreeSet::new();
        }
        std::mem::take(&mut self.blocked)
    }

    pub fn exhausted(&self) -> bool {
        self.share.as_ref().is_some_and(|s| s.exhausted.is_some())
    }

    /// Books the time since the last report to the windows it lies in.
    fn pass_time(&mut self, now_ns: u64) {
        let busy = !self.started.is_empty();
        let Some(share) = &mut self.share else { return };
        while share.now_ns < now_ns {
            let window = share.window();
            let until_ns = now_ns.min(share.start_ns(window + 1));
            if busy {
                *share.used_ns.entry(window).or_default() += until_ns - share.now_ns;
            }
            share.now_ns = until_ns;
        }
    }

    /// Looks whether the limit is used up now; who is told, if that changed.
    fn settle_share(&mut self) -> Option<BTreeSet<u16>> {
        let share = self.share.as_mut()?;
        let window = share.window();
        if share.exhausted == Some(window) {
            return None;
        }
        let was_exhausted = share.exhausted.take().is_some();
        if share
            .used_ns
            .get(&window)
            .is_some_and(|used_ns| *used_ns >= share.limit_ns)
        {
            share.exhausted = Some(window);
            return Some(self.told_to_run.keys().copied().collect());
        }
        was_exhausted.then(|| self.tell_blocked())
    }

    pub fn next_timer_ns(&self) -> Option<u64> {
        let share = self.share.as_ref()?;
        if let Some(window) = share.exhausted {
            return Some(share.start_ns(window + 1));
        }
        if self.started.is_empty() {
            return None;
        }
        // Busy from now on: the first window whose limit is reached before it ends.
        (share.window()..).find_map(|window| {
            let used_ns = share.used_ns.get(&window).copied().unwrap_or(0);
            let left_ns = share.limit_ns.saturating_sub(used_ns);
            let reached_ns = share.now_ns.max(share.start_ns(window)) + left_ns;
            (reached_ns < share.start_ns(window + 1)).then_some(reached_ns)
        })
    }
}

impl Share {
    fn window(&self) -> u64 {
        (self.now_ns - self.origin_ns) / self.window_ns
    }

    fn start_ns(&self, window: u64) -> u64 {
        self.origin_ns + window * self.window_ns
    }
}
