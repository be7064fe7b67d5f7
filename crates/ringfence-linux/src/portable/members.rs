//! What is known of the threads of gangs.

use std::collections::{BTreeMap, VecDeque};

/// A thread of a gang.
#[derive(Debug, Clone)]
pub struct Member {
    /// Index of its gang.
    pub gang: usize,
    /// The CPU that it never leaves, if there is one.
    pub pinned_to: Option<u16>,
    /// Whether it counts as runnable: of a gang that is stopped, whether it was when it was.
    pub is_runnable: bool,
    /// Where it is.
    pub place: Place,
    /// When it was known last not to be on a CPU, unless `place` says otherwise.
    pub known_ns: u64,
    /// What is older tells of the time in which its gang was stopped.
    pub deaf_until_ns: u64,
    /// Since when it waits for a CPU.
    pub ready_ns: Option<u64>,
    /// When it came to a CPU and left it, the last few times.
    pub stays_ns: VecDeque<(u64, u64)>,
}

impl Member {
    /// It was on a CPU between these times.
    pub fn stayed(&mut self, from_ns: u64, to_ns: u64) {
        if self.stays_ns.len() == STAYS {
            self.stays_ns.pop_front();
        }
        self.stays_ns.push_back((from_ns, to_ns));
    }
}

/// Times that a thread can be on a CPU before it is seen that a higher one was runnable: few,
/// as the agent looks at all of them each millisecond.
const STAYS: usize = 32;

/// Where a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On no CPU.
    Off,
    /// On this CPU, since then.
    On(u16, u64),
    /// It has woken at this time, and may be on a CPU: kernels do not tell each time that one
    /// gets a CPU which was idle.
    Woken(u64),
}

/// All of them, by their numbers.
#[derive(Debug, Clone, Default)]
pub struct Members {
    all: BTreeMap<i32, Member>,
}

impl Members {
    /// Takes one in, of which nothing is known before `now_ns`.
    pub fn insert(&mut self, tid: i32, gang: usize, pinned_to: Option<u16>, now_ns: u64) {
        let member = Member {
            gang,
            pinned_to,
            is_runnable: false,
            place: Place::Off,
            known_ns: now_ns,
            deaf_until_ns: 0,
            ready_ns: None,
            stays_ns: VecDeque::with_capacity(STAYS),
        };
        self.all.insert(tid, member);
    }

    /// The member with this number.
    pub fn get(&mut self, tid: i32) -> Option<&mut Member> {
        self.all.get_mut(&tid)
    }

    /// Forgets one that has ended.
    pub fn remove(&mut self, tid: i32) {
        self.all.remove(&tid);
    }

    /// Those of a gang.
    pub fn of(&self, gang: usize) -> impl Iterator<Item = (i32, &Member)> {
        let all = self.all.iter().map(|(&tid, member)| (tid, member));
        all.filter(move |(_, member)| member.gang == gang)
    }

    /// The same, to be changed.
    pub fn of_mut(&mut self, gang: usize) -> impl Iterator<Item = &mut Member> {
        let all = self.all.values_mut();
        all.filter(move |member| member.gang == gang)
    }

    /// All of them.
    pub fn values(&self) -> impl Iterator<Item = &Member> {
        self.all.values()
    }
}
