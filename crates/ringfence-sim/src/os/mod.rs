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

mod claims;
mod dispatch;
mod gangs;
mod jobs;
mod meter;
mod recorder;
mod regulation;
mod run_queue;
mod timers;
mod workload;

pub(crate) use claims::claims;
pub(crate) use regulation::{budget_lines, line_bytes};

use ringfence_policy::CpuSet;
use ringfence_policy::gang::GangError;
use ringfence_policy::regulator::RegulatorError;
use ringfence_record::event::{OffReason, UnthrottleReason};
use ringfence_record::{Section, WriteError};
use ringfence_scenario::model::{Case, Scenario};

use crate::machine::{Machine, Picoseconds, Stop, StreamId};
use gangs::Gangs;
use jobs::{Arrival, Jobs, Release};
use meter::Meter;
use recorder::Recorder;
use regulation::Regulation;
use run_queue::{FairQueue, RealTimeQueue};
use timers::{Timer, Timers};
pub use workload::{Class, TaskEntry, ThreadEntry, TooManyThreads, Workload};

const PS_PER_NS: u64 = 1000;

/// An enforcer broken on purpose, to show that the verdict on a record catches it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The scheduler runs a gang that the gang policy blocks.
    IgnoreBlock,
    /// The regulator counts, but never takes a thread off its core.
    NoThrottle,
}

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum OsError {
    /// The gang policy refuses a partition.
    #[error("the gang policy refuses the scenario: {0}")]
    Gang(#[from] GangError),
    /// The regulator refuses its settings.
    #[error("the regulator refuses the scenario: {0}")]
    Regulator(#[from] RegulatorError),
    /// The record refuses an event.
    #[error("{0}")]
    Record(#[from] WriteError),
}

/// What the operating system's own work costs.
#[derive(Debug, Clone, Copy)]
struct Costs {
    context_switch: Picoseconds,
    interrupt: Picoseconds,
    latency: Picoseconds,
    tick: Picoseconds,
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
            },
            line_bytes: regulation::line_bytes(scenario),
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
                    core.took_interrupt = true;
                    core.must_choose = true;
                }
                Stop::LimitReached { core, time } => {
                    self.advance(time);
                    self.interrupt_later(usize::from(core));
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

    /// The next time at which something is due. While a core has to choose that is now.
    fn horizon(&self) -> Picoseconds {
        if self.cores.iter().any(|core| core.must_choose) {
            return self.now;
        }
        let next = self.timers.next_at();
        next.map_or(self.end, |at| at.min(self.end))
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

    /// Lets the cores choose that have to; those that execute are interrupted first.
    fn choose(&mut self) {
        for core in 0..self.cores.len() {
            if !std::mem::take(&mut self.cores[core].must_choose) {
                continue;
            }
            if self.cores[core].executing {
                self.machine.interrupt(number(core), self.now);
            } else {
                self.dispatch(core);
            }
        }
    }

    /// An interrupt arrives at `core` now.
    fn interrupt(&mut self, core: usize) {
        self.cores[core].took_interrupt = true;
        self.cores[core].must_choose = true;
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

    /// A task's next job is released by a timer on each of its threads' cores.
    fn release(&mut self, task: usize) {
        let workload = self.workload;
        let entry = &workload.tasks[task];
        let next = self.now + entry.task.period_ns * PS_PER_NS;
        self.timers.add(next, Timer::Release { task });
        let (job, release) = self.jobs[task].release();
        self.recorder.released(task, job);
        match release {
            Release::Queue => {}
            Release::Drop => self.recorder.dropped(task, job),
            Release::Wake => {
                for thread in entry.threads.clone() {
                    self.machine.begin_job(stream(thread), job);
                    self.wake(thread);
                    self.interrupt(self.home(thread).core);
                }
            }
        }
    }

    /// The thread on `core` reached the end of a phase.
    fn phase_ended(&mut self, core: usize) {
        self.cores[core].executing = false;
        self.cores[core].must_choose = true;
        let thread = self.cores[core]
            .running
            .expect("an executing core has a thread");
        let task = self.home(thread).task;
        let has_next_phase = self.machine.has_next_phase(stream(thread));
        match self.jobs[task].arrive(has_next_phase) {
            Arrival::Wait => self.sleep(core, thread),
            Arrival::NextPhase => self.wake_siblings(task, thread),
            Arrival::Finished { job, next } => {
                self.recorder.finished(task, job);
                match next {
                    None => self.sleep(core, thread),
                    Some(next) => {
                        for sibling in self.workload.tasks[task].threads.clone() {
                            self.machine.begin_job(stream(sibling), next);
                        }
                        self.wake_siblings(task, thread);
                    }
                }
            }
        }
    }

    fn wake_siblings(&mut self, task: usize, thread: usize) {
        for sibling in self.workload.tasks[task].threads.clone() {
            if sibling != thread {
                self.wake(sibling);
                let core = self.home(sibling).core;
                if !self.cores[core].must_choose {
                    self.interrupt_later(core);
                }
            }
        }
    }

    fn wake(&mut self, thread: usize) {
        let home = self.home(thread);
        self.recorder.woke(thread);
        self.cores[home.core].real_time.push(home.priority, thread);
        let cpus = self.gangs.runnable(home.partition, home.priority);
        self.reschedule(&cpus);
        self.gangs_changed(home.partition);
    }

    fn sleep(&mut self, core: usize, thread: usize) {
        let home = self.home(thread);
        self.put_off(core, OffReason::Sleeping);
        self.cores[core].real_time.remove(thread);
        let cpus = self.gangs.quiescent(home.partition, home.priority);
        self.reschedule(&cpus);
        self.gangs_changed(home.partition);
    }

    fn share_timer_fires(&mut self, partition: usize) {
        if self.share_timer[partition].is_some_and(|at| at <= self.now) {
            let cpus = self.gangs.timer(partition, self.recorder.time_ns());
            self.reschedule(&cpus);
            self.share_timer[partition] = None;
            self.set_share_timer(partition);
        }
    }

    fn set_share_timer(&mut self, partition: usize) {
        let at = self.gangs.next_timer_ns(partition);
        let at = at.map(|at_ns| (at_ns.saturating_mul(PS_PER_NS)).max(self.now));
        if at != self.share_timer[partition] {
            self.share_timer[partition] = at;
            if let Some(at) = at {
                self.timers.add(at, Timer::Share { partition });
            }
        }
    }

    /// Another gang, or none, may be active in `partition`.
    fn gangs_changed(&mut self, partition: usize) {
        let active = self.gangs.active(partition);
        if active != self.told_active[partition] {
            self.told_active[partition] = active;
            self.recorder.gang(partition, active);
        }
        self.regulate(partition);
    }

    /// Holds best-effort work to what the gangs that run now tolerate.
    fn regulate(&mut self, partition: usize) {
        if self.regulation.is_none() {
            return;
        }
        for core in 0..self.cores.len() {
            if self.charge(core) && self.runs_best_effort(core) {
                self.interrupt_later(core);
            }
        }
        let Some(regulation) = &mut self.regulation else {
            return;
        };
        let change = regulation.gangs_changed(partition, &self.gangs);
        if change.new_threshold {
            let (read, write) = regulation.threshold_bytes();
            for core in 0..self.cores.len() {
                self.recorder.budget(core, read, write);
                // Its counter is armed anew, or it stops at once.
                if self.runs_best_effort(core) && !self.cores[core].must_choose {
                    self.interrupt_later(core);
                }
            }
        }
        for cpu in change.throttled.iter() {
            self.report_throttled(usize::from(cpu));
        }
        for cpu in change.unthrottled.iter() {
            self.report_unthrottled(usize::from(cpu), UnthrottleReason::NoGang);
        }
        self.reschedule(&change.unthrottled);
    }

    /// A regulation period begins.
    fn refill(&mut self) {
        for core in 0..self.cores.len() {
            self.charge(core);
        }
        self.sample();
        let Some(regulation) = &mut self.regulation else {
            return;
        };
        self.timers
            .add(self.now + regulation.period_ps, Timer::Refill);
        let cpus = regulation.refill();
        let is_active = regulation.is_active();
        for cpu in cpus.iter() {
            self.report_unthrottled(usize::from(cpu), UnthrottleReason::Refill);
            self.interrupt(usize::from(cpu));
        }
        for core in 0..self.cores.len() {
            if is_active && self.runs_best_effort(core) {
                self.interrupt(core);
            }
        }
    }

    /// Tells the regulator what best-effort work on `core` has used; whether
    /// the core is out of budget by that.
    fn charge(&mut self, core: usize) -> bool {
        let traffic = self.machine.traffic(number(core));
        let meter = &mut self.cores[core].meter;
        meter.read(traffic);
        let lines = meter.take_uncharged();
        let throttled = self
            .regulation
            .as_mut()
            .is_some_and(|regulation| regulation.charge(number(core), lines.read, lines.written));
        if throttled {
            self.report_throttled(core);
        }
        throttled
    }

    fn report_throttled(&mut self, core: usize) {
        if self.fault != Some(Fault::NoThrottle) {
            self.recorder.throttled(core);
        }
    }

    fn report_unthrottled(&mut self, core: usize, reason: UnthrottleReason) {
        if self.fault != Some(Fault::NoThrottle) {
            self.recorder.unthrottled(core, reason);
        }
    }

    /// Writes the counters of all cores, once at a time.
    fn sample(&mut self) {
        if self.sampled_at == Some(self.now) {
            return;
        }
        self.sampled_at = Some(self.now);
        for core in 0..self.cores.len() {
            let traffic = self.machine.traffic(number(core));
            let meter = &mut self.cores[core].meter;
            meter.read(traffic);
            let counters = meter.counters(self.line_bytes);
            self.recorder.counters(core, counters);
        }
    }

    fn finish(mut self) -> Result<Section, OsError> {
        for core in 0..self.cores.len() {
            if self.cores[core].running.is_some() {
                self.put_off(core, OffReason::Ended);
            }
        }
        self.sample();
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
