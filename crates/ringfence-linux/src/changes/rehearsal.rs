//! Changes that are told and not made: `--dry-run`.

use std::collections::BTreeMap;
use std::path::Path;

use super::machine::Machine;
use super::subject::{State, Subject};
use super::undo::taken_over;
use super::{ChangeError, Stage};

/// Takes changes as if it made them.
pub struct Rehearsal<M: Machine> {
    machine: M,
    changed: BTreeMap<Subject, State>,
    actions: Vec<String>,
}

impl<M: Machine> Rehearsal<M> {
    /// Nothing is changed on `machine`, which is only read.
    pub fn on(machine: M) -> Self {
        Self {
            machine,
            changed: BTreeMap::new(),
            actions: Vec::new(),
        }
    }

    /// What would be done, in order.
    pub fn actions(self) -> Vec<String> {
        self.actions
    }

    /// How the subject would be now; `None` if only the kernel knows, as it would be in a
    /// group that is not made yet.
    fn before(&self, subject: &Subject, what: &str) -> Result<Option<State>, ChangeError> {
        if let Some(state) = self.changed.get(subject) {
            return Ok(Some(state.clone()));
        }
        let found = self.machine.read(subject);
        match found.map_err(|error| ChangeError::Unreadable {
            what: what.to_owned(),
            error,
        })? {
            None if self.is_in_new_group(subject) => Ok(None),
            None => Err(ChangeError::Missing {
                what: what.to_owned(),
            }),
            found => Ok(found),
        }
    }

    fn is_in_new_group(&self, subject: &Subject) -> bool {
        let (Subject::Value(path) | Subject::Freezer(path) | Subject::Share { group: path, .. }) =
            subject
        else {
            return false;
        };
        let is_new = |folder: &Path| {
            let group = Subject::Group(folder.to_owned());
            self.changed.get(&group) == Some(&State::Exists(true))
        };
        path.ancestors().any(is_new)
    }
}

impl<M: Machine> Stage for Rehearsal<M> {
    fn change(&mut self, subject: Subject, to: State) -> Result<(), ChangeError> {
        let what = subject.describe(None, &to);
        if let Some(why) = subject.refuses(&to) {
            return Err(ChangeError::Senseless { what, why });
        }
        let before = self.before(&subject, &what)?;
        if before.as_ref().is_some_and(|before| to.holds(before)) {
            return Ok(());
        }
        self.actions.push(subject.describe(before.as_ref(), &to));
        self.changed.insert(subject, to);
        Ok(())
    }

    fn take_over(&mut self, subject: Subject) -> Result<(), ChangeError> {
        let what = taken_over(&subject);
        self.before(&subject, &what)?;
        self.actions.push(what);
        Ok(())
    }
}
