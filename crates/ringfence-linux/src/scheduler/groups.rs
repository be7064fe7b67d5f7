//! Control groups that belong to gangs (bpf/groups.h): the scheduler makes members of what is put
//! into them, and this process then puts the threads into the queue of their gang.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Func, Typedef};
use libbpf_rs::{MapCore, MapFlags, MapHandle};

use super::members::{Entry, SharedMap, requeue};
use super::skeleton::{GangSchedulerMaps, OpenGangSchedulerProgs};
use super::{Error, Membership};
use crate::ring::{Ring, field};
use crate::sys;

/// What the programs are called by, as the kernel's types name it.
const TRACEPOINTS: [&str; 3] = [
    "btf_trace_cgroup_attach_task",
    "btf_trace_cgroup_rmdir",
    "btf_trace_task_newtask",
];
/// Which threads a process has, for such programs (Linux 6.7).
const THREADS_OF_PROCESS: &str = "bpf_iter_task_new";

/// Leaves out what this kernel has no events for.
pub(super) fn choose(programs: &mut OpenGangSchedulerProgs<'_>) {
    let is_told = Btf::from_vmlinux().is_ok_and(|types| {
        let is_event = |name: &&str| types.type_by_name::<Typedef<'_>>(name).is_some();
        TRACEPOINTS.iter().all(is_event)
            && types.type_by_name::<Func<'_>>(THREADS_OF_PROCESS).is_some()
    });
    programs.on_move.set_autoload(is_told);
    programs.on_clone.set_autoload(is_told);
    programs.on_removal.set_autoload(is_told);
}

/// A thread that is of another gang than before, by its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Move {
    tid: i32,
    member: Membership,
}

/// `struct move` of bpf/groups.h.
fn parse(bytes: &[u8]) -> Option<Move> {
    Some(Move {
        tid: i32::from_ne_bytes(field(bytes, 0)?),
        member: Membership {
            partition: u32::from_ne_bytes(field(bytes, 4)?),
            priority: u32::from_ne_bytes(field(bytes, 8)?),
        },
    })
}

/// The groups of a scheduler that belong to gangs, under a name in the kernel's BPF file system
/// as long as this is there.
pub struct SharedGroups {
    _map: SharedMap,
    memberships: MapHandle,
    moves: Ring<Move>,
}

impl SharedGroups {
    pub(super) fn share(maps: &mut GangSchedulerMaps<'_>, path: &Path) -> Result<Self, Error> {
        Ok(Self {
            memberships: MapHandle::try_from(&maps.memberships)?,
            moves: Ring::of(&maps.moves, parse)?,
            _map: SharedMap::share(&mut maps.groups, path)?,
        })
    }

    /// What can be read when threads were moved.
    pub fn waits_on(&self) -> BorrowedFd<'_> {
        self.moves.waits_on()
    }

    /// Puts threads that were moved since this was last called into the queues of their gangs;
    /// answers which could not be.
    ///
    /// # Errors
    /// The buffer cannot be read.
    pub fn follow(&mut self) -> io::Result<Vec<Error>> {
        let moves = self.moves.drain()?;
        let followed = moves.iter().map(|moved| follow(&self.memberships, moved));
        Ok(followed.filter_map(Result::err).collect())
    }
}

fn follow(memberships: &MapHandle, moved: &Move) -> Result<(), Error> {
    let Some(now) = entry(memberships, moved.tid)? else {
        return Ok(());
    };
    // It was moved again, or its number is that of another thread now.
    if now.member != moved.member {
        return Ok(());
    }
    let result = match moved.member.priority {
        // One that has gone to a real-time class by itself stays there.
        0 => sys::attributes(moved.tid).and_then(|found| match is_real_time(found.policy) {
            true => Ok(()),
            false => requeue(moved.tid),
        }),
        _ => requeue(moved.tid),
    };
    match result {
        Err(error) if error.raw_os_error() != Some(libc::ESRCH) => Err(Error::Thread {
            tid: moved.tid,
            error,
        }),
        _ => Ok(()),
    }
}

fn is_real_time(class: u32) -> bool {
    [libc::SCHED_FIFO, libc::SCHED_RR, sys::SCHED_DEADLINE].contains(&class.cast_signed())
}

/// What the thread is a member of; `None` if it has ended.
pub(super) fn entry(memberships: &impl MapCore, tid: i32) -> Result<Option<Entry>, Error> {
    let fd = match sys::open_thread(tid) {
        Ok(fd) => fd,
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => return Ok(None),
        Err(error) => return Err(Error::Thread { tid, error }),
    };
    let key = fd.as_fd().as_raw_fd().to_ne_bytes();
    let found = memberships.lookup(&key, MapFlags::ANY)?;
    Ok(Some(found.map_or(Entry::default(), |bytes| {
        Entry::parse(&bytes).unwrap_or_default()
    })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_are_read_as_they_are_written() {
        let bytes: Vec<u8> = [4711_u32, 2, 30, 0]
            .iter()
            .flat_map(|number| number.to_ne_bytes())
            .collect();
        let moved = Move {
            tid: 4711,
            member: Membership {
                partition: 2,
                priority: 30,
            },
        };
        assert_eq!(parse(&bytes), Some(moved));
        assert_eq!(parse(&bytes[..8]), None);
    }
}
