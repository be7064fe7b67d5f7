//! System calls that the standard library has no face for.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// Scheduling class of a thread that a sched_ext scheduler may schedule (SCHED_EXT, Linux 6.12).
pub const SCHED_EXT: i32 = 7;

/// A descriptor of the thread `tid` of any process.
///
/// # Errors
/// There is no such thread.
pub fn open_thread(tid: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, tid, libc::PIDFD_THREAD) };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us alone.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Puts the thread `tid` (0: the caller) into a scheduling class, with `priority` where it has one.
///
/// # Errors
/// There is no such thread or class, or it is not allowed.
pub fn set_class(tid: i32, class: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameters` lives through the call, which only reads it.
    match unsafe { libc::sched_setscheduler(tid, class, &parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Lets the thread `tid` (0: the caller) run on `cpus` only.
///
/// # Errors
/// There is no such thread, or none of the CPUs is online.
pub fn set_affinity(tid: i32, cpus: &[u16]) -> io::Result<()> {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: CPU_SET ignores a number beyond the set.
        unsafe { libc::CPU_SET(cpu.into(), &mut set) };
    }
    // SAFETY: `set` lives through the call, which reads as many bytes as it has.
    match unsafe { libc::sched_setaffinity(tid, size_of_val(&set), &set) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
