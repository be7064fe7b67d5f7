//! Carries out what the regulator and the reservations decide: budgets, throttling, and the
//! counters behind them.

use ringfence_policy::CpuSet;
use ringfence_record::event::UnthrottleReason;

use super::{Fault, Os, Timer, number};
use crate::machine::Machine;

impl<M: Machine> Os<'_, M> {
    /// Holds best-effort work to what the gangs that run now tolerate.
    pub(super) fn regulate(&mut self, partition: usize) {
        if self.regulation.is_none() {
            return;
        }
        // What was used up to now counts against the budgets up to now.
        let mut stale = CpuSet::new();
        for core in 0..self.cores.len() {
            if self.charge(core) {
                stale.insert(number(core));
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
                stale.insert(number(core));
            }
        }
        for cpu in change.throttled.iter() {
            self.report_throttled(usize::from(cpu));
        }
        for cpu in change.unthrottled.iter() {
            self.report_unthrottled(usize::from(cpu), UnthrottleReason::NoGang);
        }
        let armed = |&cpu: &u16| self.runs_best_effort(usize::from(cpu));
        let again = stale.iter().filter(armed).chain(change.unthrottled.iter());
        self.reschedule(&again.collect());
    }

    /// A regulation period begins.
    pub(super) fn refill(&mut self) {
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

    /// A period of a VM's reservation begins: each of its cores takes the hypervisor's timer.
    pub(super) fn begin_period(&mut self, vm: usize) {
        for core in self.reservations.cores(vm).to_vec() {
            self.charge(usize::from(core));
        }
        self.sample();
        let next = self.now + self.reservations.period_ps(vm);
        self.timers.add(next, Timer::Period { vm });
        for refilled in self.reservations.begin_period(vm) {
            let core = usize::from(refilled.core);
            match (refilled.was_throttled, refilled.is_throttled) {
                (true, false) => self.report_unthrottled(core, UnthrottleReason::Refill),
                (false, true) => self.report_throttled(core),
                (true, true) | (false, false) => {}
            }
            self.enter_hypervisor(core);
        }
    }

    /// The hypervisor takes `core` from its guest for an interrupt.
    pub(super) fn enter_hypervisor(&mut self, core: usize) {
        self.cores[core].hypervisor_ps += self.costs.hypervisor;
        self.cores[core].must_choose = true;
    }

    /// Tells the regulator what best-effort work on `core` has used; whether
    /// the core is out of budget by that.
    pub(super) fn charge(&mut self, core: usize) -> bool {
        let traffic = self.machine.traffic(number(core));
        let meter = &mut self.cores[core].meter;
        meter.read(traffic);
        let lines_of_vm = meter.take_uncharged_to_vm();
        let lines = meter.take_uncharged();
        let throttled = self
            .regulation
            .as_mut()
            .is_some_and(|regulation| regulation.charge(number(core), lines.read, lines.written));
        if throttled {
            self.report_throttled(core);
        }
        if self.reservations.charge(core, lines_of_vm) {
            self.report_throttled(core);
        }
        throttled
    }

    pub(super) fn report_throttled(&mut self, core: usize) {
        if self.fault != Some(Fault::NoThrottle) {
            self.recorder.throttled(core);
        }
    }

    pub(super) fn report_unthrottled(&mut self, core: usize, reason: UnthrottleReason) {
        if self.fault != Some(Fault::NoThrottle) {
            self.recorder.unthrottled(core, reason);
        }
    }

    /// Writes the counters of all cores, once at a time.
    pub(super) fn sample(&mut self) {
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
}
