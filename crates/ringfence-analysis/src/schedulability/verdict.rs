//! Whether every gang of a partition meets its deadlines, and by how much.

use std::collections::BTreeMap;

use serde::Serialize;

use super::demand;
use super::response::{self, Response};
use super::system::{Partition, Share, Task};

/// What the analysis says about one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartitionVerdict {
    /// Name.
    pub partition: String,
    /// Whether every task meets its deadline.
    pub schedulable: bool,
    /// Time per period that the gangs need when each is alone, in millionths, rounded down;
    /// tasks of one gang that are released together count as one.
    pub utilization_ppm: u64,
    /// The share limit.
    pub share: ShareVerdict,
    /// Tasks, highest priority first; of equal priority in the order of the scenario.
    pub tasks: Vec<TaskVerdict>,
}

/// Whether the share limit has a say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "limit")]
pub enum ShareVerdict {
    /// There is none.
    Off,
    /// Real-time work never reaches it.
    NeverReached {
        /// Most real-time time in any window.
        busy_ns: u64,
        /// What the limit allows in a window.
        limit_ns: u64,
    },
    /// It may be reached, and every response allows for waiting.
    MayBeReached {
        /// What the limit allows in a window.
        limit_ns: u64,
        /// Length of the window.
        window_ns: u64,
    },
}

/// What the analysis says about one task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskVerdict {
    /// Name.
    pub task: String,
    /// Name of its gang.
    pub gang: String,
    /// Priority.
    pub priority: u8,
    /// Period.
    pub period_ns: u64,
    /// Deadline.
    pub deadline_ns: u64,
    /// Longest execution of one job alone on the machine.
    pub execution_ns: u64,
    /// The longest response; `None` when there is no bound.
    pub response: Option<Response>,
    /// Time between longest response and deadline; negative when it is missed,
    /// `None` when there is no bound.
    pub slack_ns: Option<i64>,
    /// Why there is no bound.
    pub unbounded: Option<Unbounded>,
}

/// Why a task has no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case", tag = "reason")]
pub enum Unbounded {
    /// Best-effort work may slow it, or a gang above it, down without end.
    Interference,
    /// The work that it and those above it need takes all time, in millionths of
    /// it, rounded down; waiting for the share limit not counted.
    Overload {
        /// Above 1,000,000, or so close to it that no busy window ends.
        utilization_ppm: u64,
    },
}

impl PartitionVerdict {
    /// Whether a job of `task` may be released before its predecessor has finished.
    fn may_overrun(&self, task: &str) -> bool {
        self.tasks
            .iter()
            .filter(|verdict| verdict.task == task)
            .any(|verdict| {
                let response = verdict.response.as_ref();
                response.is_none_or(|response| response.response_ns > verdict.period_ns)
            })
    }
}

impl TaskVerdict {
    /// Whether it meets its deadline.
    pub fn is_met(&self) -> bool {
        self.slack_ns.is_some_and(|slack_ns| slack_ns >= 0)
    }
}

/// Analyses `partition`.
pub fn judge(partition: &Partition) -> PartitionVerdict {
    let mut partition = partition.clone();
    loop {
        let verdict = judge_once(&partition);
        // A job that may wait for its predecessor makes threads wait across cores.
        let waits = |task: &Task| task.queues && verdict.may_overrun(&task.name);
        if !partition.entangle(waits) {
            return verdict;
        }
    }
}

fn judge_once(partition: &Partition) -> PartitionVerdict {
    let unlimited = responses(partition, None);
    let (share, responses) = match partition.share {
        None => (ShareVerdict::Off, unlimited),
        Some(share) => with_share(partition, share, unlimited),
    };
    let mut tasks: Vec<TaskVerdict> = partition
        .tasks
        .iter()
        .zip(responses)
        .map(|(task, response)| judge_task(partition, task, response))
        .collect();
    tasks.sort_by_key(|task| std::cmp::Reverse(task.priority));
    PartitionVerdict {
        partition: partition.name.clone(),
        schedulable: tasks.iter().all(TaskVerdict::is_met),
        utilization_ppm: utilization_ppm(partition),
        share,
        tasks,
    }
}

fn responses(partition: &Partition, share: Option<Share>) -> Vec<Option<Response>> {
    let tasks = partition.tasks.iter();
    tasks
        .map(|task| response::bound(partition, task, share))
        .collect()
}

/// The limit has no say if real-time work cannot reach it in any window. The
/// responses without a limit show that: until the limit is reached for the first
/// time they hold, so the work that they allow for could be exceeded no earlier.
fn with_share(
    partition: &Partition,
    share: Share,
    unlimited: Vec<Option<Response>>,
) -> (ShareVerdict, Vec<Option<Response>>) {
    let Share {
        limit_ns,
        window_ns,
    } = share;
    match busy_ns(partition, window_ns, &unlimited) {
        Some(busy_ns) if busy_ns < limit_ns => {
            (ShareVerdict::NeverReached { busy_ns, limit_ns }, unlimited)
        }
        _ => (
            ShareVerdict::MayBeReached {
                limit_ns,
                window_ns,
            },
            responses(partition, Some(share)),
        ),
    }
}

/// Most time in any stretch of `window_ns` in which a real-time thread has a core.
fn busy_ns(partition: &Partition, window_ns: u64, responses: &[Option<Response>]) -> Option<u64> {
    let named: BTreeMap<&str, u64> = partition
        .tasks
        .iter()
        .zip(responses)
        .map(|(task, response)| Some((task.name.as_str(), (*response)?.response_ns)))
        .collect::<Option<_>>()?;
    let mut busy_ns: u64 = 0;
    for (tasks, gang) in demand::gangs_above(partition, 0)? {
        // What runs in the window was released in it or a response before it.
        let longest_ns = tasks.iter().map(|task| named[task.name.as_str()]).max()?;
        let jobs = window_ns
            .saturating_add(longest_ns)
            .div_ceil(gang.period_ns);
        busy_ns = busy_ns.saturating_add(gang.work.total().saturating_mul(jobs));
    }
    let refills = partition
        .refill_period_ns
        .map_or(0, |period_ns| window_ns.div_ceil(period_ns) + 1);
    Some(busy_ns.saturating_add(refills.saturating_mul(partition.interrupt_ns())))
}

fn judge_task(partition: &Partition, task: &Task, response: Option<Response>) -> TaskVerdict {
    TaskVerdict {
        task: task.name.clone(),
        gang: task.gang.clone(),
        priority: task.priority,
        period_ns: task.period_ns,
        deadline_ns: task.deadline_ns,
        execution_ns: task.execution_ns,
        response,
        // Both are at most LONGEST_WINDOW_NS and a day.
        slack_ns: response
            .map(|response| task.deadline_ns.cast_signed() - response.response_ns.cast_signed()),
        unbounded: match response {
            Some(_) => None,
            None => Some(why_unbounded(partition, task)),
        },
    }
}

fn why_unbounded(partition: &Partition, task: &Task) -> Unbounded {
    let own = demand::job(partition, task);
    match (own, demand::delaying(partition, task)) {
        (Some(own), Some(others)) => Unbounded::Overload {
            utilization_ppm: others
                .iter()
                .map(|stream| ppm(stream.work.total(), stream.period_ns))
                .fold(ppm(own.total(), task.period_ns), u64::saturating_add),
        },
        _ => Unbounded::Interference,
    }
}

/// Of gangs as a whole: tasks that are released together count once, with the longest.
fn utilization_ppm(partition: &Partition) -> u64 {
    let mut alone = partition.clone();
    for task in &mut alone.tasks {
        task.interference_ns = Some(0);
    }
    let gangs = demand::gangs_above(&alone, 0).unwrap_or_default();
    gangs
        .iter()
        .map(|(_, gang)| ppm(gang.work.execution, gang.period_ns))
        .fold(0, u64::saturating_add)
}

fn ppm(part_ns: u64, whole_ns: u64) -> u64 {
    let ppm = u128::from(part_ns) * 1_000_000 / u128::from(whole_ns);
    u64::try_from(ppm).unwrap_or(u64::MAX)
}
