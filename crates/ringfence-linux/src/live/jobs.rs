//! Jobs and misses of each gang, from what programs say of their jobs.
//!
//! A job ends here when its last thread says so. The record waits until the kernel has seen
//! that thread leave its CPU, so the verdict can count a miss more.

use std::collections::BTreeMap;

use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{Kind, Mark};

use super::Board;

/// Jobs of a task that can be under way in programs that somebody else starts. One that was
/// killed leaves some that never end.
const OPEN: usize = 1024;

/// Whether programs say when their jobs are released.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Releases {
    /// Always: no job is over before that is known.
    Told,
    /// Perhaps. One that was not told is taken for the begin of the job.
    Perhaps,
}

/// Counts them.
#[derive(Debug)]
pub struct Tally {
    releases: Releases,
    tasks: Vec<TaskJobs>,
}

#[derive(Debug)]
struct TaskJobs {
    gang: usize,
    threads: usize,
    deadline_ns: u64,
    /// Jobs that have not ended, by process and number.
    open: BTreeMap<(u32, u64), Job>,
    /// Jobs that there were.
    seen: u64,
}

/// Marks of different threads come in no order.
#[derive(Debug, Default)]
struct Job {
    /// Of all that were seen.
    order: u64,
    released_ns: Option<u64>,
    begun_ns: Option<u64>,
    ended: usize,
    end_ns: u64,
}

impl Tally {
    /// No job has ended yet.
    pub fn of(workload: &Workload<'_>, releases: Releases) -> Self {
        let tasks = workload.tasks.iter().map(|entry| TaskJobs {
            gang: entry.gang,
            threads: entry.threads.len(),
            deadline_ns: entry.task.deadline_ns,
            open: BTreeMap::new(),
            seen: 0,
        });
        Self {
            releases,
            tasks: tasks.collect(),
        }
    }

    /// A program says this; what follows goes to the board.
    pub fn note(&mut self, mark: &Mark, board: &Board) {
        let Some(task) = self.tasks.get_mut(mark.task as usize) else {
            return;
        };
        let key = (mark.thread.process, mark.job);
        match mark.kind {
            Kind::Released => task.job(key).released_ns = Some(mark.time_ns),
            Kind::Begin => {
                let begun_ns = &mut task.job(key).begun_ns;
                *begun_ns = Some(begun_ns.map_or(mark.time_ns, |it| it.min(mark.time_ns)));
            }
            Kind::End => {
                let job = task.job(key);
                job.ended += 1;
                job.end_ns = job.end_ns.max(mark.time_ns);
            }
            Kind::Dropped => {
                task.open.remove(&key);
                return board.count_miss(task.gang);
            }
            Kind::Runnable | Kind::Sleeping => return,
        }
        task.count(key, self.releases, board);
        if self.releases == Releases::Perhaps {
            task.forget();
        }
    }
}

impl TaskJobs {
    fn job(&mut self, key: (u32, u64)) -> &mut Job {
        let seen = &mut self.seen;
        self.open.entry(key).or_insert_with(|| {
            *seen += 1;
            Job {
                order: *seen,
                ..Job::default()
            }
        })
    }

    /// Forgets the job that has been open for longest, if there are too many.
    fn forget(&mut self) {
        let oldest = self.open.iter().min_by_key(|(_, job)| job.order);
        if let Some((&oldest, _)) = oldest.filter(|_| self.open.len() > OPEN) {
            self.open.remove(&oldest);
        }
    }

    /// Counts the job if all its threads have ended it.
    fn count(&mut self, key: (u32, u64), releases: Releases, board: &Board) {
        let threads = self.threads;
        let job = self.job(key);
        let end_ns = job.end_ns;
        let released_ns = match releases {
            Releases::Told => job.released_ns,
            // A begin can be lost.
            Releases::Perhaps => job.released_ns.or(job.begun_ns).or(Some(end_ns)),
        };
        let Some(released_ns) = released_ns.filter(|_| job.ended == threads) else {
            return;
        };
        self.open.remove(&key);
        board.count_job(self.gang);
        if end_ns > released_ns.saturating_add(self.deadline_ns) {
            board.count_miss(self.gang);
        }
    }
}
