//! Jobs and misses of each gang, from what programs say of their jobs.
//!
//! A job ends here when its last thread says so. The record waits until the kernel has seen
//! that thread leave its CPU, so the verdict can count a miss more.

use std::collections::BTreeMap;

use ringfence_target::workload::Workload;
use ringfence_workloads::job_log::{Kind, Mark};

use super::Board;

/// Counts them.
#[derive(Debug, Default)]
pub struct Tally {
    tasks: Vec<TaskJobs>,
}

#[derive(Debug)]
struct TaskJobs {
    gang: usize,
    threads: usize,
    deadline_ns: u64,
    /// Jobs that have not ended.
    open: BTreeMap<u64, Job>,
}

/// Marks of different threads come in no order.
#[derive(Debug, Default)]
struct Job {
    released_ns: Option<u64>,
    ended: usize,
    end_ns: u64,
}

impl Tally {
    /// No job has ended yet.
    pub fn of(workload: &Workload<'_>) -> Self {
        let tasks = workload.tasks.iter().map(|entry| TaskJobs {
            gang: entry.gang,
            threads: entry.threads.len(),
            deadline_ns: entry.task.deadline_ns,
            open: BTreeMap::new(),
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
        match mark.kind {
            Kind::Released => task.job(mark).released_ns = Some(mark.time_ns),
            Kind::End => {
                let job = task.job(mark);
                job.ended += 1;
                job.end_ns = job.end_ns.max(mark.time_ns);
            }
            Kind::Dropped => {
                task.open.remove(&mark.job);
                return board.count_miss(task.gang);
            }
            Kind::Begin | Kind::Runnable | Kind::Sleeping => return,
        }
        let job = task.open.entry(mark.job).or_default();
        let (Some(released_ns), true) = (job.released_ns, job.ended == task.threads) else {
            return;
        };
        let is_late = job.end_ns > released_ns.saturating_add(task.deadline_ns);
        task.open.remove(&mark.job);
        board.count_job(task.gang);
        if is_late {
            board.count_miss(task.gang);
        }
    }
}

impl TaskJobs {
    fn job(&mut self, mark: &Mark) -> &mut Job {
        self.open.entry(mark.job).or_default()
    }
}
