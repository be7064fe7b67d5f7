//! Every change to the machine goes through here, so that all of it can be undone.
//!
//! A change is written to a journal and on the disk before it is made, verified by reading
//! back after it, and undone in reverse order at the end: by [`Changes::undo`], when
//! [`Changes`] is dropped, or from the journal by [`restore`](restore::restore) if its owner
//! crashed. What somebody else has changed since is left as it is, and told.
//!
//! [`Rehearsal`](rehearsal::Rehearsal) takes the same changes and makes none of them.

pub mod journal;
pub mod live;
pub mod lock;
pub mod machine;
pub mod rehearsal;
pub mod restore;
pub mod subject;
pub mod undo;

use std::io;
use std::path::Path;

use journal::{Entry, Journal, Owner};
use live::Live;
use lock::{Lock, LockError};
use machine::Machine;
use subject::{State, Subject};
use undo::Undone;

/// What changes are given to: the machine, or a rehearsal.
pub trait Stage {
    /// Makes `subject` so, unless it is already.
    ///
    /// # Errors
    /// As [`ChangeError`] says; the subject is then as it was, or it is in the journal.
    fn change(&mut self, subject: Subject, to: State) -> Result<(), ChangeError>;

    /// Lets the caller change `subject` again and again from now on, without asking. In the
    /// end it is made as it is now.
    ///
    /// # Errors
    /// There is no such thing, or it cannot be written down.
    fn take_over(&mut self, subject: Subject) -> Result<(), ChangeError>;
}

/// Why a change was not made.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// The change makes no sense.
    #[error("cannot {what}: {why}")]
    Senseless {
        /// What was to be done.
        what: String,
        /// Why not.
        why: &'static str,
    },
    /// There is nothing to change.
    #[error("cannot {what}: it is not there")]
    Missing {
        /// What was to be done.
        what: String,
    },
    /// It cannot be read.
    #[error("cannot {what}: how it was cannot be read: {error}")]
    Unreadable {
        /// What was to be done.
        what: String,
        /// Why.
        error: io::Error,
    },
    /// The journal cannot be written, so nothing was changed.
    #[error("cannot {what}: it cannot be written to the journal first: {error}")]
    Journal {
        /// What was to be done.
        what: String,
        /// Why.
        error: io::Error,
    },
    /// The machine refuses.
    #[error("cannot {what}: {error}")]
    Refused {
        /// What was to be done.
        what: String,
        /// Why.
        error: io::Error,
    },
    /// The machine took it, and did something else.
    #[error("cannot {what}: after it, it was {found}; it was put back")]
    NotTaken {
        /// What was to be done.
        what: String,
        /// What was found.
        found: String,
    },
}

/// Why no change can be made at all.
#[derive(Debug, thiserror::Error)]
pub enum BeginError {
    /// Another run has the machine.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A run before has crashed.
    #[error(
        "a run that ended early has left changes to this machine; `ringfence restore` undoes them"
    )]
    LeftBehind,
    /// The journal cannot be written.
    #[error("the journal cannot be written: {0}")]
    Journal(io::Error),
}

/// The changes of this process; undone when it is dropped.
pub struct Changes<M: Machine = Live> {
    machine: M,
    /// None when it was taken away.
    journal: Option<Journal>,
    entries: Vec<Entry>,
    next: u64,
    _lock: Lock,
}

impl<M: Machine> Changes<M> {
    /// Begins to change `machine`, with the lock and the journal in `folder`; others are
    /// told that `command` is at it.
    ///
    /// # Errors
    /// Another run is at it, or one that crashed has left its journal.
    pub fn begin(folder: &Path, command: &str, machine: M) -> Result<Self, BeginError> {
        let lock = Lock::take(folder, command)?;
        let owner = Owner {
            ringfence_journal: journal::VERSION,
            boot_id: machine.boot_id().map_err(BeginError::Journal)?,
            pid: std::process::id(),
            command: command.to_owned(),
        };
        let journal = Journal::begin(folder, &owner).map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => BeginError::LeftBehind,
            _ => BeginError::Journal(error),
        })?;
        Ok(Self {
            machine,
            journal: Some(journal),
            entries: Vec::new(),
            next: 1,
            _lock: lock,
        })
    }

    /// The machine.
    pub fn machine(&mut self) -> &mut M {
        &mut self.machine
    }

    /// Undoes everything, the last change first, and says what became of each. What could
    /// not be undone stays in the journal for `ringfence restore`.
    pub fn undo(mut self) -> Vec<Undone> {
        self.undo_all()
    }

    fn undo_all(&mut self) -> Vec<Undone> {
        match self.journal.take() {
            Some(journal) => undo::undo_all(&mut self.machine, journal, &self.entries),
            None => Vec::new(),
        }
    }

    fn before(&self, subject: &Subject, what: &str) -> Result<State, ChangeError> {
        let found = self.machine.read(subject);
        let found = found.map_err(|error| ChangeError::Unreadable {
            what: what.to_owned(),
            error,
        })?;
        found.ok_or_else(|| ChangeError::Missing {
            what: what.to_owned(),
        })
    }

    fn write_down(&mut self, entry: Entry, what: &str) -> Result<(), ChangeError> {
        let journal = self.journal.as_mut().expect("taken when it is dropped");
        let written = journal.about_to(&entry);
        written.map_err(|error| ChangeError::Journal {
            what: what.to_owned(),
            error,
        })?;
        self.next += 1;
        self.entries.push(entry);
        Ok(())
    }

    /// After a change that the machine did not take: puts it back, as far as it must be.
    fn put_back(&mut self, error: Option<&io::Error>) {
        let Some(entry) = self.entries.last() else {
            return;
        };
        // A group that somebody else has made in the meantime is not ours to remove.
        let is_theirs = error.is_some_and(|error| error.kind() == io::ErrorKind::AlreadyExists);
        let is_as_before = match self.machine.read(&entry.subject) {
            Ok(Some(now)) if is_theirs || entry.before.holds(&now) => true,
            Ok(Some(_)) => self.machine.set(&entry.subject, &entry.before).is_ok(),
            _ => false,
        };
        let journal = self.journal.as_mut().expect("taken when it is dropped");
        // What stays in the journal is tried again at the end.
        if is_as_before && journal.undone(entry.change).is_ok() {
            self.entries.pop();
        }
    }
}

impl<M: Machine> Stage for Changes<M> {
    fn change(&mut self, subject: Subject, to: State) -> Result<(), ChangeError> {
        let what = subject.describe(None, &to);
        if let Some(why) = subject.refuses(&to) {
            return Err(ChangeError::Senseless { what, why });
        }
        let before = self.before(&subject, &what)?;
        if to.holds(&before) {
            return Ok(());
        }
        // What cannot be put back, such as several lines, is not changed in the first place.
        if let Some(why) = subject.refuses(&before) {
            return Err(ChangeError::Senseless { what, why });
        }
        let entry = Entry {
            change: self.next,
            subject: subject.clone(),
            before,
            after: Some(to.clone()),
        };
        self.write_down(entry, &what)?;
        if let Err(error) = self.machine.set(&subject, &to) {
            self.put_back(Some(&error));
            return Err(ChangeError::Refused { what, error });
        }
        match self.machine.read(&subject) {
            Ok(Some(found)) if to.holds(&found) => Ok(()),
            found => {
                self.put_back(None);
                Err(ChangeError::NotTaken {
                    what,
                    found: match found {
                        Ok(Some(found)) => found.to_string(),
                        Ok(None) => "not there".into(),
                        Err(error) => error.to_string(),
                    },
                })
            }
        }
    }

    fn take_over(&mut self, subject: Subject) -> Result<(), ChangeError> {
        let before = self.before(&subject, &undo::taken_over(&subject))?;
        let what = undo::taken_over(&subject);
        if let Some(why) = subject.refuses(&before) {
            return Err(ChangeError::Senseless { what, why });
        }
        let entry = Entry {
            change: self.next,
            subject,
            before,
            after: None,
        };
        self.write_down(entry, &what)
    }
}

impl<M: Machine> Drop for Changes<M> {
    fn drop(&mut self) {
        for undone in self.undo_all() {
            // Nobody else is left to tell.
            if !undone.outcome.is_good() {
                eprintln!("{undone}");
            }
        }
    }
}
