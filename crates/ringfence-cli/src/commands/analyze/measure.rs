//! Execution times and slowdowns for `ringfence analyze`, from simulation.

use std::collections::BTreeMap;

use ringfence_analysis::case::CaseRun;
use ringfence_analysis::run::Run;
use ringfence_analysis::schedulability::problem::Measured;
use ringfence_record::Writer;
use ringfence_record::event::Header;
use ringfence_scenario::Factors;
use ringfence_scenario::model::{
    BestEffort, Case, Gang, Overrun, Program, Scenario, Scheduling, Task,
};
use ringfence_sim::run::{Progress, RunOptions};

use crate::arguments::Analyze;
use crate::commands::run::machine_threads;
use crate::outcome::Failure;
use crate::progress::CaseBars;

/// Every task of `case` that is not a compute program, alone on the machine and, if
/// asked for, beside the case's best-effort work.
pub fn alone(
    scenario: &Scenario,
    case: &Case,
    arguments: &Analyze,
) -> Result<BTreeMap<String, Measured>, Failure> {
    let mut lone = without_work(scenario);
    lone.best_effort = scenario.best_effort.clone();
    for (gang, task) in tasks(scenario, case) {
        if matches!(task.program, Program::Compute(_)) {
            continue;
        }
        lone.gangs.push(gang_of(gang, task.clone()));
        let index = lone.gangs.len() - 1;
        lone.cases.push(side_by_side(case, &task.name, index, None));
        if arguments.measure_interference {
            lone.cases.push(Case {
                name: format!("{} beside best effort", task.name),
                gangs: vec![index],
                ..case.clone()
            });
        }
    }
    let runs = simulate(&lone, arguments.quiet)?;
    let runs_of_task = 1 + usize::from(arguments.measure_interference);
    let measured = lone
        .gangs
        .iter()
        .zip(runs.chunks(runs_of_task))
        .map(|(gang, runs)| {
            let execution_ns = longest_ns(&runs[0])?;
            let beside = runs.get(1).map(longest_ns).transpose()?;
            let seen = Measured {
                execution_ns,
                llc_accesses: llc_accesses(&runs[0]),
                interference_ns: beside.map(|ns| ns.saturating_sub(execution_ns)),
            };
            Ok((gang.tasks[0].name.clone(), seen))
        });
    measured.collect()
}

/// How much every task of `case` is slowed down by every other task of its
/// partition that fits beside it, running without a break.
pub fn pairs(scenario: &Scenario, case: &Case, quiet: bool) -> Result<Factors, Failure> {
    let mut paired = without_work(scenario);
    let mut rows: Vec<(&str, Option<&str>)> = Vec::new();
    for (gang, task) in tasks(scenario, case) {
        let cores = &scenario.partitions[gang.partition].cores;
        let own = usize::from(task.threads);
        if own > cores.len() {
            continue;
        }
        let mut moved = task.clone();
        moved.cores = cores[..own].to_vec();
        paired.gangs.push(gang_of(gang, moved));
        let index = paired.gangs.len() - 1;
        paired
            .cases
            .push(side_by_side(case, &task.name, index, None));
        rows.push((&task.name, None));
        for (other_gang, other) in tasks(scenario, case) {
            let needed = own + usize::from(other.threads);
            let together = other_gang.partition == gang.partition && needed <= cores.len();
            if other.name == task.name || !together {
                continue;
            }
            paired
                .best_effort
                .push(endless(other_gang, other, &cores[own..needed]));
            let name = format!("{} beside {}", task.name, other.name);
            let entry = paired.best_effort.len() - 1;
            paired
                .cases
                .push(side_by_side(case, &name, index, Some(entry)));
            rows.push((&task.name, Some(&other.name)));
        }
    }
    let runs = simulate(&paired, quiet)?;
    let mut factors = Factors::default();
    let mut solo_ns = 1;
    for ((task, other), run) in rows.into_iter().zip(&runs) {
        let seen_ns = longest_ns(run)?;
        match other {
            None => solo_ns = seen_ns.max(1),
            Some(other) => factors.set(task, other, factor_milli(seen_ns, solo_ns)),
        }
    }
    Ok(factors)
}

/// How many times longer, in thousandths, rounded up, as a scenario may state it.
fn factor_milli(seen_ns: u64, solo_ns: u64) -> u32 {
    let factor = (u128::from(seen_ns) * 1000).div_ceil(solo_ns.into());
    u32::try_from(factor)
        .unwrap_or(u32::MAX)
        .clamp(1_000, 1_000_000)
}

fn tasks<'a>(scenario: &'a Scenario, case: &'a Case) -> impl Iterator<Item = (&'a Gang, &'a Task)> {
    let gangs = case.gangs.iter().map(|&gang| &scenario.gangs[gang]);
    gangs.flat_map(|gang| gang.tasks.iter().map(move |task| (gang, task)))
}

/// The machine of `scenario`, and nothing to run.
fn without_work(scenario: &Scenario) -> Scenario {
    let mut empty = scenario.clone();
    empty.gangs.clear();
    empty.best_effort.clear();
    empty.cases.clear();
    empty
}

/// `task` alone in its gang. A job that is late makes its successors drop out, so
/// that responses are execution times and not waiting.
fn gang_of(gang: &Gang, task: Task) -> Gang {
    Gang {
        name: task.name.clone(),
        tasks: vec![Task {
            overrun: Overrun::Skip,
            ..task
        }],
        ..gang.clone()
    }
}

fn endless(gang: &Gang, task: &Task, cores: &[u16]) -> BestEffort {
    BestEffort {
        name: task.name.clone(),
        threads: task.threads,
        cores: cores.to_vec(),
        pinned: true,
        class_of_service: gang.class_of_service,
        program: task.program.clone(),
    }
}

/// A gang and an entry of best-effort work, in the shares of the cache that `case` gives them.
fn side_by_side(case: &Case, name: &str, gang: usize, best_effort: Option<usize>) -> Case {
    Case {
        name: name.to_owned(),
        scheduling: Scheduling::FixedPriority,
        regulation: false,
        interference: true,
        cache_allocation: case.cache_allocation,
        gangs: vec![gang],
        best_effort: best_effort.into_iter().collect(),
        vms: Vec::new(),
        reservations: false,
    }
}

/// The cases of `scenario`, run and read back.
fn simulate(scenario: &Scenario, quiet: bool) -> Result<Vec<CaseRun>, Failure> {
    if scenario.cases.is_empty() {
        return Ok(Vec::new());
    }
    let names = scenario.cases.iter().map(|case| case.name.as_str());
    let bars = CaseBars::new(names, scenario.duration_ns, quiet);
    let options = RunOptions {
        threads: machine_threads(),
        progress: &|progress: Progress| bars.reached(progress.case, progress.simulated_ns),
        fault: None,
    };
    let record = record(scenario, &options);
    bars.clear();
    let run = Run::read(&record.map_err(|error| Failure::Error(error.to_string()))?[..])
        .map_err(|error| Failure::Error(error.to_string()))?;
    let cases = run.cases.into_iter();
    cases
        .map(|case| case.map_err(|error| Failure::Error(error.to_string())))
        .collect()
}

fn record(
    scenario: &Scenario,
    options: &RunOptions<'_>,
) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut writer = Writer::new(Vec::new(), &Header::default())?;
    ringfence_sim::run::run(scenario, options, &mut writer)?;
    Ok(writer.finish()?)
}

/// Longest response of the only task of `run`.
fn longest_ns(run: &CaseRun) -> Result<u64, Failure> {
    let jobs = run.jobs.iter().flatten();
    jobs.filter_map(|job| job.response_ns())
        .max()
        .ok_or_else(|| {
            Failure::Error(format!(
                "in simulation, `{}` finishes no job; give it a longer --duration",
                run.case.name
            ))
        })
}

/// Accesses to the LLC from the core with most, for each finished job, rounded up.
fn llc_accesses(run: &CaseRun) -> u64 {
    let totals = run.cores.iter().filter_map(|core| core.samples.last());
    let most = totals.map(|sample| sample.counters.llc_accesses).max();
    let jobs = run.jobs.iter().flatten();
    let finished = jobs.filter(|job| job.response_ns().is_some()).count() as u64;
    most.unwrap_or(0).div_ceil(finished.max(1))
}
