//! What changes are made on.

use std::io;

use super::subject::{State, Subject};

/// A machine whose subjects can be asked for and set; tests have one of their own.
pub trait Machine {
    /// How the subject is now; `None` if there is no such thing, or no more.
    ///
    /// # Errors
    /// It cannot be read, or what is read makes no sense.
    fn read(&self, subject: &Subject) -> io::Result<Option<State>>;

    /// Makes the subject so.
    ///
    /// # Errors
    /// The machine refuses.
    fn set(&mut self, subject: &Subject, state: &State) -> io::Result<()>;

    /// What this start of the machine is called; changes do not outlive it.
    ///
    /// # Errors
    /// It cannot be read.
    fn boot_id(&self) -> io::Result<String>;
}

impl<M: Machine + ?Sized> Machine for &mut M {
    fn read(&self, subject: &Subject) -> io::Result<Option<State>> {
        (**self).read(subject)
    }

    fn set(&mut self, subject: &Subject, state: &State) -> io::Result<()> {
        (**self).set(subject, state)
    }

    fn boot_id(&self) -> io::Result<String> {
        (**self).boot_id()
    }
}
