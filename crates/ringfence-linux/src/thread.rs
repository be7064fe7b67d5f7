//! Threads, by what tells one from another that was given its number later.

use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// A thread as long as it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Thread {
    /// Its number.
    pub tid: i32,
    /// When it started, in the kernel's clock ticks since the boot.
    pub start_ticks: u64,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.tid)
    }
}

impl Thread {
    /// The first thread of this process.
    pub fn this_process() -> Self {
        let tid = std::process::id().cast_signed();
        Self::find(tid).unwrap_or(Self {
            tid,
            start_ticks: 0,
        })
    }

    /// The thread that has the number `tid` now; `None` if none has.
    pub fn find(tid: i32) -> Option<Self> {
        Self::find_below(Path::new("/"), tid)
    }

    /// The same on a machine whose files are below `root`.
    pub fn find_below(root: &Path, tid: i32) -> Option<Self> {
        let stat = std::fs::read(root.join(format!("proc/{tid}/stat"))).ok()?;
        let stat = Stat::parse(&stat)?;
        // A thread that has ended keeps its number until somebody asks how it ended.
        (!matches!(stat.state, 'Z' | 'X')).then_some(Self {
            tid,
            start_ticks: stat.start_ticks,
        })
    }

    /// Whether it still lives.
    pub fn lives_below(&self, root: &Path) -> bool {
        Self::find_below(root, self.tid) == Some(*self)
    }
}

/// PF_KTHREAD of the kernel's flags.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// Whether the thread is the kernel's own.
pub fn is_kernel_thread(tid: i32) -> bool {
    let stat = std::fs::read(format!("/proc/{tid}/stat")).ok();
    stat.and_then(|text| Stat::parse(&text))
        .is_some_and(|stat| stat.is_kernel_thread())
}

/// What `/proc/TID/stat` says, as far as it is used (proc_pid_stat(5)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Its name.
    pub name: String,
    /// `R`, `S`, … `Z` is a zombie.
    pub state: char,
    /// The kernel's flags of the thread (PF_*).
    pub flags: u64,
    /// When it started.
    pub start_ticks: u64,
    /// Priority in a real-time class, 1 to 99; else 0.
    pub real_time_priority: i32,
    /// Number of the scheduling class (SCHED_*).
    pub policy: u32,
}

impl Stat {
    /// Whether it is the kernel's own.
    pub fn is_kernel_thread(&self) -> bool {
        self.flags & KERNEL_THREAD != 0
    }

    /// Reads the text of the file; `None` if it is not what the kernel writes.
    pub fn parse(text: &[u8]) -> Option<Self> {
        // The name may hold anything, also blanks and parentheses.
        let text = String::from_utf8_lossy(text);
        let (name, rest) = (text.split_once('(')?.1).rsplit_once(')')?;
        // The first of them is field 3.
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3).copied();
        Some(Self {
            name: name.to_owned(),
            state: field(3)?.chars().next()?,
            flags: field(9)?.parse().ok()?,
            start_ticks: field(22)?.parse().ok()?,
            real_time_priority: field(40)?.parse().ok()?,
            policy: field(41)?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_thread_is_found_until_it_has_ended() {
        let (tell, hear) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let handle = std::thread::spawn(move || {
            // SAFETY: the call takes no arguments.
            tell.send(unsafe { libc::gettid() }).unwrap();
            let _ = wait.recv();
        });
        let thread = Thread::find(hear.recv().unwrap()).unwrap();
        assert!(thread.lives_below(Path::new("/")));
        let reused = Thread {
            start_ticks: thread.start_ticks + 1,
            ..thread
        };
        assert!(!reused.lives_below(Path::new("/")));
        drop(end);
        handle.join().unwrap();
        while thread.lives_below(Path::new("/")) {
            std::thread::yield_now();
        }
    }

    #[test]
    fn names_may_look_like_the_rest_of_the_line() {
        let line =
            b"7 (a) R 1 (b) S 1 7 7 0 -1 64 0 0 0 0 1 2 0 0 -51 0 1 0 123 0 0 0 0 0 0 0 0 0 \
            0 0 0 0 0 0 17 3 50 1 0 0 0 0 0 0 0 0 0 0 0";
        let stat = Stat::parse(line).unwrap();
        assert_eq!(stat.name, "a) R 1 (b");
        assert_eq!((stat.state, stat.flags, stat.start_ticks), ('S', 64, 123));
        assert_eq!((stat.real_time_priority, stat.policy), (50, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Stat::parse(&text);
        }
    }
}
