//! Who runs in a case: gangs, tasks and threads, numbered as in the record.

use std::ops::Range;

use ringfence_record::event;
use ringfence_scenario::model::{BestEffort, Case, ClassOfService, Gang, Program, Scenario, Task};

/// Everything that runs in one case.
#[derive(Debug)]
pub struct Workload<'a> {
    /// Gangs that take part, in the order of the case.
    pub gangs: Vec<&'a Gang>,
    /// Their tasks.
    pub tasks: Vec<TaskEntry<'a>>,
    /// Best-effort entries that take part.
    pub best_effort: Vec<&'a BestEffort>,
    /// Threads of the tasks, then of the best-effort entries; thread `i` executes stream `i`.
    pub threads: Vec<ThreadEntry<'a>>,
}

/// A task of a [`Workload`].
#[derive(Debug)]
pub struct TaskEntry<'a> {
    /// The task.
    pub task: &'a Task,
    /// Index into [`Workload::gangs`].
    pub gang: usize,
    /// Its threads, as indices into [`Workload::threads`].
    pub threads: Range<usize>,
}

/// A thread of a [`Workload`].
#[derive(Debug)]
pub struct ThreadEntry<'a> {
    /// Number of the thread within its task or best-effort entry.
    pub index: u16,
    /// Number of threads of the task or entry.
    pub siblings: u16,
    /// What it executes.
    pub program: &'a Program,
    /// Whether a deadline stands behind it.
    pub class: Class,
}

/// Scheduling class of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Class {
    /// Fixed priority on one core.
    RealTime {
        /// Index into [`Workload::tasks`].
        task: usize,
        /// Priority of its gang.
        priority: u8,
        /// Partition of its gang.
        partition: usize,
        /// Core that it never leaves.
        core: usize,
    },
    /// Fair share of what is left.
    BestEffort {
        /// Index into [`Workload::best_effort`].
        entry: usize,
        /// Cores that it may use, ascending.
        cores: Vec<u16>,
    },
}

impl Class {
    /// Cores that a thread of this class may use, ascending.
    pub fn cores(&self) -> Vec<u16> {
        match self {
            Self::RealTime { core, .. } => vec![narrow(*core)],
            Self::BestEffort { cores, .. } => cores.clone(),
        }
    }
}

/// The record numbers threads, tasks and gangs in 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the case has {threads} threads; a record numbers at most 65535, use fewer")]
pub struct TooManyThreads {
    /// Threads of the case.
    pub threads: usize,
}

impl<'a> Workload<'a> {
    /// Collects who takes part in `case`.
    ///
    /// # Errors
    /// [`TooManyThreads`]; every task has a thread, so tasks fit whenever threads do.
    pub fn new(scenario: &'a Scenario, case: &Case) -> Result<Self, TooManyThreads> {
        let gangs: Vec<&Gang> = case.gangs.iter().map(|&g| &scenario.gangs[g]).collect();
        let best_effort: Vec<&BestEffort> = case
            .best_effort
            .iter()
            .map(|&entry| &scenario.best_effort[entry])
            .collect();
        let (mut tasks, mut threads) = (Vec::new(), Vec::new());
        for (index, gang) in gangs.iter().enumerate() {
            for task in &gang.tasks {
                let first = threads.len();
                threads.extend(real_time_threads(gang, task, tasks.len()));
                tasks.push(TaskEntry {
                    task,
                    gang: index,
                    threads: first..threads.len(),
                });
            }
        }
        for (entry, work) in best_effort.iter().enumerate() {
            threads.extend(best_effort_threads(work, entry));
        }
        if threads.len() > usize::from(u16::MAX) {
            return Err(TooManyThreads {
                threads: threads.len(),
            });
        }
        Ok(Self {
            gangs,
            tasks,
            best_effort,
            threads,
        })
    }

    /// Number of `thread`'s task, or of its best-effort entry counted after all tasks.
    pub fn owner(&self, thread: &ThreadEntry<'_>) -> usize {
        match thread.class {
            Class::RealTime { task, .. } => task,
            Class::BestEffort { entry, .. } => self.tasks.len() + entry,
        }
    }

    /// Class of service of `thread`'s gang or best-effort entry; `None` is all of
    /// the cache, also when `case` does not allocate it.
    pub fn class_of_service<'s>(
        &self,
        scenario: &'s Scenario,
        case: &Case,
        thread: &ThreadEntry<'_>,
    ) -> Option<&'s ClassOfService> {
        let class = match thread.class {
            Class::RealTime { task, .. } => self.gangs[self.tasks[task].gang].class_of_service,
            Class::BestEffort { entry, .. } => self.best_effort[entry].class_of_service,
        };
        class
            .filter(|_| case.cache_allocation)
            .map(|class| &scenario.classes_of_service[class])
    }

    /// Name of the task or best-effort entry with number `owner`.
    pub fn owner_name(&self, owner: usize) -> &'a str {
        match owner.checked_sub(self.tasks.len()) {
            None => &self.tasks[owner].task.name,
            Some(entry) => &self.best_effort[entry].name,
        }
    }

    /// Name of a thread, such as `dnn/0`.
    pub fn thread_name(&self, thread: &ThreadEntry<'_>) -> String {
        let owner = self.owner_name(self.owner(thread));
        format!("{owner}/{}", thread.index)
    }

    /// The opening event of the case's section.
    pub fn declare(&self, scenario: &Scenario, case: &Case, claims: event::Claims) -> event::Case {
        event::Case {
            name: case.name.clone(),
            duration_ns: scenario.duration_ns,
            cores: scenario.platform.cores,
            claims,
            partitions: scenario
                .partitions
                .iter()
                .map(|partition| event::Partition {
                    name: partition.name.clone(),
                    cores: partition.cores.clone(),
                })
                .collect(),
            gangs: self.gangs.iter().map(|gang| declare_gang(gang)).collect(),
            tasks: self.tasks.iter().map(declare_task).collect(),
            threads: self
                .threads
                .iter()
                .map(|t| self.declare_thread(t))
                .collect(),
            classes_of_service: self.declare_classes(scenario, case),
            accuracy: Default::default(),
        }
    }

    /// The classes of service that threads of `case` are in.
    fn declare_classes(&self, scenario: &Scenario, case: &Case) -> Vec<event::ClassOfService> {
        let classes = scenario.classes_of_service.iter().map(|class| {
            let is_in = |thread: &ThreadEntry<'_>| {
                let of_thread = self.class_of_service(scenario, case, thread);
                of_thread.is_some_and(|of_thread| of_thread.name == class.name)
            };
            let threads = (0..).zip(&self.threads);
            event::ClassOfService {
                name: class.name.clone(),
                ways: class.ways(),
                colours: class.colours.clone(),
                threads: threads
                    .filter_map(|(index, thread)| is_in(thread).then_some(index))
                    .collect(),
            }
        });
        classes.filter(|class| !class.threads.is_empty()).collect()
    }

    fn declare_thread(&self, thread: &ThreadEntry<'_>) -> event::Thread {
        event::Thread {
            name: self.thread_name(thread),
            task: match thread.class {
                Class::RealTime { task, .. } => Some(narrow(task)),
                Class::BestEffort { .. } => None,
            },
        }
    }
}

fn declare_gang(gang: &Gang) -> event::Gang {
    event::Gang {
        name: gang.name.clone(),
        partition: narrow(gang.partition),
        priority: gang.priority,
        tolerance_read_bytes_per_second: gang.tolerance.read_bytes_per_second,
        tolerance_write_bytes_per_second: gang.tolerance.write_bytes_per_second,
    }
}

fn declare_task(entry: &TaskEntry<'_>) -> event::Task {
    event::Task {
        name: entry.task.name.clone(),
        gang: narrow(entry.gang),
        period_ns: entry.task.period_ns,
        deadline_ns: entry.task.deadline_ns,
        offset_ns: entry.task.offset_ns,
        sporadic: false,
    }
}

fn real_time_threads<'a>(
    gang: &Gang,
    task: &'a Task,
    number: usize,
) -> impl Iterator<Item = ThreadEntry<'a>> {
    let (priority, partition) = (gang.priority, gang.partition);
    (0..task.threads).map(move |index| ThreadEntry {
        index,
        siblings: task.threads,
        program: &task.program,
        class: Class::RealTime {
            task: number,
            priority,
            partition,
            core: usize::from(task.cores[usize::from(index) % task.cores.len()]),
        },
    })
}

fn best_effort_threads<'a>(
    work: &'a BestEffort,
    entry: usize,
) -> impl Iterator<Item = ThreadEntry<'a>> {
    (0..work.threads).map(move |index| ThreadEntry {
        index,
        siblings: work.threads,
        program: &work.program,
        class: Class::BestEffort {
            entry,
            cores: if work.pinned {
                vec![work.cores[usize::from(index) % work.cores.len()]]
            } else {
                work.cores.clone()
            },
        },
    })
}

/// Fits: `Workload::new` counts the threads, and there are no more tasks than threads.
fn narrow(index: usize) -> u16 {
    u16::try_from(index).expect("an index that was checked")
}
