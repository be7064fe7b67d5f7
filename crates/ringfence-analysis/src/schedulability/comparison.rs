//! Other ways to schedule the same tasks, for comparison.
//!
//! Both tests here are for tasks that may run on any core, with deadlines up to
//! the period, and charge nothing for scheduling: they are in favour of what they
//! stand for. They bound the response of a task by how long those above it can
//! keep it waiting (Bertogna, Cirinei, "Response-time analysis for globally
//! scheduled symmetric multiprocessor platforms", RTSS 2007, the test for fixed
//! priority; before it Bertogna, Cirinei, Lipari, "New schedulability tests for
//! real-time task sets scheduled by deadline monotonic on multiprocessors",
//! OPODIS 2005).
//!
//! **Global fixed priority.** Threads are scheduled one by one. A ready thread
//! waits only while others occupy all `m` cores. So if it waits `x` time units,
//! the others run `m x` core time in them, each of them at most `x`:
//! `R = C + floor(sum over others of min(W(R), R - C + 1) / m)`.
//!
//! **Global gang fixed priority** (Gang FTP of Goossens, Berten, "Gang FTP
//! scheduling of periodic and parallel rigid real-time tasks", RTNS 2010; the same
//! rule with EDF in Kato, Ishikawa, "Gang EDF scheduling of parallel task systems",
//! RTSS 2009). By priority, every gang gets cores if as many as it has threads are
//! left. A ready gang of `v` threads waits only while higher gangs occupy `m - v +
//! 1` cores or more. If it waits `x` time units, the others run `(m - v + 1) x`
//! core time in them, a gang of `w` threads at most `w x`:
//! `R = C + floor(sum of w min(W(R), R - C + 1) / (m - v + 1))`.
//! It is sufficient, and holds also when jobs take less than their worst case, for
//! which Goossens and Berten show that Gang FTP is not predictable; their own tests
//! are exact, for subclasses that give up cores or reorder priorities.
//!
//! `W(L)` is the most that a task runs in `L` when each of its jobs finishes within
//! `R` of its release: the first as late, all others as early as possible.
//! Tasks of equal priority count with their deadlines for `R`, so that bounds of
//! such sets hold if all tasks of the set meet their deadlines.

use serde::Serialize;

/// A task of the comparison.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalTask {
    /// Name.
    pub name: String,
    /// Bigger is more important.
    pub priority: u8,
    /// Threads, each on a core of its own; at least 1.
    pub threads: u64,
    /// Least time between releases; positive.
    pub period_ns: u64,
    /// Deadline.
    pub deadline_ns: u64,
    /// Execution time of each thread.
    pub execution_ns: u64,
}

/// How tasks share the cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// Threads by priority on any core.
    GlobalFixedPriority,
    /// Gangs by priority on any cores, side by side if they fit.
    GlobalGangFixedPriority,
}

/// What a test says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GlobalVerdict {
    /// Whether it can tell that all tasks meet their deadlines.
    pub schedulable: bool,
    /// Bound of each task's response, in the order of the tasks; `None` when it is
    /// not known to be within the deadline.
    pub responses_ns: Vec<Option<u64>>,
}

/// Bounds all tasks on `cores`.
pub fn judge(tasks: &[GlobalTask], cores: u64, policy: Policy) -> GlobalVerdict {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(tasks[index].priority));
    let mut responses_ns = vec![None; tasks.len()];
    for index in order {
        responses_ns[index] = bound(tasks, &responses_ns, index, cores, policy);
    }
    GlobalVerdict {
        schedulable: responses_ns.iter().all(Option::is_some),
        responses_ns,
    }
}

fn bound(
    tasks: &[GlobalTask],
    known_ns: &[Option<u64>],
    index: usize,
    cores: u64,
    policy: Policy,
) -> Option<u64> {
    let task = &tasks[index];
    if task.threads > cores || task.deadline_ns > task.period_ns {
        return None;
    }
    let interfering: Vec<Interfering> = tasks
        .iter()
        .enumerate()
        .filter(|(_, other)| other.priority >= task.priority)
        .filter_map(|(other, _)| Interfering::new(tasks, known_ns, index, other, policy))
        .collect::<Option<_>>()?;
    let needed = match policy {
        Policy::GlobalFixedPriority => cores,
        Policy::GlobalGangFixedPriority => cores - task.threads + 1,
    };
    let mut response_ns = task.execution_ns;
    while response_ns <= task.deadline_ns {
        let waiting_ns = response_ns - task.execution_ns + 1;
        let core_ns: u128 = interfering
            .iter()
            .map(|other| other.core_ns(response_ns, waiting_ns))
            .sum();
        let waited_ns = core_ns / u128::from(needed);
        let next_ns = u64::try_from(u128::from(task.execution_ns) + waited_ns).ok()?;
        if next_ns <= response_ns {
            return Some(response_ns);
        }
        response_ns = next_ns;
    }
    None
}

/// A task that keeps another one waiting.
struct Interfering {
    threads: u64,
    period_ns: u64,
    execution_ns: u64,
    response_ns: u64,
}

impl Interfering {
    /// `other` as it keeps `index` waiting; the outer `None` when it does not, the
    /// inner one when it has no bound itself.
    fn new(
        tasks: &[GlobalTask],
        known_ns: &[Option<u64>],
        index: usize,
        other: usize,
        policy: Policy,
    ) -> Option<Option<Self>> {
        let task = &tasks[other];
        let threads = match (other == index, policy) {
            (false, _) => task.threads,
            // Its own siblings wait for cores one by one, too.
            (true, Policy::GlobalFixedPriority) => task.threads - 1,
            (true, Policy::GlobalGangFixedPriority) => 0,
        };
        if threads == 0 {
            return None;
        }
        let response_ns = match task.priority == tasks[index].priority {
            true => Some(task.deadline_ns),
            false => known_ns[other],
        };
        Some(response_ns.map(|response_ns| Self {
            threads,
            period_ns: task.period_ns,
            execution_ns: task.execution_ns,
            response_ns: response_ns.max(task.execution_ns),
        }))
    }

    /// Core time in `window_ns`, of which only `waiting_ns` count.
    fn core_ns(&self, window_ns: u64, waiting_ns: u64) -> u128 {
        let reach_ns =
            u128::from(window_ns) + u128::from(self.response_ns) - u128::from(self.execution_ns);
        let whole = reach_ns / u128::from(self.period_ns);
        let rest_ns = (reach_ns % u128::from(self.period_ns)).min(self.execution_ns.into());
        let workload_ns = whole * u128::from(self.execution_ns) + rest_ns;
        u128::from(self.threads) * workload_ns.min(waiting_ns.into())
    }
}
