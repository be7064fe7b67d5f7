//! This machine, through the kernel's files and system calls.

mod files;
mod freezer;
mod group;
mod membership;
mod share;

use std::io;
use std::path::PathBuf;

use super::machine::Machine;
use super::subject::{State, Subject};
use crate::class::Class;
use crate::sys;
use crate::thread::Thread;

/// This machine.
#[derive(Debug, Clone)]
pub struct Live {
    root: PathBuf,
}

impl Default for Live {
    fn default() -> Self {
        Self::below("/")
    }
}

impl Live {
    /// This machine with the files below `root`, which is `/` but in tests.
    pub fn below(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    fn path(&self, path: &std::path::Path) -> PathBuf {
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// Between this and what follows a thread may end and another get its number, which
    /// takes the kernel as many new threads as it has numbers.
    fn lives(&self, thread: &Thread) -> io::Result<()> {
        match thread.lives_below(&self.root) {
            true => Ok(()),
            false => Err(io::Error::from_raw_os_error(libc::ESRCH)),
        }
    }
}

impl Machine for Live {
    fn read(&self, subject: &Subject) -> io::Result<Option<State>> {
        let found = match subject {
            Subject::Value(file) => files::value(&self.path(file)).map(State::Text),
            Subject::Group(folder) => Ok(State::Exists(self.path(folder).is_dir())),
            Subject::Freezer(folder) => freezer::is_frozen(&self.path(folder)).map(State::Frozen),
            Subject::Share {
                group,
                resource,
                domain,
            } => share::read(&self.path(group), resource, *domain).map(State::Text),
            Subject::ThreadGroup(thread, hierarchy) => self
                .lives(thread)
                .and_then(|()| membership::of_thread(&self.root, thread.tid, hierarchy))
                .map(State::Group),
            Subject::ProcessGroup(process, hierarchy) => self
                .lives(process)
                .and_then(|()| membership::of_process(&self.root, process.tid, hierarchy))
                .map(State::Group),
            Subject::Class(thread) => self
                .lives(thread)
                .and_then(|()| Class::of(thread.tid))
                .map(State::Class),
            Subject::Affinity(thread) => self
                .lives(thread)
                .and_then(|()| sys::affinity(thread.tid))
                .map(State::Cpus),
        };
        match found {
            Err(error) if is_gone(&error) => Ok(None),
            found => found.map(Some),
        }
    }

    fn set(&mut self, subject: &Subject, state: &State) -> io::Result<()> {
        match (subject, state) {
            (Subject::Value(file), State::Text(text)) => files::write(&self.path(file), text),
            (Subject::Group(folder), State::Exists(true)) => std::fs::create_dir(self.path(folder)),
            (Subject::Group(folder), State::Exists(false)) => group::remove(&self.path(folder)),
            (Subject::Freezer(folder), State::Frozen(frozen)) => {
                freezer::set(&self.path(folder), *frozen)
            }
            (
                Subject::Share {
                    group,
                    resource,
                    domain,
                },
                State::Text(text),
            ) => share::write(&self.path(group), resource, *domain, text),
            (Subject::ThreadGroup(thread, hierarchy), State::Group(group)) => {
                self.lives(thread)?;
                membership::move_thread(&self.root, thread.tid, hierarchy, group)
            }
            (Subject::ProcessGroup(process, hierarchy), State::Group(group)) => {
                self.lives(process)?;
                membership::move_process(&self.root, process.tid, hierarchy, group)
            }
            (Subject::Class(thread), State::Class(class)) => {
                self.lives(thread)?;
                class.set(thread.tid)
            }
            (Subject::Affinity(thread), State::Cpus(cpus)) => {
                self.lives(thread)?;
                sys::set_affinity(thread.tid, cpus)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }

    fn boot_id(&self) -> io::Result<String> {
        files::value(&self.root.join("proc/sys/kernel/random/boot_id"))
    }
}

/// The file, the group it was in, or the thread is not there.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ENOENT | libc::ENODEV | libc::ENOTDIR | libc::ESRCH)
    )
}
