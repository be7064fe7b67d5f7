//! Virtual gangs for the tasks of a scenario.

use ringfence_scenario::model::{Case, Gang, Scenario, Task, Tolerance};
use serde::Serialize;

use super::composition::{Member, Proposal, ProposedGang, ProposedTask, Slowdowns, compose};
use super::problem::{Problem, ProblemError};
use super::system::Partition;
use super::verdict::judge;

/// Virtual gangs of one partition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PartitionProposal {
    /// Name.
    pub partition: String,
    /// The gangs; `None` when there would be more than priorities.
    pub proposal: Option<Proposal>,
}

/// Proposes virtual gangs for each partition that has tasks.
///
/// Threads get cores of their own, in the order of the partition's cores. Every
/// candidate is judged by the full analysis. Tasks whose factors are not known are
/// kept apart; without memory a factor that is not stated is one.
///
/// # Errors
/// What the analysis cannot handle.
pub fn propose(problem: &Problem<'_>) -> Result<Vec<PartitionProposal>, ProblemError> {
    let indices = problem.used_partitions().into_iter();
    indices
        .map(|partition| propose_for(problem, partition))
        .collect()
}

fn propose_for(problem: &Problem<'_>, partition: usize) -> Result<PartitionProposal, ProblemError> {
    let tasks = tasks_of(problem, partition);
    let candidate = Candidate {
        problem,
        partition,
        tasks: &tasks,
    };
    let place = &problem.scenario.partitions[partition];
    let proposal = compose(
        &candidate.members()?,
        place.cores.len() as u64,
        &candidate,
        &|gangs| candidate.meets_deadlines(gangs),
    );
    Ok(PartitionProposal {
        partition: place.name.clone(),
        proposal,
    })
}

/// A task, and what its gang says about caches and memory.
struct Placed<'a> {
    task: &'a Task,
    tolerance: Tolerance,
    class_of_service: Option<usize>,
}

fn tasks_of<'a>(problem: &Problem<'a>, partition: usize) -> Vec<Placed<'a>> {
    problem
        .gangs()
        .filter(|gang| gang.partition == partition)
        .flat_map(|gang| {
            gang.tasks.iter().map(|task| Placed {
                task,
                tolerance: gang.tolerance,
                class_of_service: gang.class_of_service,
            })
        })
        .collect()
}

struct Candidate<'a> {
    problem: &'a Problem<'a>,
    partition: usize,
    tasks: &'a [Placed<'a>],
}

impl Slowdowns for Candidate<'_> {
    fn factor_milli(&self, task: &str, other: &str) -> Option<u32> {
        let has_memory = self.problem.scenario.platform.memory.is_some();
        let unknown = (!has_memory).then_some(1000);
        let placed = self.tasks.iter().find(|placed| placed.task.name == task)?;
        self.problem.factor_milli(placed.task, other).or(unknown)
    }
}

impl Candidate<'_> {
    /// The tasks with their execution times on cores of their own.
    fn members(&self) -> Result<Vec<Member>, ProblemError> {
        let alone: Vec<ProposedGang> = (0..self.tasks.len())
            .map(|member| self.alone(member))
            .collect();
        let analysed = self.analysed(&self.scenario(&alone))?;
        let tasks = self.tasks.iter().zip(analysed.tasks);
        Ok(tasks
            .map(|(Placed { task, .. }, analysed)| Member {
                name: analysed.name,
                threads: task.threads.into(),
                period_ns: task.period_ns,
                deadline_ns: analysed.deadline_ns,
                offset_ns: task.offset_ns,
                execution_ns: analysed.execution_ns,
            })
            .collect())
    }

    /// A task as the only one of its gang.
    fn alone(&self, member: usize) -> ProposedGang {
        ProposedGang {
            priority: 1,
            tasks: vec![ProposedTask {
                member,
                task: self.tasks[member].task.name.clone(),
                first_core: 0,
                execution_ns: 0,
            }],
        }
    }

    fn meets_deadlines(&self, gangs: &[ProposedGang]) -> bool {
        // What can be refused was refused before: the tasks are the same.
        let analysed = self.analysed(&self.scenario(gangs));
        analysed.is_ok_and(|partition| judge(&partition).schedulable)
    }

    /// The partition in `scenario`, with its gangs as proposed.
    fn analysed(&self, scenario: &Scenario) -> Result<Partition, ProblemError> {
        let problem = Problem {
            scenario,
            case: &scenario.cases[0],
            ..*self.problem
        };
        let others = problem.used_partitions();
        let place = others.partition_point(|&other| other < self.partition);
        Ok(problem.partitions(None)?.swap_remove(place))
    }

    /// The scenario with these gangs in the partition, and all others as they are.
    fn scenario(&self, proposed: &[ProposedGang]) -> Scenario {
        let others = self.problem.gangs();
        let mut gangs: Vec<Gang> = others
            .filter(|gang| gang.partition != self.partition)
            .cloned()
            .collect();
        gangs.extend(proposed.iter().flat_map(|gang| self.gangs(gang)));
        let mut scenario = self.problem.scenario.clone();
        scenario.cases = vec![Case {
            gangs: (0..gangs.len()).collect(),
            ..self.problem.case.clone()
        }];
        scenario.gangs = gangs;
        scenario
    }

    /// One gang a task, all of one priority, on cores of their own.
    fn gangs(&self, proposed: &ProposedGang) -> Vec<Gang> {
        let cores = &self.problem.scenario.partitions[self.partition].cores;
        let tasks = proposed.tasks.iter();
        tasks
            .map(|task| {
                let placed = &self.tasks[task.member];
                let first = task.first_core as usize;
                let count = usize::from(placed.task.threads).min(cores.len() - first);
                Gang {
                    name: placed.task.name.clone(),
                    partition: self.partition,
                    priority: proposed.priority,
                    tolerance: placed.tolerance,
                    class_of_service: placed.class_of_service,
                    tasks: vec![Task {
                        cores: cores[first..first + count].to_vec(),
                        ..placed.task.clone()
                    }],
                }
            })
            .collect()
    }
}
