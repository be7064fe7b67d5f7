//! Where a scenario runs, and what is promised there.

use std::fmt::Display;

use clap::ValueEnum;
use ringfence_linux::run::{CaseError, Mode, RegulateBy, RunError, WakeUps, Wanted, WantedWakeUps};
use ringfence_scenario::model::Scenario;
use ringfence_scenario::quantity;
use ringfence_scenario::vm::{Reservation, Vm};
use ringfence_target::plan::{Plan, RegulatedBy};

use crate::arguments::{self, GangScheduler, TargetChoice};
use crate::outcome::Failure;

/// Where a scenario runs.
#[derive(Debug, Clone)]
pub enum Target {
    /// On the modelled board.
    Sim,
    /// On this machine.
    Linux(Linux),
    /// Under our hypervisor, in QEMU.
    Hyp,
}

/// How it is run on this machine; see [`ringfence_linux::run::RunOptions`].
#[derive(Debug, Clone)]
pub struct Linux {
    /// Who keeps gangs apart.
    pub mode: Mode,
    /// Who tells which threads are awake.
    pub wake_ups: WakeUps,
    /// What is promised of hand-overs, if it is not what can be expected.
    pub hand_over_ns: Option<u64>,
    /// What best-effort work is held to.
    pub regulate_by: RegulateBy,
}

impl Target {
    /// What the command line chooses for a scenario.
    ///
    /// # Errors
    /// A flag of another target, no time, or a scenario that cannot be run there.
    pub fn of(choice: &TargetChoice, scenario: &Scenario) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::Error(format!("--hand-over: {problem}"));
        refuse_linux_flags(choice)?;
        let hand_over_ns = choice.hand_over.as_deref().map(|text| {
            quantity::parse_command_line_time(text).map_err(|problem| wrong(problem.to_string()))
        });
        match (choice.target, hand_over_ns.transpose()?) {
            (arguments::Target::Sim, None) => simulated(scenario),
            (arguments::Target::Hyp, None) => {
                ringfence_hyp::run::plan(scenario)?;
                Ok(Self::Hyp)
            }
            (arguments::Target::Sim, Some(_)) => Err(wrong(
                "found it with --target sim, which knows it from the platform; use --target linux"
                    .into(),
            )),
            (arguments::Target::Hyp, Some(_)) => Err(wrong(
                "found it with --target hyp, where nothing is handed over; use --target linux"
                    .into(),
            )),
            (arguments::Target::Linux, hand_over_ns) => {
                let mode = mode(choice.gang_scheduler, scenario)?;
                Ok(Self::Linux(Linux {
                    mode,
                    wake_ups: wake_ups(choice.wake_ups, mode)?,
                    hand_over_ns,
                    regulate_by: choice.regulate_by.clone().unwrap_or_default(),
                }))
            }
        }
    }

    /// Its name in records.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Linux(_) => "linux",
            Self::Hyp => "hyp",
        }
    }

    /// The flags that choose it, each with its value; none for what is chosen without any.
    pub fn flags(choice: &TargetChoice) -> Vec<String> {
        let scheduler = choice.gang_scheduler.and_then(|it| it.to_possible_value());
        let scheduler = scheduler.map(|it| format!("--gang-scheduler {}", it.get_name()));
        let wake_ups = choice.wake_ups.and_then(|it| it.to_possible_value());
        let wake_ups = wake_ups.map(|it| format!("--wake-ups {}", it.get_name()));
        let hand_over = choice.hand_over.as_ref();
        let hand_over = hand_over.map(|text| format!("--hand-over {text}"));
        let regulate_by = choice.regulate_by.as_ref();
        let regulate_by = regulate_by.map(|what| format!("--regulate-by {what}"));
        let all = scheduler.into_iter().chain(wake_ups);
        let all = all.chain(hand_over).chain(regulate_by);
        all.collect()
    }

    /// What a run of `scenario` would do there.
    ///
    /// # Errors
    /// A case has too many threads to be run.
    pub fn plan(&self, scenario: &Scenario) -> Result<Plan, Failure> {
        let plan = match self {
            Self::Sim => ringfence_sim::plan::plan(scenario),
            Self::Linux(linux) => Plan::of(scenario, linux.regulated_by(), |case| {
                ringfence_linux::run::claims(scenario, case, linux.mode, linux.hand_over_ns)
            }),
            // Guests do what they do: the work of a simulation is not theirs.
            Self::Hyp => Plan::of(&without_work(scenario), RegulatedBy::Nothing, |case| {
                ringfence_hyp::record::claims(scenario, case)
            }),
        };
        plan.map_err(|error| Failure::Error(error.to_string()))
    }
}

impl Linux {
    /// What can be said of it before the run.
    fn regulated_by(&self) -> RegulatedBy {
        match (self.mode, &self.regulate_by) {
            (Mode::SchedExt, RegulateBy::Auto | RegulateBy::Events(_)) => RegulatedBy::Events,
            _ => RegulatedBy::Time,
        }
    }
}

/// Flags of which only Linux has more than one value.
fn refuse_linux_flags(choice: &TargetChoice) -> Result<(), Failure> {
    let (name, whys) = match choice.target {
        arguments::Target::Linux => return Ok(()),
        arguments::Target::Sim => {
            let whys = ["has one only", "knows all of them", "counts all traffic"];
            ("sim", whys)
        }
        arguments::Target::Hyp => {
            let whys = [
                "has no gangs",
                "has no threads",
                "counts what its platform says",
            ];
            ("hyp", whys)
        }
    };
    let given = [
        ("--gang-scheduler", choice.gang_scheduler.is_some()),
        ("--wake-ups", choice.wake_ups.is_some()),
        ("--regulate-by", choice.regulate_by.is_some()),
    ];
    match given.iter().zip(whys).find(|((_, is_given), _)| *is_given) {
        Some(((flag, _), why)) => Err(Failure::Error(format!(
            "{flag}: found it with --target {name}, which {why}; use --target linux"
        ))),
        None => Ok(()),
    }
}

/// The scenario with no work of a simulation.
fn without_work(scenario: &Scenario) -> Scenario {
    let mut scenario = scenario.clone();
    for case in &mut scenario.cases {
        case.gangs.clear();
        case.best_effort.clear();
    }
    scenario
}

/// The simulator, if it does all that the scenario says.
fn simulated(scenario: &Scenario) -> Result<Target, Failure> {
    for case in &scenario.cases {
        let unsupported = |text: String| {
            let text = format!("case `{}`: {text}", case.name);
            Err(Failure::Unsupported(text))
        };
        if case.reservations && scenario.platform.hypervisor.is_none() {
            return unsupported(format!(
                "platform `{}` does not say what a hypervisor costs; add a [hypervisor] table to \
                 it, or select a case without reservations (--case)",
                scenario.platform.name
            ));
        }
        let reserved = case.vms.iter().map(|&vm| &scenario.vms[vm]);
        let mut reserved = reserved.filter(|_| case.reservations);
        if let Some(vm) = reserved.find(|vm| vm.reservation.as_ref().is_some_and(is_changing)) {
            return unsupported(format!(
                "the VM `{}` lends, borrows or can be changed at run time, which no guest of a simulation \
                 does; run it with --target hyp, or leave out `lends`, `borrows` and `changes`",
                vm.name
            ));
        }
        let is_idle = |vm: &Vm| vm.gang.is_none() && vm.best_effort.is_empty();
        let mut vms = case.vms.iter().map(|&vm| &scenario.vms[vm]);
        if let Some(vm) = vms.find(|vm| is_idle(vm)) {
            return unsupported(format!(
                "the VM `{}` has nothing that a simulation executes; add a [[vm.task]] or a \
                 [[vm.best_effort]]",
                vm.name
            ));
        }
    }
    Ok(Target::Sim)
}

/// Whether a reservation may be another one while its VM runs.
fn is_changing(reservation: &Reservation) -> bool {
    reservation.takes_part() || reservation.bounds.is_some()
}

/// Who keeps the gangs of a scenario apart on this machine.
fn mode(wanted: Option<GangScheduler>, scenario: &Scenario) -> Result<Mode, Failure> {
    let wanted = match wanted {
        None | Some(GangScheduler::Auto) => Wanted::Any,
        Some(GangScheduler::SchedExt) => Wanted::Only(Mode::SchedExt),
        Some(GangScheduler::Portable) => Wanted::Only(Mode::Portable),
    };
    ringfence_linux::run::check(scenario, wanted)
        .map_err(|error| linux_failure(error, |error| Failure::Error(error.to_string())))
}

/// Who tells which threads are awake on this machine.
fn wake_ups(wanted: Option<arguments::WakeUps>, mode: Mode) -> Result<WakeUps, Failure> {
    let wanted = match wanted {
        None | Some(arguments::WakeUps::Auto) => WantedWakeUps::Any,
        Some(arguments::WakeUps::Tracepoints) => WantedWakeUps::Only(WakeUps::Tracepoints),
        Some(arguments::WakeUps::Jobs) => WantedWakeUps::Only(WakeUps::Jobs),
    };
    wanted.choose(mode).map_err(|error| match error {
        CaseError::Unsupported(text) => Failure::Unsupported(text),
        error => Failure::Error(error.to_string()),
    })
}

/// The failure of a run on this machine: what it cannot do is no error, and other reasons are
/// what `failed` makes of them.
pub fn linux_failure(error: RunError, failed: impl FnOnce(&dyn Display) -> Failure) -> Failure {
    match error {
        RunError::Case {
            case,
            cause: CaseError::Unsupported(text),
        } => Failure::Unsupported(format!("case `{case}`: {text}")),
        error => failed(&error),
    }
}
