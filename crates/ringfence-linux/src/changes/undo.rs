//! Undoing changes, the last one first.

use std::fmt;

use serde::Serialize;

use super::journal::{Entry, Journal};
use super::machine::Machine;
use super::subject::{State, Subject};

/// What became of one change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// What undoing it takes.
    pub action: String,
    /// What came of that.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// What came of undoing a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// It is as it was before, which was read back.
    Restored,
    /// It was so already: the change was not made any more, or somebody has undone it.
    AlreadyAsBefore,
    /// The thread has ended, or the file or its group is not there any more.
    Gone,
    /// It is neither as it was nor as we made it. It was left.
    ChangedByOthers {
        /// How it is.
        found: String,
    },
    /// It could not be undone.
    Failed {
        /// Why.
        error: String,
    },
}

impl Outcome {
    /// Whether nothing is left of the change.
    pub fn is_good(&self) -> bool {
        matches!(self, Self::Restored | Self::AlreadyAsBefore | Self::Gone)
    }
}

impl fmt::Display for Undone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let action = &self.action;
        match &self.outcome {
            Outcome::Restored => write!(f, "{action}: done"),
            Outcome::AlreadyAsBefore => write!(f, "{action}: it was so already"),
            Outcome::Gone => write!(f, "{action}: not needed, it is not there any more"),
            Outcome::ChangedByOthers { found } => write!(
                f,
                "{action}: left, since somebody else has changed it: found {found}"
            ),
            Outcome::Failed { error } => write!(f, "{action}: failed: {error}"),
        }
    }
}

/// What taking a subject over is called.
pub(super) fn taken_over(subject: &Subject) -> String {
    let what = match subject {
        Subject::Value(path) | Subject::Group(path) | Subject::Freezer(path) => {
            path.display().to_string()
        }
        Subject::Share {
            group,
            resource,
            domain,
        } => format!("{resource}:{domain} of {}", group.display()),
        Subject::ThreadGroup(thread, hierarchy) | Subject::ProcessGroup(thread, hierarchy) => {
            format!("the group of {thread} in {}", hierarchy.mount.display())
        }
        Subject::Class(thread) => format!("the scheduling class of {thread}"),
        Subject::Affinity(thread) => format!("the CPUs of {thread}"),
    };
    format!("change {what} again and again")
}

/// What undoing this change takes.
pub fn action(entry: &Entry) -> String {
    entry.subject.describe(None, &entry.before)
}

/// Undoes `entries`; the journal loses those of which nothing is left to do, and ends with
/// the last one.
pub(super) fn undo_all(
    machine: &mut impl Machine,
    mut journal: Journal,
    entries: &[Entry],
) -> Vec<Undone> {
    let mut all = Vec::new();
    let mut is_all_done = true;
    for entry in entries.iter().rev() {
        let mut outcome = undo(machine, entry);
        let is_done = !matches!(outcome, Outcome::Failed { .. });
        if is_done && let Err(error) = journal.undone(entry.change) {
            outcome = Outcome::Failed {
                error: format!("the journal cannot be written: {error}"),
            };
        }
        is_all_done &= !matches!(outcome, Outcome::Failed { .. });
        all.push(Undone {
            action: action(entry),
            outcome,
        });
    }
    if is_all_done && let Err(error) = journal.end() {
        all.push(Undone {
            action: "remove the journal".into(),
            outcome: Outcome::Failed {
                error: error.to_string(),
            },
        });
    }
    all
}

fn undo(machine: &mut impl Machine, entry: &Entry) -> Outcome {
    let failed = |error: std::io::Error| Outcome::Failed {
        error: error.to_string(),
    };
    let Entry {
        subject,
        before,
        after,
        ..
    } = entry;
    let is_ours = |now: &State| after.as_ref().is_none_or(|after| after.holds(now));
    match machine.read(subject) {
        Err(error) => return failed(error),
        Ok(None) => return Outcome::Gone,
        Ok(Some(now)) if before.holds(&now) => return Outcome::AlreadyAsBefore,
        Ok(Some(now)) if !is_ours(&now) => {
            return Outcome::ChangedByOthers {
                found: now.to_string(),
            };
        }
        Ok(Some(_)) => {}
    }
    let set = machine.set(subject, before);
    match (machine.read(subject), set) {
        (Ok(Some(now)), _) if before.holds(&now) => Outcome::Restored,
        // It may have ended while it was set.
        (Ok(None), _) => Outcome::Gone,
        (_, Err(error)) | (Err(error), Ok(())) => failed(error),
        (Ok(Some(now)), Ok(())) => Outcome::Failed {
            error: format!("after it, it was {now}"),
        },
    }
}
