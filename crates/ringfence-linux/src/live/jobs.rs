//! Jobs and misses of each gang, from what programs say of their jobs.
//!
//! A job ends here when its last thread says so. The record waits until the kernel has seen
//! that thread leave its CPU, so the verdict can count a miss more.

use std::collections::{BTreeMap, VecDeque};

use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{Kind, Mark};

use super::Board;

/// Jobs of a task that are remembered where programs are started by somebody else: one that was
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
    tasks: Vec<TaskJobs>,
}

#[derive(Debug)]
struct TaskJobs {
    releases: Releases,
    gang: usize,
    threads: usize,
    deadline_ns: u64,
    /// Jobs that have not ended, by process and number.
    open: BTreeMap<(u32, u64), Job>,
    /// Where any may never end: those that were heard of last, also if they have ended.
    heard: VecDeque<(u32, u64)>,
}

/// Marks of different threads come in no order.
#[derive(Debug, Default)]
struct Job {
    released_ns: Option<u64>,
    begun_ns: Option<u64>,
    ended: usize,
    end_ns: u64,
}

impl Tally {
    /// No job has ended yet.
    pub fn of(workload: &Workload<'_>, releases: Releases) -> Self {
        let tasks = workload.tasks.iter().map(|entry| TaskJobs {
            releases,
            gang: entry.gang,
            threads: entry.threads.len(),
            deadline_ns: entry.task.deadline_ns,
            open: BTreeMap::new(),
            heard: VecDeque::new(),
        });
        Self {
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
        task.count(key, board);
        task.forget();
    }
}

impl TaskJobs {
    fn job(&mut self, key: (u32, u64)) -> &mut Job {
        self.open.entry(key).or_insert_with(|| {
            if self.releases == Releases::Perhaps {
                self.heard.push_back(key);
            }
            Job::default()
        })
    }

    /// Forgets the oldest, if there are many.
    fn forget(&mut self) {
        while self.heard.len() > OPEN {
            let oldest = self.heard.pop_front().expect("there are some");
            self.open.remove(&oldest);
        }
    }

    /// Counts the job if all its threads have ended it.
    fn count(&mut self, key: (u32, u64), board: &Board) {
        let (threads, releases) = (self.threads, self.releases);
        let job = self.job(key);
        let end_ns = job.end_ns;
        let released_ns = match releases {
            Releases::Told => job.released_ns,
            Releases::Perhaps => job.released_ns.or(job.begun_ns),
        };
        let (has_ended, is_told) = (job.ended == threads, releases == Releases::Told);
        if !has_ended || is_told && released_ns.is_none() {
            return;
        }
        self.open.remove(&key);
        // Nothing can be said of one whose begin was lost.
        let Some(released_ns) = released_ns else {
            return;
        };
        board.count_job(self.gang);
        if end_ns > released_ns.saturating_add(self.deadline_ns) {
            board.count_miss(self.gang);
        }
    }
}
