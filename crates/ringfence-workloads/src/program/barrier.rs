//! Threads that wait for each other, asleep.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};

use rustix::thread::futex;

/// Where a number of threads meet again and again.
#[derive(Debug)]
pub struct Barrier {
    threads: u32,
    arrived: AtomicU32,
    /// Meetings that were; a futex.
    meeting: AtomicU32,
}

impl Barrier {
    /// For `threads` threads; at least 1.
    pub fn new(threads: u16) -> Self {
        Self {
            threads: threads.max(1).into(),
            arrived: AtomicU32::new(0),
            meeting: AtomicU32::new(0),
        }
    }

    /// Returns when all threads are here.
    pub fn wait(&self) {
        self.wait_and(|| ());
    }

    /// Returns when all threads are here and the last one of them has done `last`.
    pub fn wait_and(&self, last: impl FnOnce()) {
        let meeting = self.meeting.load(Acquire);
        if self.arrived.fetch_add(1, AcqRel) + 1 < self.threads {
            while self.meeting.load(Acquire) == meeting {
                // It returns for any reason: the meeting is looked at again.
                let _ = futex::wait(&self.meeting, futex::Flags::PRIVATE, meeting, None);
            }
            return;
        }
        last();
        self.arrived.store(0, Relaxed);
        self.meeting.store(meeting.wrapping_add(1), Release);
        if self.threads > 1 {
            let _ = futex::wake(&self.meeting, futex::Flags::PRIVATE, i32::MAX as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_goes_on_before_all_are_there_and_the_last_has_done_its_work() {
        const THREADS: u16 = 5;
        let (barrier, arrived, done) =
            (Barrier::new(THREADS), AtomicU32::new(0), AtomicU32::new(0));
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for meeting in 1..=1000 {
                        arrived.fetch_add(1, Relaxed);
                        barrier.wait_and(|| {
                            assert_eq!(arrived.load(Relaxed), meeting * u32::from(THREADS));
                            done.store(meeting, Relaxed);
                        });
                        assert_eq!(done.load(Relaxed), meeting);
                        barrier.wait();
                    }
                });
            }
        });
        assert_eq!(done.load(Relaxed), 1000);
    }
}
