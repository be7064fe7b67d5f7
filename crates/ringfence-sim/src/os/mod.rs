//! The operating-system model: which thread is on which core, and when.
//!
//! Each core has a fixed-priority class (SCHED_FIFO, pinned threads) above a
//! fair class for best-effort work. Which gang may run, and how much traffic
//! best-effort work may cause meanwhile, is decided by `ringfence-policy`; this
//! module owns what surrounds the policy: queues, clocks and interrupts.
//!
//! # Time
//! The machine runs to the next timer or to the next [`Stop`]. Everything that
//! is due at one time is taken in first: stops in core order, then timers in
//! the order of [`Timer`]; only then do the cores that are concerned choose
//! again, in core order. A core is changed by another one only through an
//! interrupt that arrives `reschedule_latency_ns` later, which is the machine's
//! lookahead; so nothing reaches into time that the machine has already run.
//!
//! A thread has its core from the decision on: the costs of interrupt and
//! context switch are spent before its first instruction, and are its own in
//! the record, as in the kernel's `sched_switch` events.
//!
//! # From a wake-up to the first instruction
//! ```text
//! release, wake_siblings       a thread becomes runnable          life.rs
//!   wake                       queue it, ask the gang policy
//!     reschedule               cores that must choose again
//!       interrupt_later        Timer::Reschedule, after the latency
//! fire_timers                  the timer is due
//!   interrupt                  the core must choose
//! choose                       after all that is due at this time
//!   machine.interrupt          if the core executes: Stop::Interrupted,
//!                              at an instruction boundary, and choose again
//!   dispatch                   if it does not                     dispatch.rs
//!     leave_gang, enter_gang   told to the policy                 hand_over.rs
//!     machine.start            first instruction at `ready_at`
//! ```
//! Three things are called an interrupt: `interrupt_later` sends one,
//! `interrupt` is its arrival, and `machine.interrupt` is the core letting go
//! of what it executes.
//!
//! # Words
//! | word | who | from | to |
//! |---|---|---|---|
//! | running | a thread | the choice of its core | it sleeps, or another choice |
//! | executing | a core | `machine.start` | a [`Stop`] of that core |
//! | active | a gang | its thread is the highest runnable one | that ends, or the share is used up and no core runs a gang |
//! | present | a gang | it is active or a core runs it; under fixed priority, it is runnable | none of that |
//! | told | a record, a regulator | what it heard last of the above | the next change |
//!
//! # Known gaps
//! - A best-effort thread whose core is throttled waits like any other: an idle
//!   core that it may use takes it, and it goes on there with that core's
//!   budget. Budgets are per core, as a gang's tolerance is.
//! - The interrupt of a regulator's counter takes as long to arrive as one from another
//!   core; that of a reservation's has a latency of its own.
//! - Without a waiting thread there is no tick, and idle cores take no
//!   interrupt for the refill.

mod claims;
mod dispatch;
mod enforce;
mod error;
mod gangs;
mod hand_over;
mod jobs;
mod life;
mod meter;
mod recorder;
mod regulation;
mod reservations;
mod run_queue;
mod timers;

pub(crate) use claims::claims;
pub use error::OsError;

use ringfence_policy::CpuSet;
use ringfence_record::Section;
use ringfence_record::event::OffReason;
use ringfence_scenario::model::{Case, Scenario};
use ringfence_scenario::platform::HypervisorCosts;
use ringfence_scenario::vm;

use crate::machine::{Machine, Picoseconds, Stop, StreamId};
use crate::time::PS_PER_NS;
use gangs::Gangs;
use jobs::Jobs;
use meter::Meter;
use recorder::Recorder;
use regulation::Regulation;
use reservations::Reservations;
use ringfence_target::workload::{Class, Workload};
use run_queue::{FairQueue, RealTimeQueue};
use timers::{Timer, Timers};

/// An enforcer broken on purpose, to show that the verdict on a record catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The scheduler runs a gang that the gang policy blocks.
    IgnoreBlock,
    /// The regulator counts, but never takes a thread off its core.
    NoThrottle,
}

/// What the operating system's own work costs.
#[derive(Debug, Clone, Copy)]
struct Costs {
    context_switch: Picoseconds,
    interrupt: Picoseconds,
    latency: Picoseconds,
    tick: Picoseconds,
    /// An interrupt that the hypervisor takes.
    hypervisor: Picoseconds,
    /// From the event that uses up a share to the hypervisor's interrupt.
    overflow: Picoseconds,
}

/// One core as the operating system sees it.
#[derive(Debug, Default)]
struct Core {
    /// The thread that has the core.
    running: Option<usize>,
    /// The machine executes it; if not, the core waits to choose.
    executing: bool,
    /// It has to choose again, as soon as the machine lets go of it.
    must_choose: bool,
    /// It took an interrupt since it chose last.
    took_interrupt: bool,
    /// What the hypervisor took from it since it chose last.
    hypervisor_ps: Picoseconds,
    /// The thread that it had when its VM's share was used up, until it goes on.
    stopped: Option<usize>,
    /// A best-effort thread is on offer to it, and the interrupt is under way.
    has_offer: bool,
    /// Priority under which the gang policy has it down as running.
    gang: Option<u8>,
    /// When the kernel is done with what it did last.
    ready_at: Picoseconds,
    /// Until when the virtual runtime of its best-effort thread is counted.
    fair_since: Picoseconds,
    /// End of its best-effort thread's slice, if anybody else waits for the core.
    tick_at: Option<Picoseconds>,
    /// The slice is over.
    slice_over: bool,
    real_time: RealTimeQueue,
    fair: FairQueue,
    meter: Meter,
}

impl Core {
    /// When it can choose, if it has to at `now`. A core that executes is
    /// interrupted at once, and the machine says when it lets go. An idle one
    /// may still be inside the kernel, with interrupts off: what arrives
    /// meanwhile waits, and costs one interrupt however much of it there is.
    fn can_choose_at(&self, now: Picoseconds) -> Picoseconds {
        match self.executing {
            true => now,
            false => now.max(self.ready_at),
        }
    }
}

/// The operating system of one case, on machine `M`.
#[derive(Debug)]
pub struct Os<'a, M> {
    scenario: &'a Scenario,
    case: &'a Case,
    workload: &'a Workload<'a>,
    machine: M,
    fault: Option<Fault>,
    costs: Costs,
    line_bytes: u32,
    now: Picoseconds,
    end: Picoseconds,
    timers: Timers,
    cores: Vec<Core>,
    /// Partition of each core.
    partition_of: Vec<Option<usize>>,
    /// Virtual runtime of each best-effort thread on the scale of its core.
    runtime: Vec<Picoseconds>,
    jobs: Vec<Jobs>,
    gangs: Gangs,
    /// What the record says about each partition's active gang.
    told_active: Vec<Option<u8>>,
    /// When each partition's share timer is set.
    share_timer: Vec<Option<Picoseconds>>,
    regulation: Option<Regulation>,
    reservations: Reservations,
    sampled_at: Option<Picoseconds>,
    recorder: Recorder,
}

impl<'a, M: Machine> Os<'a, M> {
    /// A system about to start `case` on `machine`, whose stream `i` is `workload.threads[i]`.
    ///
    /// # Errors
    /// What a policy refuses.
    pub fn new(
        scenario: &'a Scenario,
        case: &'a Case,
        workload: &'a Workload<'a>,
        machine: M,
        fault: Option<Fault>,
    ) -> Result<Self, OsError> {
        let platform = &scenario.platform;
        let reserved = reservations::reserved(scenario, case);
        let changing = |it: &vm::Reservation| it.takes_part() || it.bounds.is_some();
        if let Some((vm, _)) = reserved.iter().find(|(_, it)| changing(it)) {
            return Err(OsError::ChangesAtRunTime {
                vm: vm.name.clone(),
            });
        }
        let hypervisor = match (platform.hypervisor, reserved.is_empty()) {
            (Some(costs), _) => costs,
            (None, true) => HypervisorCosts {
                interrupt_ns: 0,
                overflow_latency_ns: 0,
            },
            (None, false) => {
                return Err(OsError::NoHypervisor {
                    platform: platform.name.clone(),
                });
            }
        };
        let cores = usize::from(platform.cores);
        let mut partition_of = vec![None; cores];
        for (index, partition) in scenario.partitions.iter().enumerate() {
            for &core in &partition.cores {
                partition_of[usize::from(core)] = Some(index);
            }
        }
        let gangs = Gangs::new(scenario, case.scheduling)?;
        let regulation = match case.regulation {
            true => Some(Regulation::new(scenario, workload)?),
            false => None,
        };
        Ok(Self {
            scenario,
            case,
            workload,
            machine,
            fault,
            costs: Costs {
                context_switch: platform.os.context_switch_ns * PS_PER_NS,
                interrupt: platform.os.interrupt_ns * PS_PER_NS,
                latency: platform.os.reschedule_latency_ns * PS_PER_NS,
                tick: platform.os.tick_ns * PS_PER_NS,
                hypervisor: hypervisor.interrupt_ns * PS_PER_NS,
                overflow: hypervisor.overflow_latency_ns * PS_PER_NS,
            },
            line_bytes: ringfence_target::budget::line_bytes(scenario),
            now: 0,
            end: scenario.duration_ns * PS_PER_NS,
            timers: Timers::default(),
            cores: (0..cores).map(|_| Core::default()).collect(),
            partition_of,
            runtime: vec![0; workload.threads.len()],
            jobs: workload
                .tasks
                .iter()
                .map(|entry| Jobs::new(entry.task.threads, entry.task.overrun))
                .collect(),
            told_active: vec![None; gangs.len()],
            share_timer: vec![None; gangs.len()],
            gangs,
            regulation,
            reservations: Reservations::new(&reserved, platform.cores)?,
            sampled_at: None,
            recorder: Recorder::default(),
        })
    }

    /// Runs the case to its end. `progress` is told the simulated time, in
    /// nanoseconds, at every sample of the counters.
    ///
    /// # Errors
    /// [`OsError::Record`].
    pub fn run(mut self, progress: &dyn Fn(u64)) -> Result<Section, OsError> {
        self.begin();
        loop {
            let horizon = self.horizon();
            match self.machine.run_until(horizon) {
                Stop::Ended { core, time } => {
                    self.advance(time);
                    self.phase_ended(usize::from(core));
                }
                Stop::Interrupted { core, time } => {
                    self.advance(time);
                    let core = &mut self.cores[usize::from(core)];
                    core.executing = false;
                    core.must_choose = true;
                }
                Stop::LimitReached { core, time } => {
                    self.advance(time);
                    self.limit_reached(usize::from(core));
                }
                Stop::Horizon => {
                    self.advance(horizon);
                    if self.now >= self.end {
                        break;
                    }
                    self.fire_timers(progress);
                    self.choose();
                }
            }
        }
        self.finish()
    }

    fn begin(&mut self) {
        let claims = claims::claims(self.scenario, self.case);
        let declared = self.workload.declare(self.scenario, self.case, claims);
        self.recorder.begin(declared);
        for (index, entry) in self.workload.tasks.iter().enumerate() {
            let at = entry.task.offset_ns * PS_PER_NS;
            self.timers.add(at, Timer::Release { task: index });
        }
        if let Some(regulation) = &self.regulation {
            self.timers.add(regulation.period_ps, Timer::Refill);
        }
        for vm in 0..self.reservations.len() {
            let first = self.reservations.period_ps(vm);
            self.timers.add(first, Timer::Period { vm });
        }
        let first_sample = self.scenario.observe.counters_every_ns * PS_PER_NS;
        self.timers.add(first_sample, Timer::Sample);
        for partition in 0..self.gangs.len() {
            self.set_share_timer(partition);
        }
        self.place_best_effort();
        for core in &mut self.cores {
            core.must_choose = true;
        }
    }

    /// The next time at which a timer is due or a core can make its choice.
    fn horizon(&self) -> Picoseconds {
        let choices = self.cores.iter().filter(|core| core.must_choose);
        let choices = choices.map(|core| core.can_choose_at(self.now));
        choices
            .chain(self.timers.next_at())
            .min()
            .map_or(self.end, |at| at.min(self.end))
    }

    fn advance(&mut self, to: Picoseconds) {
        debug_assert!(to >= self.now, "the machine goes back in time");
        self.now = to;
        self.recorder.set_time(to);
    }

    fn fire_timers(&mut self, progress: &dyn Fn(u64)) {
        while let Some(timer) = self.timers.pop_due(self.now) {
            match timer {
                Timer::Refill => self.refill(),
                Timer::Period { vm } => self.begin_period(vm),
                Timer::Overflow { core } => self.enter_hypervisor(core),
                Timer::Release { task } => self.release(task),
                Timer::Share { partition } => self.share_timer_fires(partition),
                Timer::Tick { core } => {
                    if self.cores[core].tick_at == Some(self.now) {
                        self.cores[core].tick_at = None;
                        self.cores[core].slice_over = true;
                        self.interrupt(core);
                    }
                }
                Timer::Reschedule { core } => {
                    self.cores[core].has_offer = false;
                    self.interrupt(core);
                }
                Timer::Sample => {
                    progress(self.recorder.time_ns());
                    self.sample();
                    let every = self.scenario.observe.counters_every_ns * PS_PER_NS;
                    self.timers.add(self.now + every, Timer::Sample);
                }
            }
        }
    }

    /// Lets the cores choose that have to and can; those that execute are interrupted first.
    fn choose(&mut self) {
        for core in 0..self.cores.len() {
            let state = &self.cores[core];
            if !state.must_choose || state.can_choose_at(self.now) > self.now {
                continue;
            }
            if self.cores[core].executing {
                self.machine.interrupt(number(core), self.now);
            } else {
                self.dispatch(core);
            }
            self.cores[core].must_choose = false;
        }
    }

    /// An interrupt arrives at `core` now.
    fn interrupt(&mut self, core: usize) {
        self.cores[core].took_interrupt = true;
        self.cores[core].must_choose = true;
    }

    /// The traffic of `core` reached its limit: an interrupt is on its way.
    fn limit_reached(&mut self, core: usize) {
        if self.reservations.is_reserved(core) {
            let at = self.now + self.costs.overflow;
            self.timers.add(at, Timer::Overflow { core });
        } else {
            self.interrupt_later(core);
        }
    }

    /// An interrupt is on its way to `core`.
    fn interrupt_later(&mut self, core: usize) {
        let at = self.now + self.costs.latency;
        self.timers.add(at, Timer::Reschedule { core });
    }

    /// Tells `cpus` to choose again; those that are about to do so need no interrupt.
    fn reschedule(&mut self, cpus: &CpuSet) {
        for cpu in cpus.iter() {
            if !self.cores[usize::from(cpu)].must_choose {
                self.interrupt_later(usize::from(cpu));
            }
        }
    }

    fn finish(mut self) -> Result<Section, OsError> {
        for core in 0..self.cores.len() {
            if self.cores[core].running.is_some() {
                self.put_off(core, OffReason::Ended);
            }
        }
        self.sample();
        for thread in 0..self.workload.threads.len() {
            if self.is_best_effort(thread)
                && let Some(accesses) = self.machine.executed(stream(thread))
            {
                self.recorder.executed(thread, accesses);
            }
        }
        Ok(self.recorder.finish()?)
    }

    fn runs_best_effort(&self, core: usize) -> bool {
        self.cores[core]
            .running
            .is_some_and(|thread| self.is_best_effort(thread))
    }

    fn is_best_effort(&self, thread: usize) -> bool {
        matches!(
            self.workload.threads[thread].class,
            Class::BestEffort { .. }
        )
    }

    /// Where a real-time thread lives.
    fn home(&self, thread: usize) -> Home {
        match self.workload.threads[thread].class {
            Class::RealTime {
                task,
                priority,
                partition,
                core,
            } => Home {
                task,
                priority,
                partition,
                core,
            },
            Class::BestEffort { .. } => unreachable!("best-effort work has no jobs"),
        }
    }
}

/// What a real-time thread belongs to.
#[derive(Debug, Clone, Copy)]
struct Home {
    task: usize,
    priority: u8,
    partition: usize,
    core: usize,
}

fn stream(thread: usize) -> StreamId {
    StreamId(u32::try_from(thread).expect("a record has at most 65535 threads"))
}

fn number(core: usize) -> u16 {
    u16::try_from(core).expect("a platform has at most 512 cores")
}
