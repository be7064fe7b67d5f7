//! Writes what happens into the section of a case, in nanoseconds.

use ringfence_record::event::{Case, Counters, Event, OffReason, UnthrottleReason};
use ringfence_record::{Section, WriteError};

use crate::machine::Picoseconds;
use crate::time::PS_PER_NS;

/// The record of one case.
#[derive(Debug, Default)]
pub(super) struct Recorder {
    section: Section,
    time_ns: u64,
    error: Option<WriteError>,
}

impl Recorder {
    /// Opens the section.
    pub(super) fn begin(&mut self, case: Case) {
        self.write(&Event::CaseBegin(Box::new(case)));
    }

    /// From now on events happen at `now`, rounded down to nanoseconds.
    pub(super) fn set_time(&mut self, now: Picoseconds) {
        self.time_ns = now / PS_PER_NS;
    }

    /// Time of the events that are written now.
    pub(super) fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// A job of `task` was released.
    pub(super) fn released(&mut self, task: usize, job: u32) {
        let (time_ns, task) = (self.time_ns, narrow(task));
        self.write(&Event::JobReleased { time_ns, task, job });
    }

    /// The job's first thread runs.
    pub(super) fn started(&mut self, task: usize, job: u32) {
        let (time_ns, task) = (self.time_ns, narrow(task));
        self.write(&Event::JobStarted { time_ns, task, job });
    }

    /// The job is done.
    pub(super) fn finished(&mut self, task: usize, job: u32) {
        let (time_ns, task) = (self.time_ns, narrow(task));
        self.write(&Event::JobFinished { time_ns, task, job });
    }

    /// The job never starts.
    pub(super) fn dropped(&mut self, task: usize, job: u32) {
        let (time_ns, task) = (self.time_ns, narrow(task));
        self.write(&Event::JobDropped { time_ns, task, job });
    }

    /// A thread became runnable.
    pub(super) fn woke(&mut self, thread: usize) {
        let (time_ns, thread) = (self.time_ns, narrow(thread));
        self.write(&Event::ThreadWoke { time_ns, thread });
    }

    /// A thread got a core; the switch to it belongs to its time there.
    pub(super) fn on(&mut self, core: usize, thread: usize) {
        self.write(&Event::ThreadOn {
            time_ns: self.time_ns,
            core: narrow(core),
            thread: narrow(thread),
        });
    }

    /// A thread left its core.
    pub(super) fn off(&mut self, core: usize, thread: usize, reason: OffReason) {
        self.write(&Event::ThreadOff {
            time_ns: self.time_ns,
            core: narrow(core),
            thread: narrow(thread),
            reason,
        });
    }

    /// Another gang, or none, is active in a partition.
    pub(super) fn gang(&mut self, partition: usize, priority: Option<u8>) {
        self.write(&Event::GangActive {
            time_ns: self.time_ns,
            partition: narrow(partition),
            priority,
        });
    }

    /// A core's budgets changed, in bytes per period.
    pub(super) fn budget(&mut self, core: usize, read: Option<u64>, write: Option<u64>) {
        self.write(&Event::BudgetSet {
            time_ns: self.time_ns,
            core: narrow(core),
            read_bytes: read,
            write_bytes: write,
        });
    }

    /// A core is out of budget.
    pub(super) fn throttled(&mut self, core: usize) {
        let (time_ns, core) = (self.time_ns, narrow(core));
        self.write(&Event::Throttled { time_ns, core });
    }

    /// A core has budget again, or needs none.
    pub(super) fn unthrottled(&mut self, core: usize, reason: UnthrottleReason) {
        self.write(&Event::Unthrottled {
            time_ns: self.time_ns,
            core: narrow(core),
            reason,
        });
    }

    /// A core's totals.
    pub(super) fn counters(&mut self, core: usize, counters: Counters) {
        self.write(&Event::Counters {
            time_ns: self.time_ns,
            core: narrow(core),
            counters,
        });
    }

    /// What a thread has executed since the start.
    pub(super) fn executed(&mut self, thread: usize, accesses: u64) {
        self.write(&Event::ThreadExecuted {
            time_ns: self.time_ns,
            thread: narrow(thread),
            accesses,
        });
    }

    /// Closes the section.
    ///
    /// # Errors
    /// The first error of any write.
    pub(super) fn finish(mut self) -> Result<Section, WriteError> {
        let time_ns = self.time_ns;
        self.write(&Event::CaseEnd { time_ns });
        self.error.map_or(Ok(self.section), Err)
    }

    /// Writing can only fail for endless names, at the start; the run reports it at its end.
    fn write(&mut self, event: &Event) {
        if self.error.is_none() {
            self.error = self.section.write(event).err();
        }
    }
}

/// Indices fit the record: `Workload::new` has checked them.
fn narrow(index: usize) -> u16 {
    u16::try_from(index).expect("an index that was checked")
}
