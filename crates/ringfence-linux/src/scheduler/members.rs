//! Who is of which gang: entries in the kernel's storage of threads. Whoever has that map may
//! write them, so a process can put threads into gangs of a scheduler that another one loaded.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut};

use super::groups::entry;
use super::{Error, Membership};
use crate::control_group::ControlGroup;
use crate::ring::field;
use crate::sys;

/// What the kernel has of a thread, and of a control group that belongs to a gang: `struct
/// membership` of bpf/state.h.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Entry {
    /// The gang.
    pub member: Membership,
    /// The control group by which it is of it; `None` if by its own number.
    pub group: Option<ControlGroup>,
}

impl Entry {
    fn bytes(&self) -> [u8; 24] {
        let mut bytes = [0; 24];
        bytes[..4].copy_from_slice(&self.member.partition.to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.member.priority.to_ne_bytes());
        if let Some(group) = &self.group {
            bytes[8..].copy_from_slice(&group_bytes(group));
        }
        bytes
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let id = u64::from_ne_bytes(field(bytes, 8)?);
        let group = ControlGroup {
            id,
            hierarchy: u32::from_ne_bytes(field(bytes, 16)?),
        };
        Some(Self {
            member: Membership {
                partition: u32::from_ne_bytes(field(bytes, 0)?),
                priority: u32::from_ne_bytes(field(bytes, 4)?),
            },
            group: Some(group).filter(|_| id > 0),
        })
    }
}

/// `struct group` of bpf/state.h.
fn group_bytes(group: &ControlGroup) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&group.id.to_ne_bytes());
    bytes[8..12].copy_from_slice(&group.hierarchy.to_ne_bytes());
    bytes
}

/// Makes the thread `tid` a member, as [`super::Scheduler::join`] says.
pub(super) fn join(memberships: &impl MapCore, tid: i32, entry: &Entry) -> Result<(), Error> {
    let thread = |error: io::Error| Error::Thread { tid, error };
    let fd = sys::open_thread(tid).map_err(thread)?;
    let key = fd.as_fd().as_raw_fd().to_ne_bytes();
    let before = memberships.lookup(&key, MapFlags::ANY)?;
    memberships.update(&key, &entry.bytes(), MapFlags::ANY)?;
    requeue(tid).map_err(|error| {
        let before = before.unwrap_or_else(|| Entry::default().bytes().to_vec());
        // The thread is gone if that fails, too.
        let _ = memberships.update(&key, &before, MapFlags::ANY);
        thread(error)
    })
}

/// Takes a thread out of the queue that it waits in, and puts it into the one of its gang.
/// A change of class does that, also to the thread that runs.
pub(super) fn requeue(tid: i32) -> io::Result<()> {
    sys::set_class(tid, libc::SCHED_OTHER, 0)?;
    sys::set_class(tid, sys::SCHED_EXT, 0)
}

/// A map of a scheduler, under a name in the kernel's BPF file system, as long as this is there.
#[derive(Debug)]
pub struct SharedMap {
    path: PathBuf,
}

impl SharedMap {
    pub(super) fn share(map: &mut MapMut<'_>, path: &Path) -> Result<Self, Error> {
        map.pin(path)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for SharedMap {
    fn drop(&mut self) {
        // Somebody has removed it before, then.
        let _ = fs::remove_file(&self.path);
    }
}

/// The memberships of a scheduler that another process has loaded.
#[derive(Debug)]
pub struct Members {
    map: MapHandle,
}

impl Members {
    /// Opens what [`super::Scheduler::share_members`] has put at `path`.
    ///
    /// # Errors
    /// There is none, or this process may not use it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            map: MapHandle::from_pinned_path(path)?,
        })
    }

    /// Makes the thread `tid` a member of a gang that the scheduler has, or of none with
    /// priority 0. What it forks from now on is, too.
    ///
    /// # Errors
    /// There is no such thread, or its class may not be changed; then it is a member of what it
    /// was before.
    pub fn join(&self, tid: i32, member: Membership) -> Result<(), Error> {
        self.put(
            tid,
            &Entry {
                member,
                group: None,
            },
        )
    }

    /// The same, with the control group by which it is.
    ///
    /// # Errors
    /// As of [`Self::join`].
    pub fn put(&self, tid: i32, entry: &Entry) -> Result<(), Error> {
        join(&self.map, tid, entry)
    }

    /// What the thread is a member of; `None` if it has ended.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn entry(&self, tid: i32) -> Result<Option<Entry>, Error> {
        entry(&self.map, tid)
    }
}

/// The control groups that belong to gangs of a scheduler that another process has loaded.
#[derive(Debug)]
pub struct Groups {
    map: MapHandle,
}

impl Groups {
    /// Opens what [`super::Scheduler::share_groups`] has put at `path`.
    ///
    /// # Errors
    /// There is none, or this process may not use it.
    pub fn open(path: &Path) -> Result<Self, Error> {
        Ok(Self {
            map: MapHandle::from_pinned_path(path)?,
        })
    }

    /// From now on, threads that are put into the group or below it become members.
    ///
    /// # Errors
    /// 1024 groups belong to gangs already.
    pub fn give(&self, group: &ControlGroup, member: Membership) -> Result<(), Error> {
        let entry = Entry {
            member,
            group: Some(*group),
        };
        Ok(self
            .map
            .update(&group_bytes(group), &entry.bytes(), MapFlags::ANY)?)
    }

    /// From now on, the group belongs to no gang; those who are members by it still are.
    ///
    /// # Errors
    /// The map cannot be written.
    pub fn take_back(&self, group: &ControlGroup) -> Result<(), Error> {
        match self.map.delete(&group_bytes(group)) {
            Err(error) if error.kind() != libbpf_rs::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// What the group makes of its threads; `None` if it belongs to no gang.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn of(&self, group: &ControlGroup) -> Result<Option<Entry>, Error> {
        let found = self.map.lookup(&group_bytes(group), MapFlags::ANY)?;
        Ok(found.and_then(|bytes| Entry::parse(&bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheduler::skeleton::types;

    #[test]
    fn entries_are_as_c_has_them() {
        let entry = Entry {
            member: Membership {
                partition: 1,
                priority: 30,
            },
            group: Some(ControlGroup {
                id: 1 << 40,
                hierarchy: 4,
            }),
        };
        let bytes = entry.bytes();
        assert_eq!(bytes.len(), size_of::<types::membership>());
        // SAFETY: there are as many bytes, and any are numbers.
        let read: types::membership =
            unsafe { bytes.as_ptr().cast::<types::membership>().read_unaligned() };
        assert_eq!((read.partition, read.priority), (1, 30));
        assert_eq!((read.group.id, read.group.hierarchy), (1 << 40, 4));
        assert_eq!(Entry::parse(&bytes), Some(entry));
        assert_eq!(Entry::parse(&[0; 24]), Some(Entry::default()));
        assert_eq!(
            Entry::parse(&bytes[..20]).map(|read| read.group),
            Some(entry.group)
        );
        assert_eq!(Entry::parse(&bytes[..12]), None);
    }
}
