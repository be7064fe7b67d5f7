//! The life of a job's threads: released, waiting at barriers, asleep.

use ringfence_record::event::OffReason;

use super::jobs::{Arrival, Release};
use super::{Os, Timer, stream};
use crate::machine::Machine;
use crate::time::PS_PER_NS;

impl<M: Machine> Os<'_, M> {
    /// A task's next job is released by a timer on each of its threads' cores.
    pub(super) fn release(&mut self, task: usize) {
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
                // All timers first: what follows from a wake-up needs no
                // interrupt of its own on a core that takes its timer's now.
                for thread in entry.threads.clone() {
                    self.interrupt(self.home(thread).core);
                }
                for thread in entry.threads.clone() {
                    self.machine.begin_job(stream(thread), job);
                    self.wake(thread);
                }
            }
        }
    }

    /// The thread on `core` reached the end of a phase.
    pub(super) fn phase_ended(&mut self, core: usize) {
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

    pub(super) fn wake_siblings(&mut self, task: usize, thread: usize) {
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

    pub(super) fn wake(&mut self, thread: usize) {
        let home = self.home(thread);
        self.recorder.woke(thread);
        self.cores[home.core].real_time.push(home.priority, thread);
        let cpus = self.gangs.runnable(home.partition, home.priority);
        self.reschedule(&cpus);
        self.gangs_changed(home.partition);
    }

    pub(super) fn sleep(&mut self, core: usize, thread: usize) {
        let home = self.home(thread);
        self.put_off(core, OffReason::Sleeping);
        self.cores[core].real_time.remove(thread);
        let cpus = self.gangs.quiescent(home.partition, home.priority);
        self.reschedule(&cpus);
        self.gangs_changed(home.partition);
    }
}
