//! One thread of the work: prepares itself, then runs jobs or goes on without end.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::Sender;
use std::time::Duration;

use ringfence_scenario::model::Overrun;

use super::schedule::Schedule;
use super::{Message, Release, RunnerError, Work};
use crate::job_log::{Jobs, Kind, ThreadJobs};
use crate::program::{Barrier, Part};
use crate::{clock, cpu};

/// Bytes of a thread's name in the kernel, without the zero at its end.
const NAME_BYTES: usize = 15;
/// How long a thread waits to become a member of its gang.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the threads of the work share.
pub(super) struct Shared {
    work: Work,
    schedule: Option<Schedule>,
    end_ns: u64,
    /// Threads that are prepared and the one that waits for them.
    ready: Barrier,
    /// Threads at the end of a job.
    job_end: Barrier,
    /// The job that all of them run next; written while they wait for each other.
    next_job: AtomicU64,
    pub(super) progress: Vec<Progress>,
}

/// What a thread has done; in cache lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Progress {
    pub(super) jobs: AtomicU64,
    pub(super) steps: AtomicU64,
    pub(super) accesses: AtomicU64,
}

impl Shared {
    pub(super) fn new(work: &Work) -> Self {
        let end_ns = work.start_ns.saturating_add(work.duration_ns);
        let schedule = match work.release {
            Release::Endless => None,
            Release::Periodic {
                period_ns,
                offset_ns,
                overrun,
            } => Some(Schedule {
                first_ns: work.start_ns.saturating_add(offset_ns),
                period_ns,
                end_ns,
                overrun,
            }),
        };
        let threads = work.setting.threads;
        Self {
            work: work.clone(),
            schedule,
            end_ns,
            ready: Barrier::new(threads.saturating_add(1)),
            job_end: Barrier::new(threads),
            next_job: AtomicU64::new(0),
            progress: (0..threads).map(|_| Progress::default()).collect(),
        }
    }

    /// Lets the prepared threads begin.
    pub(super) fn begin(&self) {
        self.ready.wait();
    }
}

/// A thread before it is one.
pub(super) struct Worker {
    pub(super) number: u16,
    pub(super) part: Box<dyn Part>,
    pub(super) jobs: Jobs,
    pub(super) shared: Arc<Shared>,
    pub(super) sender: Sender<Message>,
}

/// Says so when its thread unwinds: the others may wait for it for ever.
struct Watch {
    number: u16,
    sender: Sender<Message>,
}

impl Drop for Watch {
    fn drop(&mut self) {
        let message = match std::thread::panicking() {
            true => Message::Panicked(self.number),
            false => Message::Ended,
        };
        // Nobody may listen any more.
        let _ = self.sender.send(message);
    }
}

impl Worker {
    pub(super) fn spawn(self) -> Result<(), RunnerError> {
        let name = thread_name(&self.shared.work.name, self.number);
        let builder = std::thread::Builder::new().name(name.clone());
        let spawned = builder.spawn(move || self.live());
        spawned.map(drop).map_err(|source| RunnerError::System {
            what: format!("starting the thread {name}"),
            source,
        })
    }

    fn live(mut self) {
        let watch = Watch {
            number: self.number,
            sender: self.sender.clone(),
        };
        let prepared = self.prepare();
        let (message, log) = match prepared {
            Ok(log) => (Ok(()), Some(log)),
            Err(error) => (Err(error), None),
        };
        let _ = watch.sender.send(Message::Prepared(message));
        let Some(mut log) = log else { return };
        self.shared.ready.wait();
        match self.shared.schedule {
            Some(schedule) => self.run_jobs(&schedule, &mut log),
            None => self.run_endless(&mut log),
        }
        // To free it takes long, which would look like work on the last job: the process is
        // about to end, and frees it without that.
        std::mem::forget(self.part);
    }

    /// Core, place in the log, gang.
    fn prepare(&self) -> Result<ThreadJobs, RunnerError> {
        let work = &self.shared.work;
        let own = work.cores[usize::from(self.number) % work.cores.len()];
        let cores = match work.pinned {
            true => std::slice::from_ref(&own),
            false => &work.cores,
        };
        cpu::keep_on(cores).map_err(|source| RunnerError::System {
            what: format!("keeping a thread on the cores {cores:?}"),
            source,
        })?;
        clock::wake_in_time();
        let mut log = self.jobs.register(work.task)?;
        if let Some(gang) = &work.gang {
            log.join_gang(gang, PATIENCE)?;
        }
        Ok(log)
    }

    fn run_jobs(&mut self, schedule: &Schedule, log: &mut ThreadJobs) {
        let shared = Arc::clone(&self.shared);
        let progress = &shared.progress[usize::from(self.number)];
        let (mut job, mut marked) = (0, 0);
        while job < schedule.jobs() {
            self.sleep_until(schedule.release_ns(job), job, log);
            let begin_ns = clock::now_ns();
            self.mark_releases(schedule, log, marked..job + 1, Some(job));
            marked = job + 1;
            log.mark(Kind::Begin, job, begin_ns);
            self.part.job(job);
            log.mark(Kind::End, job, clock::now_ns());
            progress
                .jobs
                .store(progress.jobs.load(Relaxed) + 1, Relaxed);
            shared.job_end.wait_and(|| {
                let next = schedule.after(job, clock::now_ns());
                shared.next_job.store(next, Relaxed);
            });
            job = shared.next_job.load(Relaxed);
        }
        self.mark_releases(schedule, log, marked..schedule.jobs(), None);
    }

    /// The first thread says for all when `jobs` were released, of which only `begins`
    /// begins: where jobs do not wait, the others are dropped.
    fn mark_releases(
        &self,
        schedule: &Schedule,
        log: &mut ThreadJobs,
        jobs: Range<u64>,
        begins: Option<u64>,
    ) {
        if self.number > 0 {
            return;
        }
        for job in jobs {
            let release_ns = schedule.release_ns(job);
            log.mark(Kind::Released, job, release_ns);
            if schedule.overrun == Overrun::Skip && begins != Some(job) {
                log.mark(Kind::Dropped, job, release_ns);
            }
        }
    }

    fn run_endless(&mut self, log: &mut ThreadJobs) {
        let shared = Arc::clone(&self.shared);
        let progress = &shared.progress[usize::from(self.number)];
        self.sleep_until(shared.work.start_ns, 0, log);
        let (mut steps, mut accesses) = (0, 0);
        while clock::now_ns() < shared.end_ns {
            accesses += self.part.step();
            steps += 1;
            progress.steps.store(steps, Relaxed);
            progress.accesses.store(accesses, Relaxed);
        }
    }

    fn sleep_until(&self, at_ns: u64, job: u64, log: &mut ThreadJobs) {
        let marks = self.shared.work.marks_sleep;
        let now_ns = clock::now_ns();
        if now_ns >= at_ns {
            return;
        }
        if marks {
            log.mark(Kind::Sleeping, job, now_ns);
        }
        clock::sleep_until(at_ns);
        if marks {
            log.mark(Kind::Runnable, job, clock::now_ns());
        }
    }
}

/// The work's name, cut so that the thread's number fits after it.
fn thread_name(name: &str, number: u16) -> String {
    let number = format!("-{number}");
    let name: String = name.chars().filter(|letter| *letter != '\0').collect();
    let end = name.floor_char_boundary(NAME_BYTES - number.len());
    format!("{}{number}", &name[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel() {
        for (name, number, expected) in [
            ("dave-2", 0, "dave-2-0"),
            ("a-very-long-task-name", 3, "a-very-long-t-3"),
            ("a-very-long-task-name", 65535, "a-very-lo-65535"),
            ("größtmögliche", 12, "größtmögl-12"),
            ("ab\0c", 1, "abc-1"),
        ] {
            let found = thread_name(name, number);
            assert_eq!(found, expected);
            assert!(found.len() <= NAME_BYTES);
        }
    }
}
