//! Who is of which gang: entries in the kernel's storage of threads. Whoever has that map may
//! write them, so a process can put threads into gangs of a scheduler that another one loaded.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use libbpf_rs::{MapCore, MapFlags, MapHandle, MapMut};

use super::{Error, Membership};
use crate::sys;

impl Membership {
    /// As `struct membership` of bpf/state.h.
    fn bytes(self) -> [u8; 8] {
        let mut bytes = [0; 8];
        bytes[..4].copy_from_slice(&self.partition.to_ne_bytes());
        bytes[4..].copy_from_slice(&self.priority.to_ne_bytes());
        bytes
    }
}

/// Makes the thread `tid` a member, as [`super::Scheduler::join`] says.
pub(super) fn join(memberships: &impl MapCore, tid: i32, member: Membership) -> Result<(), Error> {
    let thread = |error: io::Error| Error::Thread { tid, error };
    let fd = sys::open_thread(tid).map_err(thread)?;
    let key = fd.as_fd().as_raw_fd().to_ne_bytes();
    let before = memberships.lookup(&key, MapFlags::ANY)?;
    memberships.update(&key, &member.bytes(), MapFlags::ANY)?;
    requeue(tid).map_err(|error| {
        let before = before.unwrap_or_else(|| Membership::default().bytes().to_vec());
        // The thread is gone if that fails, too.
        let _ = memberships.update(&key, &before, MapFlags::ANY);
        thread(error)
    })
}

/// Takes a thread out of the queue that it waits in, and puts it into the one of its gang.
/// A change of class does that, also to the thread that runs.
fn requeue(tid: i32) -> io::Result<()> {
    sys::set_class(tid, libc::SCHED_OTHER, 0)?;
    sys::set_class(tid, sys::SCHED_EXT, 0)
}

/// The memberships of a scheduler, under a name in the kernel's BPF file system, as long as
/// this is there.
#[derive(Debug)]
pub struct SharedMembers {
    path: PathBuf,
}

impl SharedMembers {
    pub(super) fn share(map: &mut MapMut<'_>, path: &Path) -> Result<Self, Error> {
        map.pin(path)?;
        Ok(Self {
            path: path.to_owned(),
        })
    }
}

impl Drop for SharedMembers {
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
        join(&self.map, tid, member)
    }
}
