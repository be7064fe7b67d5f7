//! Jobs of periodic tasks: released, run in phases with a barrier after each, finished.

use std::collections::VecDeque;

use ringfence_scenario::model::Overrun;

/// One task's jobs.
#[derive(Debug)]
pub(super) struct Jobs {
    overrun: Overrun,
    threads: u16,
    /// Number of the next job to be released.
    next: u32,
    current: Option<Current>,
    queued: VecDeque<u32>,
}

#[derive(Debug)]
struct Current {
    job: u32,
    started: bool,
    /// Threads at the barrier of this phase.
    arrived: u16,
}

/// What a release leads to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Release {
    /// The threads wake.
    Wake,
    /// The job waits for its predecessor.
    Queue,
    /// The job is dropped.
    Drop,
}

/// What a thread does at the end of a phase.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Arrival {
    /// It sleeps until the others are there.
    Wait,
    /// It was the last one, and all go on.
    NextPhase,
    /// It was the last one of the job; `next` is a job that waited for this one.
    Finished {
        /// The job.
        job: u32,
        /// The job to go on with.
        next: Option<u32>,
    },
}

impl Jobs {
    /// No job yet.
    pub(super) fn new(threads: u16, overrun: Overrun) -> Self {
        Self {
            overrun,
            threads,
            next: 0,
            current: None,
            queued: VecDeque::new(),
        }
    }

    /// The next job is released: its number and what follows.
    pub(super) fn release(&mut self) -> (u32, Release) {
        let job = self.next;
        self.next += 1;
        let release = match (&self.current, self.overrun) {
            (None, _) => {
                self.begin(job);
                Release::Wake
            }
            (Some(_), Overrun::Queue) => {
                self.queued.push_back(job);
                Release::Queue
            }
            (Some(_), Overrun::Skip) => Release::Drop,
        };
        (job, release)
    }

    /// A thread runs: the job's number if it is the first of its job to do so.
    pub(super) fn start(&mut self) -> Option<u32> {
        let current = self.current.as_mut().filter(|current| !current.started)?;
        current.started = true;
        Some(current.job)
    }

    /// A thread has ended a phase.
    pub(super) fn arrive(&mut self, has_next_phase: bool) -> Arrival {
        let current = self
            .current
            .as_mut()
            .expect("threads run only during a job");
        current.arrived += 1;
        if current.arrived < self.threads {
            return Arrival::Wait;
        }
        current.arrived = 0;
        if has_next_phase {
            return Arrival::NextPhase;
        }
        let job = current.job;
        self.current = None;
        let next = self.queued.pop_front();
        if let Some(next) = next {
            self.begin(next);
        }
        Arrival::Finished { job, next }
    }

    fn begin(&mut self, job: u32) {
        self.current = Some(Current {
            job,
            started: false,
            arrived: 0,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_thread_of_each_phase_goes_on() {
        let mut jobs = Jobs::new(2, Overrun::Queue);
        assert_eq!(jobs.release(), (0, Release::Wake));
        assert_eq!((jobs.start(), jobs.start()), (Some(0), None));
        assert_eq!(jobs.arrive(true), Arrival::Wait);
        assert_eq!(jobs.arrive(true), Arrival::NextPhase);
        assert_eq!(jobs.release(), (1, Release::Queue));
        assert_eq!(jobs.arrive(false), Arrival::Wait);
        let finished = Arrival::Finished {
            job: 0,
            next: Some(1),
        };
        assert_eq!(jobs.arrive(false), finished);
        assert_eq!(jobs.start(), Some(1));
    }

    #[test]
    fn a_skipped_job_never_starts() {
        let mut jobs = Jobs::new(1, Overrun::Skip);
        jobs.release();
        assert_eq!(jobs.release(), (1, Release::Drop));
        let finished = Arrival::Finished { job: 0, next: None };
        assert_eq!(jobs.arrive(false), finished);
        assert_eq!(jobs.release(), (2, Release::Wake));
    }
}
