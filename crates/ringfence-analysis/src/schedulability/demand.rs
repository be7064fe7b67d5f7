//! What delays a job: streams of work that all have precedence over it.

use super::system::{Partition, Task};

/// Time by what it is spent on, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Spent {
    /// Jobs executing, as when alone.
    #[serde(rename = "execution_ns")]
    pub execution: u64,
    /// Jobs slowed down by work that runs at the same time.
    #[serde(rename = "interference_ns")]
    pub interference: u64,
    /// Interrupts, context switches and hand-overs.
    #[serde(rename = "switching_ns")]
    pub switching: u64,
    /// Caches that others have filled: their dirty lines go, and after a preemption
    /// one's own come back.
    #[serde(rename = "reloading_ns")]
    pub reloading: u64,
}

impl Spent {
    /// All of it.
    pub fn total(&self) -> u64 {
        [self.interference, self.switching, self.reloading]
            .iter()
            .fold(self.execution, |sum, part| sum.saturating_add(*part))
    }

    /// The sum of two.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            execution: self.execution.saturating_add(other.execution),
            interference: self.interference.saturating_add(other.interference),
            switching: self.switching.saturating_add(other.switching),
            reloading: self.reloading.saturating_add(other.reloading),
        }
    }

    /// `count` times as much.
    pub fn times(&self, count: u64) -> Self {
        Self {
            execution: self.execution.saturating_mul(count),
            interference: self.interference.saturating_mul(count),
            switching: self.switching.saturating_mul(count),
            reloading: self.reloading.saturating_mul(count),
        }
    }
}

/// Work that comes again and again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stream {
    /// Least time between two arrivals before jitter.
    pub period_ns: u64,
    /// How much later than nominal an arrival may be.
    pub jitter_ns: u64,
    /// Work of each arrival.
    pub work: Spent,
}

impl Stream {
    /// Most arrivals in a half-open stretch of `length_ns`.
    pub fn arrivals(&self, length_ns: u64) -> u64 {
        if length_ns == 0 {
            return 0;
        }
        length_ns
            .saturating_add(self.jitter_ns)
            .div_ceil(self.period_ns)
    }
}

/// What one job of `task` needs of its gang's time; `None` without a bound.
///
/// Every job is charged with taking the partition over, also one that finds its
/// gang active or its predecessor just finished: waking its threads costs less.
pub fn job(partition: &Partition, task: &Task) -> Option<Spent> {
    let costs = &partition.costs;
    let take_over = costs.take_over_ns(partition.blocking_ns(task.priority));
    let barriers = costs.hand_over_ns().saturating_mul(task.barriers);
    let work = Spent {
        execution: task.execution_ns,
        interference: task.interference_ns?,
        switching: take_over
            .saturating_add(barriers)
            .saturating_add(partition.interrupt_ns()),
        reloading: task
            .barrier_reload_ns
            .saturating_mul(task.barriers)
            .saturating_add(task.begin_ns),
    };
    Some(match partition.is_entangled(task) {
        true => work.times(task.cores.len() as u64),
        false => work,
    })
}

/// All streams that delay `task`; `None` when one of them has no bound.
pub fn delaying(partition: &Partition, task: &Task) -> Option<Vec<Stream>> {
    let gangs = gangs_above(partition, task.priority)?;
    let mut streams: Vec<Stream> = gangs.into_iter().map(|(_, stream)| stream).collect();
    for other in &partition.tasks {
        if other.name == task.name || other.priority > task.priority {
            continue;
        }
        let holds_up = task.shares_core(other) || partition.is_entangled(task);
        if other.priority == task.priority && holds_up {
            streams.push(stream(other, job(partition, other)?));
        } else {
            streams.push(stream(other, interrupt(partition)));
        }
    }
    streams.extend(partition.refill_period_ns.map(|period_ns| Stream {
        period_ns,
        jitter_ns: 0,
        work: interrupt(partition),
    }));
    Some(streams)
}

/// A release, or a refill, that costs the gang that runs no more than an interrupt.
fn interrupt(partition: &Partition) -> Spent {
    Spent {
        switching: partition.interrupt_ns(),
        ..Spent::default()
    }
}

fn stream(task: &Task, work: Spent) -> Stream {
    Stream {
        period_ns: task.period_ns,
        jitter_ns: task.jitter_ns,
        work,
    }
}

/// The gangs above `priority`, as they delay what is not below it: each set of
/// tasks that are released together, and its stream. `None` when one has no bound.
pub fn gangs_above(partition: &Partition, priority: u8) -> Option<Vec<(Vec<&Task>, Stream)>> {
    let mut gangs = Vec::new();
    let mut rest: Vec<&Task> = partition
        .tasks
        .iter()
        .filter(|task| task.priority > priority)
        .collect();
    while let Some(&first) = rest.first() {
        let (together, others): (Vec<_>, _) = rest
            .into_iter()
            .partition(|task| released_together(first, task));
        rest = others;
        let mut work = together_work(partition, &together)?;
        // The gang that was preempted gets its cores back, and its caches.
        let hand_over = partition.costs.hand_over_ns();
        work.switching = work.switching.saturating_add(hand_over);
        let resume = partition.worst_resume_ns(priority, first.priority);
        work.reloading = work.reloading.saturating_add(resume);
        gangs.push((together, stream(first, work)));
    }
    Some(gangs)
}

/// Whether every release of one is a release of the other, in one gang.
fn released_together(a: &Task, b: &Task) -> bool {
    let no_jitter = a.jitter_ns == 0 && b.jitter_ns == 0;
    a.name == b.name
        || no_jitter
            && (a.priority, a.period_ns, a.offset_ns) == (b.priority, b.period_ns, b.offset_ns)
}

/// How long tasks of one gang that are released together keep the partition.
///
/// Those that share no core, directly or through others, run side by side; the
/// others one after the other, at worst.
fn together_work(partition: &Partition, tasks: &[&Task]) -> Option<Spent> {
    let mut components: Vec<(Vec<&Task>, Spent)> = Vec::new();
    for &task in tasks {
        let holds_up = |member: &Task| member.shares_core(task) || partition.is_entangled(task);
        let (touched, mut kept): (Vec<_>, Vec<_>) = components
            .into_iter()
            .partition(|(members, _)| members.iter().any(|member| holds_up(member)));
        let mut merged = (vec![task], job(partition, task)?);
        for (members, work) in touched {
            merged.0.extend(members);
            merged.1 = merged.1.plus(&work);
        }
        kept.push(merged);
        components = kept;
    }
    components
        .into_iter()
        .map(|(_, work)| work)
        .max_by_key(Spent::total)
}
