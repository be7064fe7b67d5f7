//! System calls that the standard library has no face for.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

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

/// What memory that the kernel writes meanwhile holds now.
pub fn read_shared<T: Copy>(value: &T) -> T {
    // SAFETY: a reference is valid to read. The kernel may write while it is read; a number is
    // then the old or the new one, as it is aligned.
    unsafe { std::ptr::from_ref(value).read_volatile() }
}

/// Earliest deadline first (SCHED_DEADLINE, Linux 3.14).
pub const SCHED_DEADLINE: i32 = 6;

/// Children begin in the normal class (SCHED_FLAG_RESET_ON_FORK).
pub const RESET_ON_FORK: u64 = 1;

/// How the kernel schedules a thread: `struct sched_attr` of sched_setattr(2), as it first was.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Bytes of the structure; set for the kernel by those who ask it.
    pub size: u32,
    /// Number of the class (SCHED_*).
    pub policy: u32,
    /// SCHED_FLAG_*.
    pub flags: u64,
    /// Nice value of a fair class.
    pub nice: i32,
    /// Priority of a real-time class.
    pub priority: u32,
    /// Nanoseconds of CPU a period (deadline), or at a time (fair classes, Linux 6.12).
    pub runtime_ns: u64,
    /// Nanoseconds to the deadline.
    pub deadline_ns: u64,
    /// Nanoseconds of a period.
    pub period_ns: u64,
}

const ATTRIBUTES_SIZE: u32 = size_of::<Attributes>() as u32;

/// How the thread `tid` (0: the caller) is scheduled.
///
/// # Errors
/// There is no such thread.
pub fn attributes(tid: i32) -> io::Result<Attributes> {
    let mut found = Attributes::default();
    // SAFETY: the kernel writes at most as many bytes as it is told, all numbers.
    let result = unsafe {
        libc::syscall(
            libc::SYS_sched_getattr,
            tid,
            &raw mut found,
            ATTRIBUTES_SIZE,
            0,
        )
    };
    match result {
        0 => Ok(found),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Schedules the thread `tid` (0: the caller) in this way.
///
/// # Errors
/// There is no such thread or class, or it is not allowed.
pub fn set_attributes(tid: i32, attributes: &Attributes) -> io::Result<()> {
    let told = Attributes {
        size: ATTRIBUTES_SIZE,
        ..*attributes
    };
    // SAFETY: `told` lives through the call, which reads as many bytes as `size` says.
    match unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const told, 0) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// CPUs that the thread `tid` (0: the caller) may run on, ascending.
///
/// # Errors
/// There is no such thread.
pub fn affinity(tid: i32) -> io::Result<Vec<u16>> {
    // SAFETY: an all-zero set is a valid, empty one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call writes at most as many bytes as `set` has.
    if unsafe { libc::sched_getaffinity(tid, size_of_val(&set), &mut set) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let all = 0..libc::CPU_SETSIZE as u16;
    // SAFETY: the number is within the set.
    Ok(all
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu.into(), &set) })
        .collect())
}

/// Waits until one of `files` can be read or its other end is closed, for `timeout` at most.
///
/// # Errors
/// The system refuses; a signal is no error, and ends the wait.
pub fn wait_readable(files: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<()> {
    let mut polled: Vec<libc::pollfd> = files
        .iter()
        .map(|file| libc::pollfd {
            fd: file.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        })
        .collect();
    let timeout = libc::timespec {
        tv_sec: timeout.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    // SAFETY: the call writes into as many entries as it is told, and reads `timeout`; both
    // live through it.
    let result = unsafe {
        libc::ppoll(
            polled.as_mut_ptr(),
            polled.len() as libc::nfds_t,
            &timeout,
            std::ptr::null(),
        )
    };
    match (result, io::Error::last_os_error()) {
        (0.., _) => Ok(()),
        (_, error) if error.kind() == io::ErrorKind::Interrupted => Ok(()),
        (_, error) => Err(error),
    }
}

/// Whether `file` can be read now, or its other end is closed.
///
/// # Errors
/// The system refuses.
pub fn is_readable(file: BorrowedFd<'_>) -> io::Result<bool> {
    let mut polled = libc::pollfd {
        fd: file.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: the call writes into the one entry that it is told of, which lives through it.
    match unsafe { libc::poll(&raw mut polled, 1, 0) } {
        0.. => Ok(polled.revents != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What is readable when a ring buffer has something.
pub fn ring_descriptor<'a>(ring: &'a libbpf_rs::RingBuffer<'_>) -> BorrowedFd<'a> {
    // SAFETY: libbpf keeps it open as long as the ring buffer is there, which is borrowed.
    unsafe { BorrowedFd::borrow_raw(ring.epoll_fd()) }
}
