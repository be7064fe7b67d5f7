//! Jobs: what programs say of them, and what the kernel saw.
//!
//! A program knows which job it works on, the kernel when it ran. A job starts when the first
//! thread of its task gets a CPU for it. It has finished when each thread has left its CPU
//! for the last time after it said that its part is done: what the runner does for itself before
//! and after, a few microseconds, counts as work, too. But where gangs are stopped by freezing them,
//! a thread that sleeps comes on a CPU to be frozen and again to go on sleeping, which is no work:
//! there a thread has finished when it first left its CPU, unless it was on one for longer than a
//! hand-over after that. The verdict has the same rule.

use std::collections::{BTreeMap, HashMap};

use ringfence_record::event::{Case, Event};
use ringfence_workloads::job_log::{Kind, Mark};

/// What the threads of a task say of a job; times in nanoseconds since the start.
#[derive(Debug, Default)]
struct Job {
    released_ns: Option<u64>,
    dropped_ns: Option<u64>,
    begin_ns: Option<u64>,
    /// When each thread ended its part, by its number in the kernel.
    ends_ns: BTreeMap<i32, u64>,
}

/// What the kernel saw of threads; times ascending.
#[derive(Debug)]
struct Seen<'a> {
    /// Index of each thread, by its number in the kernel.
    threads: &'a HashMap<i32, u16>,
    /// Longest time on a CPU that is no work of a thread that has ended its part of a job.
    no_work_ns: u64,
    /// When threads of each task came to a CPU.
    task_on_ns: Vec<Vec<u64>>,
    /// From when to when each thread was on one.
    stays_ns: Vec<Vec<(u64, u64)>>,
}

/// The events of all jobs, in no order. `threads` has the index of each thread, by its number in
/// the kernel; `marks` have their times since the start; `switches` are ordered.
pub fn jobs(
    case: &Case,
    threads: &HashMap<i32, u16>,
    marks: impl Iterator<Item = Mark>,
    switches: &[Event],
) -> Vec<Event> {
    let mut tasks: Vec<BTreeMap<u32, Job>> = case.tasks.iter().map(|_| BTreeMap::new()).collect();
    for mark in marks {
        if let Some(jobs) = tasks.get_mut(mark.task as usize) {
            jobs.entry(mark.job as u32).or_default().note(mark);
        }
    }
    let seen = Seen::new(case, threads, switches);
    let mut events = Vec::new();
    for (task, jobs) in (0..).zip(tasks) {
        let threads = case
            .threads
            .iter()
            .filter(|thread| thread.task == Some(task));
        events.extend(of_task(task, &jobs, threads.count(), &seen));
    }
    events
}

impl Job {
    fn note(&mut self, mark: Mark) {
        let time_ns = mark.time_ns;
        match mark.kind {
            Kind::Released => self.released_ns = Some(time_ns),
            Kind::Dropped => self.dropped_ns = Some(time_ns),
            Kind::Begin => {
                let earliest_ns = self.begin_ns.unwrap_or(time_ns).min(time_ns);
                self.begin_ns = Some(earliest_ns);
            }
            Kind::End => drop(
                self.ends_ns
                    .insert(mark.thread.thread.cast_signed(), time_ns),
            ),
            Kind::Runnable | Kind::Sleeping => {}
        }
    }
}

impl<'a> Seen<'a> {
    fn new(case: &Case, threads: &'a HashMap<i32, u16>, switches: &[Event]) -> Self {
        let claims = &case.claims;
        let mut seen = Self {
            threads,
            no_work_ns: claims.overlap_ns.map_or(0, |_| claims.hand_over_ns),
            task_on_ns: vec![Vec::new(); case.tasks.len()],
            stays_ns: vec![Vec::new(); case.threads.len()],
        };
        let mut on_ns = vec![0; case.threads.len()];
        for event in switches {
            match *event {
                Event::ThreadOn {
                    time_ns, thread, ..
                } => {
                    on_ns[usize::from(thread)] = time_ns;
                    if let Some(task) = case.threads[usize::from(thread)].task {
                        seen.task_on_ns[usize::from(task)].push(time_ns);
                    }
                }
                Event::ThreadOff {
                    time_ns, thread, ..
                } => {
                    let thread = usize::from(thread);
                    seen.stays_ns[thread].push((on_ns[thread], time_ns));
                }
                _ => {}
            }
        }
        seen
    }

    /// When a thread that ended its part of a job at `end_ns` was done with it, at `limit_ns` at
    /// the latest.
    fn done_ns(&self, tid: i32, end_ns: u64, limit_ns: u64) -> u64 {
        let stays_ns = self.threads.get(&tid).map_or(&[][..], |&thread| {
            self.stays_ns[usize::from(thread)].as_slice()
        });
        let first = stays_ns.partition_point(|&(_, off_ns)| off_ns <= end_ns);
        let past = stays_ns.partition_point(|&(_, off_ns)| off_ns <= limit_ns);
        let Some((&(_, left_ns), later)) = stays_ns.get(first..past).and_then(<[_]>::split_first)
        else {
            return end_ns;
        };
        let worked = |&&(on_ns, off_ns): &&(u64, u64)| off_ns - on_ns > self.no_work_ns;
        later
            .iter()
            .rfind(worked)
            .map_or(left_ns, |&(_, off_ns)| off_ns)
    }
}

fn of_task(task: u16, jobs: &BTreeMap<u32, Job>, threads: usize, seen: &Seen<'_>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut finished_before_ns = None;
    for (&job, state) in jobs {
        let released = state.released_ns;
        events.extend(released.map(|time_ns| Event::JobReleased { time_ns, task, job }));
        let dropped = state.dropped_ns;
        events.extend(dropped.map(|time_ns| Event::JobDropped { time_ns, task, job }));
        let Some(begin_ns) = state.begin_ns else {
            continue;
        };
        let released_ns = released.unwrap_or(begin_ns);
        let time_ns = match finished_before_ns {
            // Threads go straight on to a job that waits for them.
            Some(finished_ns) if finished_ns >= released_ns => finished_ns,
            _ => first_in(&seen.task_on_ns[usize::from(task)], released_ns, begin_ns)
                .unwrap_or(begin_ns),
        };
        events.push(Event::JobStarted { time_ns, task, job });
        if state.ends_ns.len() == threads {
            let next = jobs
                .range(job + 1..)
                .find(|(_, next)| next.begin_ns.is_some());
            let time_ns = finished_ns(state, next.map(|(_, next)| next), seen);
            finished_before_ns = Some(time_ns);
            events.push(Event::JobFinished { time_ns, task, job });
        }
    }
    events
}

/// When the last thread of a job that all have ended was done with it, before work on the next
/// job can have begun.
fn finished_ns(job: &Job, next: Option<&Job>, seen: &Seen<'_>) -> u64 {
    let ended_ns = job.ends_ns.values().copied().max().unwrap_or(0);
    let is_later = |time_ns: &u64| *time_ns > ended_ns;
    let limit_ns = next.and_then(|next| next.released_ns.filter(is_later).or(next.begin_ns));
    let limit_ns = limit_ns.unwrap_or(u64::MAX);
    let done_ns = |(&tid, &end_ns)| seen.done_ns(tid, end_ns, limit_ns);
    job.ends_ns.iter().map(done_ns).max().unwrap_or(ended_ns)
}

/// The first of ascending times from `from_ns` to `to_ns`.
fn first_in(times_ns: &[u64], from_ns: u64, to_ns: u64) -> Option<u64> {
    let first = times_ns.partition_point(|&time_ns| time_ns < from_ns);
    times_ns
        .get(first)
        .copied()
        .filter(|&time_ns| time_ns <= to_ns)
}
