//! Scheduling classes of threads.

use std::fmt;
use std::io;

use serde::{Deserialize, Serialize};

use crate::sys::{self, Attributes};

/// A scheduling class with what a thread has in it (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// The normal class.
    Other(Fair),
    /// The normal class for work that nobody waits for.
    Batch(Fair),
    /// What runs when nobody else wants to.
    Idle(Fair),
    /// The class that a sched_ext scheduler schedules.
    Ext(Fair),
    /// Real-time, until it blocks.
    Fifo {
        /// 1 to 99; bigger is more important.
        priority: u32,
    },
    /// Real-time, in turns among equals.
    RoundRobin {
        /// 1 to 99; bigger is more important.
        priority: u32,
    },
    /// Earliest deadline first, above all other real-time work.
    Deadline {
        /// Nanoseconds of CPU in each period.
        runtime_ns: u64,
        /// Nanoseconds from the release to the deadline.
        deadline_ns: u64,
        /// Nanoseconds from one release to the next.
        period_ns: u64,
        /// The kernel's flags (SCHED_FLAG_RECLAIM and others).
        flags: u64,
    },
}

/// What a thread has in a class that shares fairly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fair {
    /// -20 to 19; less is more.
    pub nice: i32,
    /// Nanoseconds that it runs at a time, where the kernel says (Linux 6.12); none is the
    /// kernel's default, whatever that is.
    pub slice_ns: Option<u64>,
}

impl Class {
    /// The normal class with what is usual there.
    pub const NORMAL: Self = Self::Other(Fair {
        nice: 0,
        slice_ns: None,
    });

    /// The class of the thread `tid` (0: the caller).
    ///
    /// # Errors
    /// There is no such thread, or its class is none of these.
    pub fn of(tid: i32) -> io::Result<Self> {
        let found = sys::attributes(tid)?;
        let fair = Fair {
            nice: found.nice,
            slice_ns: Some(found.runtime_ns).filter(|&slice_ns| slice_ns > 0),
        };
        let policy = i32::try_from(found.policy).unwrap_or(i32::MAX);
        Ok(match policy {
            libc::SCHED_OTHER => Self::Other(fair),
            libc::SCHED_BATCH => Self::Batch(fair),
            libc::SCHED_IDLE => Self::Idle(fair),
            sys::SCHED_EXT => Self::Ext(fair),
            libc::SCHED_FIFO => Self::Fifo {
                priority: found.priority,
            },
            libc::SCHED_RR => Self::RoundRobin {
                priority: found.priority,
            },
            sys::SCHED_DEADLINE => Self::Deadline {
                runtime_ns: found.runtime_ns,
                deadline_ns: found.deadline_ns,
                period_ns: found.period_ns,
                flags: found.flags & !sys::RESET_ON_FORK,
            },
            _ => {
                let text = format!("thread {tid} is in the unknown scheduling class {policy}");
                return Err(io::Error::new(io::ErrorKind::Unsupported, text));
            }
        })
    }

    /// Puts the thread `tid` (0: the caller) into the class. What its children begin with
    /// (SCHED_RESET_ON_FORK) stays as it is.
    ///
    /// # Errors
    /// There is no such thread or class, or it is not allowed.
    pub fn set(&self, tid: i32) -> io::Result<()> {
        let flags = sys::attributes(tid)?.flags & sys::RESET_ON_FORK;
        sys::set_attributes(tid, &self.attributes(flags))?;
        // A slice that is written is fixed from then on, also if it is the default: only what
        // the default is not is written.
        let (Some(slice_ns), now) = (self.slice_ns(), Self::of(tid)?) else {
            return Ok(());
        };
        if now.slice_ns() == Some(slice_ns) {
            return Ok(());
        }
        let attributes = Attributes {
            runtime_ns: slice_ns,
            ..self.attributes(flags)
        };
        sys::set_attributes(tid, &attributes)
    }

    /// Whether a thread that is to be in this class is, where it was found to be in `found`.
    pub fn holds(&self, found: &Self) -> bool {
        let same = |wanted: &Fair, found: &Fair| {
            let any_slice = wanted.slice_ns.is_none() || found.slice_ns.is_none();
            wanted.nice == found.nice && (any_slice || wanted.slice_ns == found.slice_ns)
        };
        match (self, found) {
            (Self::Other(wanted), Self::Other(found))
            | (Self::Batch(wanted), Self::Batch(found))
            | (Self::Idle(wanted), Self::Idle(found))
            | (Self::Ext(wanted), Self::Ext(found)) => same(wanted, found),
            _ => self == found,
        }
    }

    fn slice_ns(&self) -> Option<u64> {
        match self {
            Self::Other(fair) | Self::Batch(fair) | Self::Idle(fair) | Self::Ext(fair) => {
                fair.slice_ns
            }
            _ => None,
        }
    }

    /// What the kernel is told, without a slice.
    fn attributes(&self, flags: u64) -> Attributes {
        let fair = |policy: i32, fair: &Fair| Attributes {
            policy: policy.cast_unsigned(),
            flags,
            nice: fair.nice,
            ..Attributes::default()
        };
        let real_time = |policy: i32, priority: u32| Attributes {
            policy: policy.cast_unsigned(),
            flags,
            priority,
            ..Attributes::default()
        };
        match self {
            Self::Other(other) => fair(libc::SCHED_OTHER, other),
            Self::Batch(batch) => fair(libc::SCHED_BATCH, batch),
            Self::Idle(idle) => fair(libc::SCHED_IDLE, idle),
            Self::Ext(ext) => fair(sys::SCHED_EXT, ext),
            Self::Fifo { priority } => real_time(libc::SCHED_FIFO, *priority),
            Self::RoundRobin { priority } => real_time(libc::SCHED_RR, *priority),
            Self::Deadline {
                runtime_ns,
                deadline_ns,
                period_ns,
                flags: own,
            } => Attributes {
                policy: sys::SCHED_DEADLINE.cast_unsigned(),
                flags: flags | own,
                runtime_ns: *runtime_ns,
                deadline_ns: *deadline_ns,
                period_ns: *period_ns,
                ..Attributes::default()
            },
        }
    }
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fair = |name: &str, fair: &Fair| match fair.nice {
            0 => f.write_str(name),
            nice => write!(f, "{name}, nice {nice}"),
        };
        match self {
            Self::Other(other) => fair("other", other),
            Self::Batch(batch) => fair("batch", batch),
            Self::Idle(idle) => fair("idle", idle),
            Self::Ext(ext) => fair("ext", ext),
            Self::Fifo { priority } => write!(f, "fifo, priority {priority}"),
            Self::RoundRobin { priority } => write!(f, "round robin, priority {priority}"),
            Self::Deadline {
                runtime_ns,
                deadline_ns,
                ..
            } => write!(f, "deadline, {runtime_ns} ns within {deadline_ns} ns"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs `test` on a thread of its own, with the nice value that it begins with: another
    /// one may need a right.
    fn on_a_thread(test: impl FnOnce(i32) + Send + 'static) {
        let thread = std::thread::spawn(|| match Class::of(0).unwrap() {
            Class::Other(Fair { nice, .. }) => test(nice),
            class => panic!("tests run in the normal class, not in {class}"),
        });
        thread.join().unwrap();
    }

    #[test]
    fn a_class_that_needs_no_right_is_set_and_found() {
        on_a_thread(|nice| {
            let before = Class::of(0).unwrap();
            let batch = Class::Batch(Fair {
                nice,
                slice_ns: None,
            });
            batch.set(0).unwrap();
            assert!(batch.holds(&Class::of(0).unwrap()));
            assert!(!before.holds(&Class::of(0).unwrap()));
            before.set(0).unwrap();
            assert_eq!(Class::of(0).unwrap(), before);
        });
    }

    /// Kernels since 6.12 know slices of their own; the others ignore them.
    #[test]
    fn a_slice_of_its_own_comes_back() {
        on_a_thread(|nice| {
            let fair = |slice_ns| Fair { nice, slice_ns };
            let own = Class::Other(fair(Some(7_000_000)));
            let default = Class::of(0).unwrap();
            own.set(0).unwrap();
            let before = Class::of(0).unwrap();
            Class::Batch(fair(None)).set(0).unwrap();
            before.set(0).unwrap();
            assert_eq!(Class::of(0).unwrap(), before);
            if default.slice_ns().is_some() {
                assert_eq!(before, own);
            }
        });
    }
}
