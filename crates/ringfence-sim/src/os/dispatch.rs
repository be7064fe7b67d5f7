//! A core chooses its next thread.

use ringfence_record::event::OffReason;

use super::{Class, Fault, Os, Timer, number, stream};
use crate::machine::{Machine, TrafficLimit};

impl<M: Machine> Os<'_, M> {
    /// Gives every best-effort thread a first core: of those that it may use,
    /// the one where fewest wait.
    pub(super) fn place_best_effort(&mut self) {
        let workload = self.workload;
        for (thread, entry) in workload.threads.iter().enumerate() {
            let Class::BestEffort { cores, .. } = &entry.class else {
                continue;
            };
            let core = cores
                .iter()
                .copied()
                .min_by_key(|&core| (self.cores[usize::from(core)].fair.len(), core))
                .expect("a scenario's best-effort work has cores");
            self.recorder.woke(thread);
            self.cores[usize::from(core)].fair.push(0, thread);
        }
    }

    /// Chooses what `core`, which executes nothing now, runs next.
    pub(super) fn dispatch(&mut self, core: usize) {
        self.charge(core);
        self.count_runtime(core);
        if self.is_stopped(core) {
            self.stop(core);
            return;
        }
        let next = match self.pick_real_time(core) {
            Some(thread) => Some(thread),
            None => self.pick_best_effort(core),
        };
        let state = &mut self.cores[core];
        // To the guest it never left the core.
        let stayed = state.stopped.take();
        let mut cost = std::mem::take(&mut state.hypervisor_ps);
        if std::mem::take(&mut self.cores[core].took_interrupt) {
            cost += self.costs.interrupt;
        }
        if self.cores[core].running != next {
            self.switch(core, next);
            if next.is_some() && next != stayed {
                cost += self.costs.context_switch;
            }
        }
        let state = &mut self.cores[core];
        state.slice_over = false;
        state.ready_at = state.ready_at.max(self.now) + cost;
        if let Some(thread) = next {
            self.execute(core, thread);
        }
        self.offer_waiting();
    }

    /// Leaves `core`, whose VM has used its share, without its thread until the next period.
    /// The guest knows nothing of it: its gang stays, nobody takes its thread, interrupts wait.
    fn stop(&mut self, core: usize) {
        if let Some(thread) = self.cores[core].running {
            self.put_off(core, OffReason::Throttled);
            self.cores[core].stopped = Some(thread);
        }
        let state = &mut self.cores[core];
        let cost = std::mem::take(&mut state.hypervisor_ps);
        state.ready_at = state.ready_at.max(self.now) + cost;
    }

    /// The real-time thread that `core` may run, if any.
    ///
    /// The policy hears that the core left a gang before it judges another one.
    fn pick_real_time(&mut self, core: usize) -> Option<usize> {
        let head = self.cores[core].real_time.head();
        if self.cores[core].gang != head.map(|(priority, _)| priority) {
            self.leave_gang(core);
        }
        let (priority, thread) = head?;
        let partition = self.home(thread).partition;
        let mut may_run = self.gangs.may_run(partition, number(core), priority);
        if !may_run && self.leave_gang(core) {
            // Its leaving may have told this very core to decide again.
            may_run = self.gangs.may_run(partition, number(core), priority);
        }
        if may_run && self.cores[core].gang.is_none() {
            self.enter_gang(core, partition, priority);
        }
        (may_run || self.fault == Some(Fault::IgnoreBlock)).then_some(thread)
    }

    /// The best-effort thread that `core` may run, if any; it waits no longer.
    fn pick_best_effort(&mut self, core: usize) -> Option<usize> {
        if self.is_throttled(core) {
            return None;
        }
        if self.runs_best_effort(core) {
            let state = &self.cores[core];
            let had_more = |&thread: &usize| {
                let least = state.fair.least();
                least.is_some_and(|least| least < self.runtime[thread])
            };
            if !state.slice_over || !state.running.as_ref().is_some_and(had_more) {
                return state.running;
            }
        }
        match self.cores[core].fair.pop() {
            Some((_, thread)) => Some(thread),
            None => self.fetch_waiting(core),
        }
    }

    /// Moves a thread that waits elsewhere to `core`, where nobody waits.
    fn fetch_waiting(&mut self, core: usize) -> Option<usize> {
        let (ahead, from, thread) = self.waiting_for(core)?;
        self.cores[from].fair.remove(thread);
        self.runtime[thread] = self.cores[core].fair.arrive(ahead);
        Some(thread)
    }

    /// Of the threads that wait on other cores and may use `core`, the one that
    /// has had least there: how far it is ahead, where it waits, and which it is.
    fn waiting_for(&self, core: usize) -> Option<(u64, usize, usize)> {
        (0..self.cores.len())
            .filter(|&other| other != core)
            .filter_map(|other| {
                let stopped = self.cores[other].stopped;
                let may_move = |thread| self.may_use(thread, core) && stopped != Some(thread);
                let (ahead, thread) = self.cores[other].fair.candidate(may_move)?;
                Some((ahead, other, thread))
            })
            .min()
    }

    /// Interrupts one idle core that could take a waiting thread. It makes the
    /// next offer itself, so that no core stays idle while a thread waits for it.
    fn offer_waiting(&mut self) {
        if self.cores.iter().all(|core| core.fair.len() == 0) {
            return;
        }
        let taker = (0..self.cores.len()).find(|&core| {
            let state = &self.cores[core];
            state.running.is_none()
                && !state.must_choose
                && !state.has_offer
                && !self.is_throttled(core)
                && !self.is_stopped(core)
                && self.waiting_for(core).is_some()
        });
        if let Some(core) = taker {
            self.cores[core].has_offer = true;
            self.interrupt_later(core);
        }
    }

    /// Gives `core` to `next`.
    fn switch(&mut self, core: usize, next: Option<usize>) {
        if self.cores[core].running.is_some() {
            let throttled = self.runs_best_effort(core) && self.is_throttled(core);
            self.put_off(
                core,
                match throttled {
                    true => OffReason::Throttled,
                    false => OffReason::Preempted,
                },
            );
        }
        if let Some(thread) = next {
            self.cores[core].running = Some(thread);
            self.recorder.on(core, thread);
        }
    }

    /// Takes `core` from its thread, whose slice ends. A best-effort thread waits on.
    pub(super) fn put_off(&mut self, core: usize, reason: OffReason) {
        let running = self.cores[core].running.take();
        let thread = running.expect("a thread to put off");
        self.recorder.off(core, thread, reason);
        self.cores[core].tick_at = None;
        if self.is_best_effort(thread) {
            self.cores[core].fair.push(self.runtime[thread], thread);
        }
    }

    /// Lets the machine execute `thread` once the kernel is done.
    fn execute(&mut self, core: usize, thread: usize) {
        let best_effort = self.is_best_effort(thread);
        let limit = match best_effort {
            true => self.best_effort_limit(core),
            false => TrafficLimit::NONE,
        };
        let limit = TrafficLimit {
            lines: self.line_limit(core),
            ..limit
        };
        if best_effort {
            self.set_tick(core);
        } else {
            let task = self.home(thread).task;
            if let Some(job) = self.jobs[task].start() {
                self.recorder.started(task, job);
            }
        }
        let state = &mut self.cores[core];
        state.fair_since = self.now;
        state.executing = true;
        self.machine.set_traffic_limit(number(core), limit);
        self.machine
            .start(number(core), stream(thread), state.ready_at);
    }

    /// Where the counters of `core` stand when its best-effort thread has used its budget.
    fn best_effort_limit(&self, core: usize) -> TrafficLimit {
        match &self.regulation {
            Some(regulation) if !regulation.is_throttled(number(core)) => {
                let used = self.machine.traffic(number(core)).best_effort;
                let remaining = regulation.remaining(number(core));
                TrafficLimit {
                    read_lines: used.read_lines.saturating_add(remaining.reads),
                    write_lines: used.write_lines.saturating_add(remaining.writes),
                    ..TrafficLimit::NONE
                }
            }
            _ => TrafficLimit::NONE,
        }
    }

    /// Where the counters of `core` stand when its VM's vCPU has used its share.
    fn line_limit(&self, core: usize) -> u64 {
        if self.reservations.is_throttled(core) {
            // It goes on only where throttling is broken on purpose.
            return u64::MAX;
        }
        let used = self.machine.traffic(number(core)).lines();
        let remaining = self.reservations.remaining(core);
        remaining.map_or(u64::MAX, |remaining| used.saturating_add(remaining))
    }

    /// A slice is one tick, and ends only while somebody else waits for the core.
    fn set_tick(&mut self, core: usize) {
        let at = self.now + self.costs.tick;
        let state = &mut self.cores[core];
        if state.fair.len() == 0 {
            state.tick_at = None;
        } else if state.tick_at.is_none() {
            state.tick_at = Some(at);
            self.timers.add(at, Timer::Tick { core });
        }
    }

    /// Brings the virtual runtime of the best-effort thread on `core` up to now.
    fn count_runtime(&mut self, core: usize) {
        if let Some(thread) = self.cores[core].running
            && self.is_best_effort(thread)
        {
            self.runtime[thread] += self.now - self.cores[core].fair_since;
            self.cores[core].fair_since = self.now;
        }
    }

    fn may_use(&self, thread: usize, core: usize) -> bool {
        match &self.workload.threads[thread].class {
            Class::RealTime { core: home, .. } => *home == core,
            Class::BestEffort { cores, .. } => cores.contains(&number(core)),
        }
    }

    /// Nothing may use `core` before the next period of its VM's reservation.
    fn is_stopped(&self, core: usize) -> bool {
        self.fault != Some(Fault::NoThrottle) && self.reservations.is_throttled(core)
    }

    /// Best-effort work may not use `core` before the next period.
    fn is_throttled(&self, core: usize) -> bool {
        self.fault != Some(Fault::NoThrottle)
            && self
                .regulation
                .as_ref()
                .is_some_and(|regulation| regulation.is_throttled(number(core)))
    }
}
