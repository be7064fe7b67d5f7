//! Jobs: what programs say of them, and what the kernel saw.
//!
//! A program knows which job it works on, the kernel when it ran. A job starts when the first
//! thread of its task gets a CPU for it. It has finished when each thread has left its CPU
//! after it said that its part is done: what the runner does for itself before and after, a
//! few microseconds, counts as work, too.

use std::collections::BTreeMap;

use ringfence_record::event::{Case, Event};
use ringfence_workloads::job_log::{Kind, Mark};

/// What the threads of a task say of a job; times in nanoseconds since the start.
#[derive(Debug, Default)]
struct Job {
    released_ns: Option<u64>,
    dropped_ns: Option<u64>,
    begin_ns: Option<u64>,
    end_ns: u64,
    ended: usize,
}

/// When threads of a task came to a CPU, and left one; ascending.
#[derive(Debug, Default)]
struct Seen {
    on_ns: Vec<u64>,
    off_ns: Vec<u64>,
}

/// The events of all jobs, in no order. `marks` have their times since the start; `switches`
/// are ordered.
pub fn jobs(case: &Case, marks: impl Iterator<Item = Mark>, switches: &[Event]) -> Vec<Event> {
    let mut tasks: Vec<BTreeMap<u32, Job>> = case.tasks.iter().map(|_| BTreeMap::new()).collect();
    for mark in marks {
        if let Some(jobs) = tasks.get_mut(mark.task as usize) {
            jobs.entry(mark.job as u32).or_default().note(mark);
        }
    }
    let seen = seen(case, switches);
    let mut events = Vec::new();
    for ((task, jobs), seen) in (0..).zip(tasks).zip(&seen) {
        let threads = case
            .threads
            .iter()
            .filter(|thread| thread.task == Some(task));
        events.extend(of_task(task, &jobs, threads.count(), seen));
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
            Kind::End => {
                self.end_ns = self.end_ns.max(time_ns);
                self.ended += 1;
            }
            Kind::Runnable | Kind::Sleeping => {}
        }
    }
}

fn seen(case: &Case, switches: &[Event]) -> Vec<Seen> {
    let mut seen: Vec<Seen> = case.tasks.iter().map(|_| Seen::default()).collect();
    let task = |thread: u16| case.threads[usize::from(thread)].task.map(usize::from);
    for event in switches {
        match *event {
            Event::ThreadOn {
                time_ns, thread, ..
            } => {
                if let Some(task) = task(thread) {
                    seen[task].on_ns.push(time_ns);
                }
            }
            Event::ThreadOff {
                time_ns, thread, ..
            } => {
                if let Some(task) = task(thread) {
                    seen[task].off_ns.push(time_ns);
                }
            }
            _ => {}
        }
    }
    seen
}

fn of_task(task: u16, jobs: &BTreeMap<u32, Job>, threads: usize, seen: &Seen) -> Vec<Event> {
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
            _ => first_in(&seen.on_ns, released_ns, begin_ns).unwrap_or(begin_ns),
        };
        events.push(Event::JobStarted { time_ns, task, job });
        if state.ended == threads {
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

/// When the last thread of a job that all have ended left its CPU, before work on the next
/// job can have begun.
fn finished_ns(job: &Job, next: Option<&Job>, seen: &Seen) -> u64 {
    let is_later = |time_ns: &u64| *time_ns > job.end_ns;
    let limit_ns = next.and_then(|next| next.released_ns.filter(is_later).or(next.begin_ns));
    let limit_ns = limit_ns.unwrap_or(u64::MAX);
    let last = seen.off_ns.partition_point(|&off_ns| off_ns <= limit_ns);
    let last_ns = seen.off_ns[..last].last().copied();
    last_ns.filter(is_later).unwrap_or(job.end_ns)
}

/// The first of ascending times from `from_ns` to `to_ns`.
fn first_in(times_ns: &[u64], from_ns: u64, to_ns: u64) -> Option<u64> {
    let first = times_ns.partition_point(|&time_ns| time_ns < from_ns);
    times_ns
        .get(first)
        .copied()
        .filter(|&time_ns| time_ns <= to_ns)
}
