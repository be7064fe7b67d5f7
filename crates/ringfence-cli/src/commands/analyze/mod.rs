//! `ringfence analyze`: whether deadlines hold, before anything runs.

mod measure;
mod text;

use std::collections::BTreeMap;

use ringfence_analysis::schedulability::comparison::{self, GlobalTask, GlobalVerdict, Policy};
use ringfence_analysis::schedulability::problem::{
    MachineClaims, Measured, Problem, ProblemError, slowed,
};
use ringfence_analysis::schedulability::propose::{self, PartitionProposal};
use ringfence_analysis::schedulability::tolerance::{self, LargestTolerance};
use ringfence_analysis::schedulability::verdict::{PartitionVerdict, judge};
use ringfence_scenario::model::{Case, Scenario, Scheduling};
use ringfence_scenario::{Disk, Factors};
use ringfence_sim::plan::plan;
use serde::Serialize;

use crate::arguments::Analyze;
use crate::commands::selection;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Version of the JSON form.
const FORMAT: u32 = 1;

/// What the command found.
#[derive(Debug, Serialize)]
pub struct Analysis {
    /// Version of this form.
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the case.
    pub case: String,
    /// Name of the platform.
    pub platform: String,
    /// Whether all deadlines hold.
    pub schedulable: bool,
    /// Each partition that has tasks.
    pub partitions: Vec<PartitionVerdict>,
    /// The most that each gang can tolerate; empty where nothing is regulated.
    pub largest_tolerances: Vec<LargestTolerance>,
    /// What was measured, by task.
    pub measured: BTreeMap<String, Measured>,
    /// Other ways of scheduling, if asked for.
    pub comparison: Vec<Comparison>,
    /// Virtual gangs, if asked for.
    pub proposals: Vec<PartitionProposal>,
    /// What the figures leave out.
    pub notes: Vec<String>,
}

/// What other ways of scheduling could guarantee on the cores of one partition.
#[derive(Debug, Serialize)]
pub struct Comparison {
    /// Name of the partition.
    pub partition: String,
    /// How its tasks share the cores.
    pub policy: Policy,
    /// Whether execution times allow for the slowdown by all other tasks.
    pub slowed_by_others: bool,
    /// Names of the tasks, in the order of the responses.
    pub tasks: Vec<String>,
    /// What the test says.
    #[serde(flatten)]
    pub verdict: GlobalVerdict,
}

/// Analyses a case of a scenario, or measures its tasks in pairs.
pub fn run(arguments: &Analyze) -> Result<Outcome, Failure> {
    let scenario = selection::load(&arguments.selection, &Disk)?;
    let case = one_gang_case(&scenario)?;
    if arguments.measure_pairs {
        let factors = measure::pairs(&scenario, case, arguments.quiet)?;
        print_text(&factors.to_toml())?;
        return Ok(Outcome::Pass);
    }
    let measured = match arguments.measure {
        true => measure::alone(&scenario, case, arguments)?,
        false => BTreeMap::new(),
    };
    let factors = match &arguments.factors {
        Some(path) => Factors::load(path)?,
        None => Factors::default(),
    };
    let problem = Problem {
        scenario: &scenario,
        case,
        claims: claims(&scenario, case)?,
        measured: &measured,
        factors: &factors,
    };
    let analysis = analyse(&problem, arguments).map_err(|e| Failure::Error(e.to_string()))?;
    match arguments.json {
        true => print_json(&analysis)?,
        false => print_text(&text::text(&analysis))?,
    }
    Ok(match analysis.schedulable {
        true => Outcome::Pass,
        false => Outcome::BoundMissed,
    })
}

fn one_gang_case(scenario: &Scenario) -> Result<&Case, Failure> {
    let mut cases = scenario.cases.iter();
    cases
        .find(|case| case.scheduling == Scheduling::Gang)
        .ok_or_else(|| {
            let names: Vec<&str> = scenario.cases.iter().map(|c| c.name.as_str()).collect();
            Failure::Error(format!(
                "found no case that runs one gang at a time among {}; expected one, such as the \
                 preset `rt-gang` or a case with scheduling = \"gang\"",
                names.join(", ")
            ))
        })
}

/// What the simulator promises about the machine in `case`.
fn claims(scenario: &Scenario, case: &Case) -> Result<MachineClaims, Failure> {
    let plan = plan(scenario).map_err(|error| Failure::Error(error.to_string()))?;
    let planned = plan.cases.iter().find(|planned| planned.name == case.name);
    let claims = planned.map(|planned| &planned.claims);
    Ok(MachineClaims {
        hand_over_ns: claims.map_or(0, |claims| claims.hand_over_ns),
        quantum_bytes: claims
            .and_then(|claims| claims.budgets.as_ref())
            .map_or(0, |budgets| budgets.quantum_bytes),
    })
}

fn analyse(problem: &Problem<'_>, arguments: &Analyze) -> Result<Analysis, ProblemError> {
    let partitions: Vec<PartitionVerdict> = problem.partitions(None)?.iter().map(judge).collect();
    Ok(Analysis {
        format: FORMAT,
        scenario: problem.scenario.name.clone(),
        case: problem.case.name.clone(),
        platform: problem.scenario.platform.name.clone(),
        schedulable: partitions.iter().all(|partition| partition.schedulable),
        largest_tolerances: tolerance::largest(problem)?,
        measured: problem.measured.clone(),
        comparison: match arguments.compare {
            true => compare(problem, &partitions),
            false => Vec::new(),
        },
        proposals: match arguments.compose {
            true => propose::propose(problem)?,
            false => Vec::new(),
        },
        notes: problem.notes(),
        partitions,
    })
}

/// Both policies on each partition, with execution times alone and, where factors
/// are known, with those under the slowdown by all other tasks.
fn compare(problem: &Problem<'_>, partitions: &[PartitionVerdict]) -> Vec<Comparison> {
    let mut comparisons = Vec::new();
    for (index, verdict) in problem.used_partitions().into_iter().zip(partitions) {
        let cores = problem.scenario.partitions[index].cores.len() as u64;
        for policy in [Policy::GlobalFixedPriority, Policy::GlobalGangFixedPriority] {
            for slowed_by_others in [false, true] {
                let tasks = global_tasks(problem, verdict, slowed_by_others);
                comparisons.push(Comparison {
                    partition: verdict.partition.clone(),
                    policy,
                    slowed_by_others,
                    tasks: tasks.iter().map(|task| task.name.clone()).collect(),
                    verdict: comparison::judge(&tasks, cores, policy),
                });
            }
        }
    }
    comparisons
}

fn global_tasks(
    problem: &Problem<'_>,
    verdict: &PartitionVerdict,
    slowed_by_others: bool,
) -> Vec<GlobalTask> {
    let given = || problem.gangs().flat_map(|gang| &gang.tasks);
    verdict
        .tasks
        .iter()
        .filter_map(|analysed| {
            let task = given().find(|task| task.name == analysed.task)?;
            let others = given().filter(|_| slowed_by_others);
            let execution_ns = others
                .filter_map(|other| problem.factor_milli(task, &other.name))
                .fold(analysed.execution_ns, slowed);
            Some(GlobalTask {
                name: task.name.clone(),
                priority: analysed.priority,
                threads: u64::from(task.threads).min(task.cores.len() as u64),
                period_ns: task.period_ns,
                deadline_ns: analysed.deadline_ns,
                execution_ns,
            })
        })
        .collect()
}
