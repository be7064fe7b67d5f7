//! What a run of a scenario would do, without doing it.

use ringfence_record::event::Claims;
use ringfence_scenario::model::{Case, Gang, Scenario, Scheduling, Tolerance};
use serde::Serialize;

use crate::os::{budget_lines, claims, line_bytes};

/// Everything that a run would set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the modelled platform.
    pub platform: String,
    /// Simulated length of each case, in nanoseconds.
    pub duration_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// One for each case, in order.
    pub cases: Vec<CasePlan>,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CasePlan {
    /// Name.
    pub name: String,
    /// `fixed-priority` or `one-gang-at-a-time`.
    pub scheduling: &'static str,
    /// What the record will promise.
    pub claims: Claims,
    /// The gangs that take part.
    pub gangs: Vec<GangPlan>,
    /// The threads, each with the cores that it may use.
    pub threads: Vec<ThreadPlan>,
}

/// One gang of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct GangPlan {
    /// Name.
    pub name: String,
    /// Name of its partition.
    pub partition: String,
    /// Priority, 1 to 99.
    pub priority: u8,
    /// Read traffic of each best-effort core while the gang runs.
    pub read: BudgetPlan,
    /// Write traffic of each best-effort core while the gang runs.
    pub write: BudgetPlan,
}

/// A budget as it was asked for, and as it is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BudgetPlan {
    /// What the scenario asks for; `None` is unlimited.
    pub requested_bytes_per_second: Option<u64>,
    /// Whole lines a period, never more than was asked for; `None` is unlimited
    /// or, in a case without regulation, not applied.
    pub applied_lines_per_period: Option<u64>,
    /// The same in bytes per second.
    pub applied_bytes_per_second: Option<u64>,
}

/// One thread of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ThreadPlan {
    /// Name, such as `dnn/0`.
    pub name: String,
    /// Name of its gang; `None` for best-effort work.
    pub gang: Option<String>,
    /// Cores that it may use; a real-time thread has one.
    pub cores: Vec<u16>,
}

impl Plan {
    /// The plan of `scenario`.
    pub fn of(scenario: &Scenario) -> Self {
        Self {
            scenario: scenario.name.clone(),
            platform: scenario.platform.name.clone(),
            duration_ns: scenario.duration_ns,
            seed: scenario.seed,
            cases: scenario
                .cases
                .iter()
                .map(|case| plan_case(scenario, case))
                .collect(),
        }
    }
}

fn plan_case(scenario: &Scenario, case: &Case) -> CasePlan {
    let gangs: Vec<&Gang> = case
        .gangs
        .iter()
        .map(|&gang| &scenario.gangs[gang])
        .collect();
    CasePlan {
        name: case.name.clone(),
        scheduling: match case.scheduling {
            Scheduling::FixedPriority => "fixed-priority",
            Scheduling::Gang => "one-gang-at-a-time",
        },
        claims: claims(scenario, case),
        gangs: gangs
            .iter()
            .map(|gang| plan_gang(scenario, case, gang))
            .collect(),
        threads: plan_threads(scenario, case, &gangs),
    }
}

fn plan_gang(scenario: &Scenario, case: &Case, gang: &Gang) -> GangPlan {
    let Tolerance {
        read_bytes_per_second,
        write_bytes_per_second,
    } = gang.tolerance;
    let budget = |requested: Option<u64>| {
        let period_ns = scenario.regulation.period_ns;
        let line_bytes = line_bytes(scenario);
        let lines = requested
            .filter(|_| case.regulation)
            .map(|rate| budget_lines(rate, period_ns, line_bytes));
        BudgetPlan {
            requested_bytes_per_second: requested,
            applied_lines_per_period: lines,
            applied_bytes_per_second: lines.map(|lines| {
                let bytes = u128::from(lines) * u128::from(line_bytes) * 1_000_000_000;
                // Rounded down from a rate of 64 bits, so it has no more.
                (bytes / u128::from(period_ns)) as u64
            }),
        }
    };
    GangPlan {
        name: gang.name.clone(),
        partition: scenario.partitions[gang.partition].name.clone(),
        priority: gang.priority,
        read: budget(read_bytes_per_second),
        write: budget(write_bytes_per_second),
    }
}

fn plan_threads(scenario: &Scenario, case: &Case, gangs: &[&Gang]) -> Vec<ThreadPlan> {
    let mut threads = Vec::new();
    for gang in gangs {
        for task in &gang.tasks {
            threads.extend((0..task.threads).map(|thread| ThreadPlan {
                name: format!("{}/{thread}", task.name),
                gang: Some(gang.name.clone()),
                cores: vec![task.cores[usize::from(thread) % task.cores.len()]],
            }));
        }
    }
    for &entry in &case.best_effort {
        let entry = &scenario.best_effort[entry];
        threads.extend((0..entry.threads).map(|thread| ThreadPlan {
            name: format!("{}/{thread}", entry.name),
            gang: None,
            cores: if entry.pinned {
                vec![entry.cores[usize::from(thread) % entry.cores.len()]]
            } else {
                entry.cores.clone()
            },
        }));
    }
    threads
}
