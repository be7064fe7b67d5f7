//! Where a scenario runs, and what is promised there.

use std::fmt::Display;

use clap::ValueEnum;
use ringfence_linux::run::{CaseError, Mode, RunError, Wanted};
use ringfence_scenario::model::Scenario;
use ringfence_scenario::quantity;
use ringfence_target::plan::{Plan, RegulatedBy};

use crate::arguments::{self, GangScheduler, TargetChoice};
use crate::outcome::Failure;

/// Where a scenario runs.
#[derive(Debug, Clone, Copy)]
pub enum Target {
    /// On the modelled board.
    Sim,
    /// On this machine.
    Linux {
        /// Who keeps gangs apart.
        mode: Mode,
        /// See [`ringfence_linux::run::RunOptions::hand_over_ns`].
        hand_over_ns: Option<u64>,
    },
}

impl Target {
    /// What the command line chooses for a scenario.
    ///
    /// # Errors
    /// A flag of another target, no time, or a scenario that cannot be run there.
    pub fn of(choice: &TargetChoice, scenario: &Scenario) -> Result<Self, Failure> {
        let wrong = |problem: String| Failure::Error(format!("--hand-over: {problem}"));
        if let (arguments::Target::Sim, Some(_)) = (choice.target, choice.gang_scheduler) {
            return Err(Failure::Error(
                "--gang-scheduler: found it with --target sim, which has one only; use --target linux"
                    .into(),
            ));
        }
        let hand_over_ns = choice.hand_over.as_deref().map(|text| {
            quantity::parse_command_line_time(text).map_err(|problem| wrong(problem.to_string()))
        });
        match (choice.target, hand_over_ns.transpose()?) {
            (arguments::Target::Sim, None) => Ok(Self::Sim),
            (arguments::Target::Sim, Some(_)) => Err(wrong(
                "found it with --target sim, which knows it from the platform; use --target linux"
                    .into(),
            )),
            (arguments::Target::Linux, hand_over_ns) => Ok(Self::Linux {
                mode: mode(choice.gang_scheduler, scenario)?,
                hand_over_ns,
            }),
        }
    }

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sim => "sim",
            Self::Linux { .. } => "linux",
        }
    }

    /// The flags that choose it, each with its value; none for what is chosen without any.
    pub fn flags(choice: &TargetChoice) -> Vec<String> {
        let scheduler = choice.gang_scheduler.and_then(|it| it.to_possible_value());
        let scheduler = scheduler.map(|it| format!("--gang-scheduler {}", it.get_name()));
        let hand_over = choice.hand_over.as_ref();
        let hand_over = hand_over.map(|text| format!("--hand-over {text}"));
        scheduler.into_iter().chain(hand_over).collect()
    }

    /// What a run of `scenario` would do there.
    ///
    /// # Errors
    /// A case has too many threads to be run.
    pub fn plan(self, scenario: &Scenario) -> Result<Plan, Failure> {
        let plan = match self {
            Self::Sim => ringfence_sim::plan::plan(scenario),
            Self::Linux { mode, hand_over_ns } => Plan::of(scenario, RegulatedBy::Time, |case| {
                ringfence_linux::run::claims(scenario, case, mode, hand_over_ns)
            }),
        };
        plan.map_err(|error| Failure::Error(error.to_string()))
    }
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
