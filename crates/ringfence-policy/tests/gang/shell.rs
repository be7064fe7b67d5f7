//! A correct shell around the policy: threads pinned to CPUs, and the steps of a
//! scheduler, each at most one report to the policy, in any order that can occur.

use ringfence_policy::CpuSet;
use ringfence_policy::gang::{Decision, Event, Outcome, ShareLimit};

/// What is driven: the policy, or the policy next to its reference model.
pub trait Policy {
    fn apply(&mut self, event: Event) -> Outcome;
    fn next_timer_ns(&self) -> Option<u64>;
}

/// A partition and the threads that live in it.
#[derive(Debug, Clone)]
pub struct Setup {
    /// CPU numbers; threads name their CPU by its place in this list.
    pub cpus: Vec<u16>,
    pub threads: Vec<Thread>,
    pub share: ShareLimit,
}

#[derive(Debug, Clone, Copy)]
pub struct Thread {
    pub cpu: usize,
    pub priority: u8,
}

/// What a CPU does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slot {
    Free,
    /// Told to run this thread, which has not started yet.
    Granted(usize),
    Running(usize),
    /// Has to report stopping next; `started` if a thread is still on the core.
    Leaving {
        thread: usize,
        started: bool,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// A thread becomes runnable.
    Wake(usize),
    /// A thread goes to sleep or ends, perhaps while it still is on its core.
    Sleep(usize),
    /// A CPU that has to reschedule looks what it should do.
    Reschedule(usize),
    /// The thread of a decision starts.
    Start(usize),
    /// A CPU's thread leaves it: because it has to, or yields.
    Stop(usize),
    /// Some nanoseconds pass, up to the next timer, which is then served at once.
    Pass(u64),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Shell<P> {
    pub policy: P,
    pub runnable: Vec<bool>,
    pub slots: Vec<Slot>,
    /// CPUs that have to reschedule.
    pub pending: Vec<bool>,
    pub now_ns: u64,
    /// Nanoseconds of the present window in which a thread ran.
    pub used_ns: u64,
}

impl<P: Policy> Shell<P> {
    pub fn new(setup: &Setup, policy: P) -> Self {
        Self {
            policy,
            runnable: vec![false; setup.threads.len()],
            slots: vec![Slot::Free; setup.cpus.len()],
            pending: vec![false; setup.cpus.len()],
            now_ns: 0,
            used_ns: 0,
        }
    }

    /// Whether `step` can occur now.
    pub fn can(&self, setup: &Setup, step: Step) -> bool {
        match step {
            Step::Wake(thread) => !self.runnable[thread],
            Step::Sleep(thread) => self.runnable[thread],
            Step::Reschedule(cpu) => {
                self.pending[cpu] && !matches!(self.slots[cpu], Slot::Leaving { .. })
            }
            Step::Start(cpu) => matches!(self.slots[cpu], Slot::Granted(_)),
            Step::Stop(cpu) => matches!(self.slots[cpu], Slot::Running(_) | Slot::Leaving { .. }),
            Step::Pass(_) => setup.share != ShareLimit::Off,
        }
    }

    pub fn step(&mut self, setup: &Setup, step: Step) {
        match step {
            Step::Wake(thread) => {
                let Thread { cpu, priority } = setup.threads[thread];
                self.runnable[thread] = true;
                self.pending[cpu] = true;
                self.report(setup, Event::Runnable { priority });
            }
            Step::Sleep(thread) => {
                let Thread { cpu, priority } = setup.threads[thread];
                self.runnable[thread] = false;
                match self.slots[cpu] {
                    Slot::Granted(t) if t == thread => self.leave(cpu, thread, false),
                    Slot::Running(t) if t == thread => self.leave(cpu, thread, true),
                    _ => {}
                }
                self.report(setup, Event::Quiescent { priority });
            }
            Step::Reschedule(cpu) => self.reschedule(setup, cpu),
            Step::Start(cpu) => {
                let Slot::Granted(thread) = self.slots[cpu] else {
                    unreachable!("start of nothing");
                };
                self.slots[cpu] = Slot::Running(thread);
                let (priority, now_ns) = (setup.threads[thread].priority, self.now_ns);
                let cpu = setup.cpus[cpu];
                self.report(
                    setup,
                    Event::Running {
                        cpu,
                        priority,
                        now_ns,
                    },
                );
            }
            Step::Stop(cpu) => {
                self.slots[cpu] = Slot::Free;
                self.pending[cpu] = true;
                let (cpu, now_ns) = (setup.cpus[cpu], self.now_ns);
                self.report(setup, Event::Stopping { cpu, now_ns });
            }
            Step::Pass(nanoseconds) => self.pass(setup, nanoseconds),
        }
    }

    fn leave(&mut self, cpu: usize, thread: usize, started: bool) {
        self.slots[cpu] = Slot::Leaving { thread, started };
    }

    /// Stops what is not the best thread any more, or decides about the best one.
    fn reschedule(&mut self, setup: &Setup, cpu: usize) {
        self.pending[cpu] = false;
        let best = self.best_thread(setup, cpu);
        let (here, started) = match self.slots[cpu] {
            Slot::Granted(thread) => (Some(thread), false),
            Slot::Running(thread) => (Some(thread), true),
            Slot::Free | Slot::Leaving { .. } => (None, false),
        };
        let priority_of = |thread: usize| setup.threads[thread].priority;
        if let Some(thread) = here
            && best.map(priority_of) != Some(priority_of(thread))
        {
            return self.leave(cpu, thread, started);
        }
        let Some(best) = best else { return };
        let event = Event::Decide {
            cpu: setup.cpus[cpu],
            priority: priority_of(best),
        };
        let decision = self.report(setup, event);
        match (decision, here) {
            (Some(Decision::Run), None) => self.slots[cpu] = Slot::Granted(best),
            (Some(Decision::Block), Some(thread)) => self.leave(cpu, thread, started),
            _ => {}
        }
    }

    fn pass(&mut self, setup: &Setup, nanoseconds: u64) {
        let ShareLimit::Limited { window_ns, .. } = setup.share else {
            unreachable!("time does not matter without a share limit");
        };
        for _ in 0..nanoseconds {
            let on_core = |slot: &Slot| {
                matches!(slot, Slot::Running(_) | Slot::Leaving { started: true, .. })
            };
            self.used_ns += u64::from(self.slots.iter().any(on_core));
            self.now_ns += 1;
            if self.now_ns.is_multiple_of(window_ns) {
                self.used_ns = 0;
            }
            if self.policy.next_timer_ns() == Some(self.now_ns) {
                let now_ns = self.now_ns;
                self.report(setup, Event::Timer { now_ns });
                return;
            }
        }
    }

    fn report(&mut self, setup: &Setup, event: Event) -> Option<Decision> {
        let outcome = self.policy.apply(event);
        for (cpu, number) in setup.cpus.iter().enumerate() {
            self.pending[cpu] |= outcome.reschedule.contains(*number);
        }
        outcome.decision
    }

    /// The most important runnable thread of a CPU.
    fn best_thread(&self, setup: &Setup, cpu: usize) -> Option<usize> {
        (0..setup.threads.len())
            .filter(|&t| self.runnable[t] && setup.threads[t].cpu == cpu)
            .max_by_key(|&t| setup.threads[t].priority)
    }

    fn used_up(&self, setup: &Setup) -> bool {
        matches!(setup.share, ShareLimit::Limited { limit_ns, .. } if self.used_ns >= limit_ns)
    }

    fn active(&self, setup: &Setup) -> Option<u8> {
        (0..setup.threads.len())
            .filter(|&t| self.runnable[t])
            .map(|t| setup.threads[t].priority)
            .max()
    }

    /// The priority that occupies a CPU, started or not.
    fn occupied_by(&self, setup: &Setup, cpu: usize) -> Option<u8> {
        match self.slots[cpu] {
            Slot::Free => None,
            Slot::Granted(thread) | Slot::Running(thread) | Slot::Leaving { thread, .. } => {
                Some(setup.threads[thread].priority)
            }
        }
    }

    /// All CPUs that are occupied are so by one gang.
    pub fn one_gang_at_a_time(&self, setup: &Setup) -> bool {
        let mut gangs = (0..setup.cpus.len()).filter_map(|cpu| self.occupied_by(setup, cpu));
        let first = gangs.next();
        gangs.all(|gang| Some(gang) == first)
    }

    /// A CPU that runs what may not run any more has been told.
    pub fn whoever_must_stop_is_told(&self, setup: &Setup) -> bool {
        (0..setup.cpus.len()).all(|cpu| match self.slots[cpu] {
            Slot::Granted(thread) | Slot::Running(thread) => {
                let allowed = Some(setup.threads[thread].priority) == self.active(setup)
                    && !self.used_up(setup);
                allowed || self.pending[cpu]
            }
            Slot::Free | Slot::Leaving { .. } => true,
        })
    }

    /// A free CPU with a thread that may run has been told.
    pub fn whoever_may_start_is_told(&self, setup: &Setup) -> bool {
        let cpus = 0..setup.cpus.len();
        let active = self.active(setup);
        let in_the_way = cpus.clone().any(|cpu| {
            self.occupied_by(setup, cpu)
                .is_some_and(|gang| Some(gang) != active)
        });
        cpus.clone().all(|cpu| {
            let gang = self
                .best_thread(setup, cpu)
                .map(|t| setup.threads[t].priority);
            let may_start = gang.is_some()
                && gang == active
                && !in_the_way
                && !self.used_up(setup)
                && self.slots[cpu] == Slot::Free;
            !may_start || self.pending[cpu]
        })
    }

    /// Nothing is under way any more.
    pub fn is_settled(&self) -> bool {
        let at_rest = |slot: &Slot| matches!(slot, Slot::Free | Slot::Running(_));
        !self.pending.contains(&true) && self.slots.iter().all(at_rest)
    }

    /// Once settled, the active gang runs on every CPU where it has a thread, and
    /// nothing else runs; with the share used up nothing runs at all.
    pub fn settled_means_served(&self, setup: &Setup) -> bool {
        let active = self.active(setup).filter(|_| !self.used_up(setup));
        !self.is_settled()
            || (0..setup.cpus.len()).all(|cpu| {
                let gang = self
                    .best_thread(setup, cpu)
                    .map(|t| setup.threads[t].priority);
                self.occupied_by(setup, cpu) == gang.filter(|_| gang == active)
            })
    }
}

pub fn cpu_set(setup: &Setup) -> CpuSet {
    setup.cpus.iter().copied().collect()
}
