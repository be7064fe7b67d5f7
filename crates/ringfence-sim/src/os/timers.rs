//! What the operating system has to do at a known time.

use std::collections::BTreeSet;

use crate::machine::Picoseconds;

/// Something due; equal times are served in this order, then by index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// The regulator's period begins anew, before anything else uses the new budgets.
    Refill,
    /// The reservation of a VM begins another period, before anything uses its new budget.
    Period {
        /// Index of the VM.
        vm: usize,
    },
    /// The interrupt of a core's traffic counter reaches the hypervisor.
    Overflow {
        /// Core that takes it.
        core: usize,
    },
    /// A task's next job is released.
    Release {
        /// Index of the task.
        task: usize,
    },
    /// The share limit of a partition begins or ends.
    Share {
        /// Index of the partition.
        partition: usize,
    },
    /// A best-effort thread has had its slice.
    Tick {
        /// Core that it runs on.
        core: usize,
    },
    /// An interrupt that asks a core to choose again arrives there.
    Reschedule {
        /// Core that takes it.
        core: usize,
    },
    /// Counters are sampled.
    Sample,
}

/// Timers in the order in which they fire; adding one twice is adding it once.
#[derive(Debug, Default)]
pub(super) struct Timers(BTreeSet<(Picoseconds, Timer)>);

impl Timers {
    /// Sets a timer.
    pub(super) fn add(&mut self, at: Picoseconds, timer: Timer) {
        self.0.insert((at, timer));
    }

    /// When the next timer fires.
    pub(super) fn next_at(&self) -> Option<Picoseconds> {
        self.0.first().map(|&(at, _)| at)
    }

    /// Takes the next timer that is due at `now`.
    pub(super) fn pop_due(&mut self, now: Picoseconds) -> Option<Timer> {
        let &(at, timer) = self.0.first()?;
        (at <= now).then(|| {
            self.0.pop_first();
            timer
        })
    }
}
