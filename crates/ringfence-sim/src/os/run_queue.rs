//! A core's two queues: fixed priority above fair.

use std::collections::BTreeSet;

use crate::machine::Picoseconds;

/// Runnable real-time threads of a core as SCHED_FIFO keeps them: by priority,
/// first come first served inside one. The running thread keeps its place.
#[derive(Debug, Default)]
pub(super) struct RealTimeQueue(Vec<(u8, usize)>);

impl RealTimeQueue {
    /// Puts a thread behind those of its priority.
    pub(super) fn push(&mut self, priority: u8, thread: usize) {
        let place = self.0.partition_point(|&(other, _)| other >= priority);
        self.0.insert(place, (priority, thread));
    }

    /// The thread that the core should run, and its priority.
    pub(super) fn head(&self) -> Option<(u8, usize)> {
        self.0.first().copied()
    }

    /// Takes a thread out that sleeps now.
    pub(super) fn remove(&mut self, thread: usize) {
        self.0.retain(|&(_, other)| other != thread);
    }
}

/// Best-effort threads that wait for a core, by the time that they have had.
///
/// Virtual runtimes of different cores do not compare; a thread that moves
/// keeps its distance to the least of its core.
#[derive(Debug, Default)]
pub(super) struct FairQueue {
    waiting: BTreeSet<(Picoseconds, usize)>,
    /// Least virtual runtime that the core has reached; never decreases.
    floor: Picoseconds,
}

impl FairQueue {
    /// A thread waits that has had `runtime` on this core's scale.
    pub(super) fn push(&mut self, runtime: Picoseconds, thread: usize) {
        self.waiting.insert((runtime, thread));
    }

    /// Takes the thread that has had least, and its virtual runtime.
    pub(super) fn pop(&mut self) -> Option<(Picoseconds, usize)> {
        let first = self.waiting.pop_first()?;
        self.floor = self.floor.max(first.0);
        Some(first)
    }

    /// Least virtual runtime of those that wait.
    pub(super) fn least(&self) -> Option<Picoseconds> {
        self.waiting.first().map(|&(runtime, _)| runtime)
    }

    /// The waiting thread that has had least among those that `may` leave, and
    /// how far it is ahead of the core's floor.
    pub(super) fn candidate(&self, may: impl Fn(usize) -> bool) -> Option<(Picoseconds, usize)> {
        self.waiting
            .iter()
            .find(|&&(_, thread)| may(thread))
            .map(|&(runtime, thread)| (runtime.saturating_sub(self.floor), thread))
    }

    /// Takes out a thread that moves to another core.
    pub(super) fn remove(&mut self, thread: usize) {
        self.waiting.retain(|&(_, other)| other != thread);
    }

    /// Virtual runtime here of a thread that comes from a core where it was `ahead` of the floor.
    pub(super) fn arrive(&self, ahead: Picoseconds) -> Picoseconds {
        self.floor.saturating_add(ahead)
    }

    /// Number of threads that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_time_is_by_priority_and_then_first_come() {
        let mut queue = RealTimeQueue::default();
        for (priority, thread) in [(5, 0), (9, 1), (5, 2), (9, 3)] {
            queue.push(priority, thread);
        }
        let mut order = Vec::new();
        while let Some((_, thread)) = queue.head() {
            order.push(thread);
            queue.remove(thread);
        }
        assert_eq!(order, [1, 3, 0, 2]);
    }

    #[test]
    fn fair_takes_the_thread_that_had_least_and_breaks_ties_by_number() {
        let mut queue = FairQueue::default();
        for (runtime, thread) in [(30, 0), (10, 2), (10, 1)] {
            queue.push(runtime, thread);
        }
        assert_eq!(queue.pop(), Some((10, 1)));
        assert_eq!(queue.candidate(|thread| thread != 2), Some((20, 0)));
        assert_eq!(queue.pop(), Some((10, 2)));
    }
}
