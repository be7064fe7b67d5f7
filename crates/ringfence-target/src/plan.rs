//! What a run of a scenario would do, without doing it.

use ringfence_record::event::Claims;
use ringfence_scenario::model::{Case, ClassOfService, Gang, Scenario, Scheduling, Tolerance};
use ringfence_scenario::vm::ReservationBounds;
use serde::Serialize;

use crate::budget::{budget_lines, line_bytes};
use crate::workload::{Class, ThreadEntry, TooManyThreads, Workload};

/// Everything that a run would set up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Plan {
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the platform.
    pub platform: String,
    /// Length of each case, in nanoseconds.
    pub duration_ns: u64,
    /// Seed of every random choice.
    pub seed: u64,
    /// One for each case, in order.
    pub cases: Vec<CasePlan>,
}

/// What best-effort work is regulated by while gangs run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RegulatedBy {
    /// Nothing.
    Nothing,
    /// Its memory traffic, in budgets of whole lines a period.
    Traffic,
    /// Time (duty cycle): what a gang tolerates becomes a share of each period, by a figure
    /// that only the run measures.
    Time,
    /// Events that are traffic by what only the run measures; or time, as above, if none are asked
    /// for and none can be counted.
    Events,
}

/// One case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CasePlan {
    /// Name.
    pub name: String,
    /// `fixed-priority` or `one-gang-at-a-time`.
    pub scheduling: &'static str,
    /// How the tolerances of its gangs are applied.
    pub regulated_by: RegulatedBy,
    /// What the record will promise.
    pub claims: Claims,
    /// The shares of the last-level cache that it has; none without cache allocation.
    pub classes_of_service: Vec<ClassPlan>,
    /// The VMs that take part.
    pub vms: Vec<VmPlan>,
    /// The gangs that take part; a VM's tasks are one.
    pub gangs: Vec<GangPlan>,
    /// The threads, each with the cores that it may use.
    pub threads: Vec<ThreadPlan>,
}

/// A share of the last-level cache.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClassPlan {
    /// Name.
    pub name: String,
    /// Ways that its lines may take, ascending.
    pub ways: Vec<u16>,
    /// Page colours of its memory, ascending.
    pub colours: Vec<u16>,
}

/// One VM of a case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VmPlan {
    /// Name.
    pub name: String,
    /// Core of each vCPU.
    pub cores: Vec<u16>,
    /// Page colours of its memory, ascending; `None` is whatever comes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colours: Option<Vec<u16>>,
    /// What it is held to; `None` is nothing in this case.
    pub reservation: Option<ReservationPlan>,
}

/// A reservation as it was asked for, and as it is applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReservationPlan {
    /// What the scenario asks for; `None` if it asks for events.
    pub requested_bytes_per_second: Option<u64>,
    /// Memory events of all vCPUs together in a period.
    pub applied_events_per_period: u64,
    /// How often it is refilled, in nanoseconds.
    pub period_ns: u64,
    /// Events of each vCPU in a period.
    pub shares_events: Vec<u64>,
    /// Whether its vCPUs lend what they will not use.
    pub lends: bool,
    /// Events that a vCPU borrows at once; 0 is never.
    pub borrows_events: u64,
    /// How it can be changed; `None` is not at all.
    pub changes: Option<ChangesPlan>,
}

/// How a reservation can be changed at run time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChangesPlan {
    /// Names of the VMs of the case that may.
    pub by: Vec<String>,
    /// Fewest and most events of all vCPUs together in a period.
    pub events_per_period: [u64; 2],
    /// Shortest and longest period, in nanoseconds.
    pub period_ns: [u64; 2],
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
    /// or, in a case that is not regulated by traffic, not known.
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
    /// Name of its class of service; `None` is all of the cache.
    pub class_of_service: Option<String>,
}

/// A case that cannot be planned.
#[derive(Debug, thiserror::Error)]
#[error("case `{case}`: {cause}")]
pub struct PlanError {
    /// Name of the case.
    pub case: String,
    /// Why.
    pub cause: TooManyThreads,
}

impl Plan {
    /// The plan of `scenario` on a target that promises `claims` of a case, and regulates
    /// those with regulation by `regulated_by`.
    ///
    /// # Errors
    /// The first case that has too many threads to be run.
    pub fn of(
        scenario: &Scenario,
        regulated_by: RegulatedBy,
        claims: impl Fn(&Case) -> Claims,
    ) -> Result<Self, PlanError> {
        let plan = |case: &Case| {
            let regulated_by = match case.regulation {
                true => regulated_by,
                false => RegulatedBy::Nothing,
            };
            plan_case(scenario, case, regulated_by, claims(case)).map_err(|cause| PlanError {
                case: case.name.clone(),
                cause,
            })
        };
        Ok(Self {
            scenario: scenario.name.clone(),
            platform: scenario.platform.name.clone(),
            duration_ns: scenario.duration_ns,
            seed: scenario.seed,
            cases: scenario.cases.iter().map(plan).collect::<Result<_, _>>()?,
        })
    }
}

fn plan_case(
    scenario: &Scenario,
    case: &Case,
    regulated_by: RegulatedBy,
    claims: Claims,
) -> Result<CasePlan, TooManyThreads> {
    let workload = Workload::new(scenario, case)?;
    Ok(CasePlan {
        name: case.name.clone(),
        scheduling: match case.scheduling {
            Scheduling::FixedPriority => "fixed-priority",
            Scheduling::Gang => "one-gang-at-a-time",
        },
        regulated_by,
        claims,
        classes_of_service: match case.cache_allocation {
            true => scenario.classes_of_service.iter().map(plan_class).collect(),
            false => Vec::new(),
        },
        vms: case
            .vms
            .iter()
            .map(|&vm| plan_vm(scenario, case, vm))
            .collect(),
        gangs: workload
            .gangs
            .iter()
            .map(|gang| plan_gang(scenario, regulated_by, gang))
            .collect(),
        threads: workload
            .threads
            .iter()
            .map(|thread| plan_thread(scenario, case, &workload, thread))
            .collect(),
    })
}

fn plan_class(class: &ClassOfService) -> ClassPlan {
    ClassPlan {
        name: class.name.clone(),
        ways: class.ways(),
        colours: class.colours.clone(),
    }
}

fn plan_vm(scenario: &Scenario, case: &Case, number: usize) -> VmPlan {
    let vm = &scenario.vms[number];
    let colours = vm.colours.clone().filter(|_| case.cache_allocation);
    let reservation = vm.reservation.as_ref().filter(|_| case.reservations);
    let changers = case.vms.iter().map(|&vm| &scenario.vms[vm]);
    let changers = changers.filter(|vm| vm.may_change.contains(&number));
    let changes = |bounds: &ReservationBounds| ChangesPlan {
        by: changers.map(|vm| vm.name.clone()).collect(),
        events_per_period: [*bounds.budget_events.start(), *bounds.budget_events.end()],
        period_ns: [*bounds.period_ns.start(), *bounds.period_ns.end()],
    };
    VmPlan {
        name: vm.name.clone(),
        cores: vm.cores.clone(),
        colours,
        reservation: reservation.map(|reservation| ReservationPlan {
            requested_bytes_per_second: reservation.requested_bytes_per_second,
            applied_events_per_period: reservation.budget_events,
            period_ns: reservation.period_ns,
            shares_events: reservation.shares.clone(),
            lends: reservation.lends,
            borrows_events: reservation.borrows_events,
            changes: reservation.bounds.as_ref().map(changes),
        }),
    }
}

fn plan_gang(scenario: &Scenario, regulated_by: RegulatedBy, gang: &Gang) -> GangPlan {
    let Tolerance {
        read_bytes_per_second,
        write_bytes_per_second,
    } = gang.tolerance;
    let budget = |requested: Option<u64>| {
        let period_ns = scenario.regulation.period_ns;
        let line_bytes = line_bytes(scenario);
        let lines = requested
            .filter(|_| regulated_by == RegulatedBy::Traffic)
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

fn plan_thread(
    scenario: &Scenario,
    case: &Case,
    workload: &Workload<'_>,
    thread: &ThreadEntry<'_>,
) -> ThreadPlan {
    let class = workload.class_of_service(scenario, case, thread);
    ThreadPlan {
        name: workload.thread_name(thread),
        gang: match thread.class {
            Class::RealTime { task, .. } => {
                let gang = workload.gangs[workload.tasks[task].gang];
                Some(gang.name.clone())
            }
            Class::BestEffort { .. } => None,
        },
        cores: thread.class.cores(),
        class_of_service: class.map(|class| class.name.clone()),
    }
}
