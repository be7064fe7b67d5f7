//! One gang hands its partition over to the next: when cores leave a gang,
//! when its share is used up, and who is told.

use super::{Os, Timer, number};
use crate::machine::Machine;
use crate::time::PS_PER_NS;

impl<M: Machine> Os<'_, M> {
    /// Tells the policy that `core` runs no gang any more; whether it did.
    /// The caller has the core decide again if it has a real-time thread.
    pub(super) fn leave_gang(&mut self, core: usize) -> bool {
        let Some(priority) = self.cores[core].gang.take() else {
            return false;
        };
        let partition = self.partition_of[core].expect("a gang's core is in a partition");
        let now_ns = self.recorder.time_ns();
        let cpus = self
            .gangs
            .stopping(partition, number(core), priority, now_ns);
        self.reschedule(&cpus);
        self.set_share_timer(partition);
        self.gangs_changed(partition);
        true
    }

    /// Tells the policy that `core` runs the gang of `priority` from now on.
    pub(super) fn enter_gang(&mut self, core: usize, partition: usize, priority: u8) {
        let now_ns = self.recorder.time_ns();
        self.gangs
            .running(partition, number(core), priority, now_ns);
        self.cores[core].gang = Some(priority);
        self.set_share_timer(partition);
        self.gangs_changed(partition);
    }

    /// The share of `partition` is used up, or its next window begins.
    pub(super) fn share_timer_fires(&mut self, partition: usize) {
        if self.share_timer[partition].is_some_and(|at| at <= self.now) {
            let cpus = self.gangs.timer(partition, self.recorder.time_ns());
            self.reschedule(&cpus);
            self.share_timer[partition] = None;
            self.set_share_timer(partition);
            self.gangs_changed(partition);
        }
    }

    /// Sets the timer that the policy asks for; an earlier one no longer counts.
    pub(super) fn set_share_timer(&mut self, partition: usize) {
        let at = self.gangs.next_timer_ns(partition);
        let at = at.map(|at_ns| (at_ns.saturating_mul(PS_PER_NS)).max(self.now));
        if at != self.share_timer[partition] {
            self.share_timer[partition] = at;
            if let Some(at) = at {
                self.timers.add(at, Timer::Share { partition });
            }
        }
    }

    /// Another gang, or none, may be active in `partition`: tells the record
    /// and the regulator.
    pub(super) fn gangs_changed(&mut self, partition: usize) {
        let active = self.gangs.active(partition);
        if active != self.told_active[partition] {
            self.told_active[partition] = active;
            self.recorder.gang(partition, active);
        }
        self.regulate(partition);
    }
}
