//! `ringfence restore`: undoes what a run that ended early has changed.

use std::path::Path;

use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::lock::default_folder;
use ringfence_linux::changes::restore::{Plan, RestoreError, Restored, plan, restore};
use ringfence_linux::changes::undo::{Outcome as OfChange, Undone};
use serde::Serialize;

use crate::arguments::Restore;
use crate::files::{print_json, print_text};
use crate::outcome::{Failure, Outcome};

/// Version of the JSON.
const FORMAT: u32 = 1;

/// What was done, as JSON.
#[derive(Serialize)]
struct Report<'a> {
    format: u32,
    /// Whose changes they were; none if there were none.
    command: Option<&'a str>,
    /// What became of each change.
    changes: &'a [Undone],
}

/// What would be done, as JSON.
#[derive(Serialize)]
struct DryRun<'a> {
    format: u32,
    command: Option<&'a str>,
    actions: &'a [String],
}

/// Restores, or says what restoring would do.
pub fn run(arguments: &Restore) -> Result<Outcome, Failure> {
    let folder = match &arguments.journal {
        Some(folder) => folder.clone(),
        None => default_folder().map_err(|error| Failure::Error(error.to_string()))?,
    };
    match arguments.dry_run {
        true => dry_run(&folder, arguments.json),
        false => restore_all(&folder, arguments.json),
    }
}

fn dry_run(folder: &Path, json: bool) -> Result<Outcome, Failure> {
    let plan = plan(folder, &Live::default()).map_err(failure)?;
    if json {
        print_json(&DryRun {
            format: FORMAT,
            command: plan.as_ref().map(|plan| plan.command.as_str()),
            actions: plan.as_ref().map_or(&[], |plan| &plan.actions),
        })?;
        return Ok(Outcome::Pass);
    }
    print_text(&match &plan {
        None => nothing(folder),
        Some(Plan {
            command,
            pid,
            actions,
        }) => {
            let lines = actions.iter().map(|action| format!("{action}\n"));
            format!("{command} (process {pid}) has left this to undo:\n")
                + &lines.collect::<String>()
        }
    })?;
    Ok(Outcome::Pass)
}

fn restore_all(folder: &Path, json: bool) -> Result<Outcome, Failure> {
    let restored = restore(folder, &mut Live::default()).map_err(failure)?;
    let (command, undone) = match &restored {
        Restored::NothingLeft => (None, &[][..]),
        Restored::EarlierBoot { command } => (Some(command.as_str()), &[][..]),
        Restored::Changes {
            command, undone, ..
        } => (Some(command.as_str()), undone.as_slice()),
    };
    match json {
        true => print_json(&Report {
            format: FORMAT,
            command,
            changes: undone,
        })?,
        false => print_text(&text(folder, &restored))?,
    }
    let failed = undone
        .iter()
        .any(|one| matches!(one.outcome, OfChange::Failed { .. }));
    match failed {
        false => Ok(Outcome::Pass),
        true => Err(Failure::Error(format!(
            "not everything could be undone; what is left is in {}, and `ringfence restore` tries it again",
            folder.display()
        ))),
    }
}

fn failure(error: RestoreError) -> Failure {
    Failure::Error(error.to_string())
}

fn nothing(folder: &Path) -> String {
    format!(
        "nothing to restore: no run has left a journal in {}\n",
        folder.display()
    )
}

fn text(folder: &Path, restored: &Restored) -> String {
    match restored {
        Restored::NothingLeft => nothing(folder),
        Restored::EarlierBoot { command } => format!(
            "nothing to restore: {command} ended before this machine was started anew, and it has \
             forgotten the changes\n"
        ),
        Restored::Changes {
            command,
            pid,
            undone,
        } => {
            let lines = undone.iter().map(|one| format!("{one}\n"));
            format!("{command} (process {pid}) ended early; undone, the last change first:\n")
                + &lines.collect::<String>()
        }
    }
}
