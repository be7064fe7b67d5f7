//! `ringfence enforce`: keeps the gangs of a scenario apart until it is interrupted.

use std::time::{Duration, Instant};

use ringfence_linux::changes::lock::default_folder;
use ringfence_linux::doctor;
use ringfence_linux::enforcement::{Enforcement, EnforcementError};
use ringfence_linux::interruption::Interruption;
use ringfence_linux::run::CaseError;
use ringfence_scenario::Disk;
use ringfence_scenario::model::{Case, Scenario, Scheduling};
use sd_notify::NotifyState;

use crate::arguments::Enforce;
use crate::outcome::{Failure, Outcome};

/// The scheduler's events are read as often, so that they find room.
const LOOK: Duration = Duration::from_millis(100);
const MINUTE: Duration = Duration::from_secs(60);

/// Enforces until a signal asks to end.
pub fn run(arguments: &Enforce) -> Result<Outcome, Failure> {
    let scenario = ringfence_scenario::load_from(&arguments.scenario, &Disk)?;
    let case = case_of(&scenario, arguments.case.as_deref())?;
    let error = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
    let folder = default_folder().map_err(|e| error(&e))?;
    let interruption = Interruption::watch().map_err(|e| error(&e))?;
    if let Some(warning) = doctor::outranking_threads() {
        eprintln!("{warning}");
    }
    let mut enforcement = Enforcement::start(&scenario, case, &arguments.regulate_by, &folder)
        .map_err(|e| match e {
            EnforcementError::Case(cause) => failure(cause),
            other => error(&other),
        })?;
    for remark in enforcement.remarks() {
        eprintln!("{remark}");
    }
    eprintln!(
        "enforcing case `{}` of {} until interrupted; `ringfence exec --gang NAME -- COMMAND` runs a program in a gang",
        case.name, scenario.name
    );
    // Units that are ordered after this one begin now. Nothing is told unless systemd asks for it.
    if let Err(e) = sd_notify::notify(&[NotifyState::Ready]) {
        eprintln!("systemd cannot be told that gangs are kept apart: {e}");
    }
    let mut lost = LostMarks::default();
    loop {
        let moved = enforcement.waits_on();
        let signal = interruption.wait_also_for(moved, LOOK);
        if signal.map_err(|e| error(&e))?.is_some() {
            return Ok(Outcome::Pass);
        }
        let checked = enforcement.check().map_err(failure)?;
        for stays in checked.not_moved {
            eprintln!("{stays}; it is of its new gang when it runs next");
        }
        for refused in checked.not_joined {
            eprintln!("{refused}; it asked for another gang, and stays where it was");
        }
        lost.tell(checked.lost_marks);
    }
}

/// Marks of jobs that were lost; said once a minute, as programs could make it any number.
#[derive(Default)]
struct LostMarks {
    count: u64,
    told: Option<Instant>,
}

impl LostMarks {
    fn tell(&mut self, more: u64) {
        self.count = self.count.saturating_add(more);
        let is_due = self.told.is_none_or(|told| told.elapsed() >= MINUTE);
        if self.count > 0 && is_due {
            eprintln!(
                "{} marks of jobs were lost or made no sense, so fewer jobs and misses are counted than there were",
                self.count
            );
            *self = Self {
                count: 0,
                told: Some(Instant::now()),
            };
        }
    }
}

/// The case of that name, or the only one that schedules gangs.
fn case_of<'a>(scenario: &'a Scenario, name: Option<&str>) -> Result<&'a Case, Failure> {
    let fits = |case: &&Case| match name {
        Some(name) => case.name == name,
        None => case.scheduling == Scheduling::Gang,
    };
    let found: Vec<&Case> = scenario.cases.iter().filter(fits).collect();
    let names = |cases: &mut dyn Iterator<Item = &Case>| -> String {
        let names: Vec<&str> = cases.map(|case| case.name.as_str()).collect();
        names.join(", ")
    };
    match (found.as_slice(), name) {
        ([one], _) => Ok(one),
        (_, Some(name)) => Err(Failure::Error(format!(
            "--case: no case is called '{name}'; there are {}",
            names(&mut scenario.cases.iter())
        ))),
        ([], None) => Err(Failure::Error(
            "found no case with scheduling = \"gang\", expected one: there is nothing to enforce"
                .into(),
        )),
        (several, None) => Err(Failure::Error(format!(
            "--case: found several cases that schedule gangs, expected the name of one: {}",
            names(&mut several.iter().copied())
        ))),
    }
}

fn failure(error: CaseError) -> Failure {
    match error {
        CaseError::Unsupported(text) => Failure::Unsupported(text),
        error => Failure::Error(error.to_string()),
    }
}
