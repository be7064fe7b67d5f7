//! Control groups as members of gangs: what runs in one now, and in those below it, as the
//! scheduler does with what is put there later.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::Enforced;
use crate::control_group::{self, ControlGroup, ControlGroupError};
use crate::scheduler::{self, Entry, Groups, Members, Membership};
use crate::thread::is_kernel_thread;

/// Why a control group cannot belong to a gang.
#[derive(Debug, thiserror::Error)]
pub enum GroupError {
    /// The folder is none of a group that can.
    #[error(transparent)]
    Group(#[from] ControlGroupError),
    /// The kernel does not tell of moves.
    #[error(
        "this kernel does not tell when a thread changes its control group; name the processes instead: `ringfence join --gang NAME $(cat {path}/cgroup.procs)`", path = .0.display()
    )]
    Untold(PathBuf),
    /// The scheduler refuses.
    #[error(transparent)]
    Scheduler(#[from] scheduler::Error),
    /// Some threads have changed, and then one could not.
    #[error(
        "{cause}; the control group has changed its gang, and {changed} threads with it: mend that and join it once more"
    )]
    Partly {
        /// Why.
        cause: scheduler::Error,
        /// Threads that have.
        changed: usize,
    },
    /// A folder cannot be read.
    #[error("{path}: {error}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Gives the control group of `folder` to a gang, or to none, until `enforced` ends: with the
/// threads that are in it or below it now, and with those that are put there later. A group
/// below it that belongs to a gang itself keeps that. Answers how many threads have changed.
///
/// # Errors
/// It is no control group, or the kernel does not tell what is put into it.
pub fn give(
    enforced: &Enforced,
    folder: &Path,
    member: Option<Membership>,
) -> Result<usize, GroupError> {
    let group = ControlGroup::at(folder)?;
    let untold = || GroupError::Untold(folder.to_owned());
    let groups = Groups::open(enforced.groups.as_ref().ok_or_else(untold)?)?;
    let members = Members::open(&enforced.members)?;
    // What is put there from now on is the scheduler's to see.
    match member {
        Some(member) => groups.give(&group, member)?,
        None => groups.take_back(&group)?,
    }
    let tree = Tree {
        hierarchy: group.hierarchy,
        given: &|group| groups.of(group),
    };
    let topmost = topmost_of(folder);
    let mut seen = BTreeSet::new();
    let mut changed = BTreeSet::new();
    // A thread that was started by one before its turn came has not inherited anything, and one that
    // was moved meanwhile may be elsewhere: once more, until a look finds all as it is to be.
    loop {
        let below = tree.threads(folder)?;
        seen.extend(below.into_iter().map(|(tid, _)| tid));
        let mut is_settled = true;
        for (tid, wanted) in tree.threads(&topmost)? {
            if !seen.contains(&tid) || is_of(enforced.process.tid, tid) || is_kernel_thread(tid) {
                continue;
            }
            let settled = settle(&members, tid, group.hierarchy, wanted);
            let is_changed = settled.map_err(|cause| GroupError::Partly {
                cause,
                changed: changed.len(),
            })?;
            if is_changed {
                changed.insert(tid);
                is_settled = false;
            }
        }
        if is_settled {
            return Ok(changed.len());
        }
    }
}

/// The topmost group of the hierarchy that this group is in.
fn topmost_of(folder: &Path) -> PathBuf {
    let mut topmost = folder.to_owned();
    while ControlGroup::at(&topmost).is_ok() {
        topmost.push("..");
    }
    topmost
}

/// The process that enforces must not wait for gangs.
fn is_of(process: i32, tid: i32) -> bool {
    Path::new(&format!("/proc/{process}/task/{tid}")).exists()
}

/// As the scheduler does it (bpf/groups.h); answers whether the thread has changed.
fn settle(
    members: &Members,
    tid: i32,
    hierarchy: u32,
    wanted: Option<Entry>,
) -> Result<bool, scheduler::Error> {
    let Some(now) = members.entry(tid)? else {
        return Ok(false);
    };
    if wanted.is_none() && now.group.is_none_or(|group| group.hierarchy != hierarchy) {
        return Ok(false);
    }
    let wanted = wanted.unwrap_or_default();
    if now == wanted {
        return Ok(false);
    }
    match members.put(tid, &wanted) {
        // One that has ended meanwhile needs no gang.
        Err(error) if Path::new("/proc").join(tid.to_string()).exists() => Err(error),
        result => Ok(result.is_ok()),
    }
}

/// The groups of a hierarchy, and what those that belong to gangs make of their threads.
struct Tree<'a> {
    hierarchy: u32,
    given: &'a dyn Fn(&ControlGroup) -> Result<Option<Entry>, scheduler::Error>,
}

impl Tree<'_> {
    /// What the group of this folder makes of its threads by itself; `None` if that is up to
    /// those above it, or it is gone.
    fn own(&self, folder: &Path) -> Result<Option<Entry>, GroupError> {
        match ControlGroup::within(self.hierarchy, folder) {
            Ok(group) => Ok((self.given)(&group)?),
            Err(error) => unless_gone(folder, error, None),
        }
    }

    /// The threads of a group and of those below it, with what they are by their group; of what
    /// is above it nothing is known.
    fn threads(&self, folder: &Path) -> Result<Vec<(i32, Option<Entry>)>, GroupError> {
        let mut found = Vec::new();
        self.add(folder, None, &mut found)?;
        Ok(found)
    }

    fn add(
        &self,
        folder: &Path,
        above: Option<Entry>,
        into: &mut Vec<(i32, Option<Entry>)>,
    ) -> Result<(), GroupError> {
        let entry = self.own(folder)?.or(above);
        let threads = control_group::threads(folder);
        let threads = threads.or_else(|error| unless_gone(folder, error, Vec::new()))?;
        into.extend(threads.into_iter().map(|tid| (tid, entry)));
        let children = control_group::children(folder);
        for child in children.or_else(|error| unless_gone(folder, error, Vec::new()))? {
            self.add(&child, entry, into)?;
        }
        Ok(())
    }
}

/// A group that was removed meanwhile has no threads.
fn unless_gone<T>(folder: &Path, error: io::Error, empty: T) -> Result<T, GroupError> {
    match error.raw_os_error() {
        Some(libc::ENOENT | libc::ENODEV) => Ok(empty),
        _ => Err(GroupError::Folder {
            path: folder.to_owned(),
            error,
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn entry(group: ControlGroup, priority: u32) -> Entry {
        let member = Membership {
            partition: 0,
            priority,
        };
        Entry {
            member,
            group: Some(group),
        }
    }

    /// A tree of folders that look like groups: `outer` with thread 1, in it `inner` with 2 and
    /// `given` with 3, in that `below` with 4.
    #[test]
    fn the_innermost_group_that_belongs_to_a_gang_decides() {
        let root = tempfile::tempdir().unwrap();
        let outer = root.path().join("outer");
        let folders = [
            outer.clone(),
            outer.join("inner"),
            outer.join("given"),
            outer.join("given/below"),
        ];
        for (tid, folder) in (1..).zip(&folders) {
            fs::create_dir(folder).unwrap();
            // Version 1 calls it `tasks`.
            let name = ["cgroup.threads", "tasks"][tid % 2];
            fs::write(folder.join(name), format!("{tid}\n")).unwrap();
        }
        let group = |folder: &Path| ControlGroup::within(3, folder).unwrap();
        let given = entry(group(&folders[2]), 20);
        let tree = Tree {
            hierarchy: 3,
            given: &|asked| Ok(Some(given).filter(|given| given.group == Some(*asked))),
        };
        let mut found = tree.threads(&outer).unwrap();
        found.sort_by_key(|(tid, _)| *tid);
        let of_given = Some(given);
        assert_eq!(found, [(1, None), (2, None), (3, of_given), (4, of_given)]);
        let found = tree.threads(&folders[3]).unwrap();
        assert_eq!(found, [(4, None)]);
    }

    #[test]
    fn a_group_that_is_gone_has_no_threads() {
        let tree = Tree {
            hierarchy: 0,
            given: &|_| Ok(None),
        };
        assert_eq!(tree.threads(Path::new("/no/such/group")).unwrap(), []);
    }
}
