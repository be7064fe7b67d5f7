//! The side of the agent: makes the log, takes marks out, answers requests.
//!
//! Whatever programs write, one call does at most so much work as the log is large.

use std::fmt;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;
use std::time::Duration;

use rustix::fs::{MemfdFlags, SealFlags};
use rustix::thread::futex;
use rustix::time::Timespec;

use super::layout::{Event, LEFT, MAGIC, NAME_BYTES, Size, Slot, VERSION};
use super::mapping::Mapping;
use super::{JobLogError, Kind, ThreadId};

/// A log, as the agent that made it sees it.
#[derive(Debug)]
pub struct JobLog {
    file: OwnedFd,
    mapping: Mapping,
    /// What the agent knows of each slot. It believes this and not the shared memory,
    /// where programs can write.
    seen: Vec<Seen>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Seen {
    /// Events taken.
    tail: u64,
    lost: u64,
    answered: u32,
}

/// What a thread said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Who said it.
    pub thread: ThreadId,
    /// When, in nanoseconds of CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// What.
    pub kind: Kind,
    /// The task, by the number with which the thread registered.
    pub task: u32,
    /// The job, counted from 0.
    pub job: u64,
}

/// What came out of the log beside marks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drained {
    /// Marks for which there was no room since the last time.
    pub lost: u64,
    /// Marks and rings that made no sense and were left out: somebody has written
    /// where it must not.
    pub damaged: u64,
    /// Threads that have ended; their slots are free again.
    pub left: Vec<ThreadId>,
}

/// A thread asks for a gang. Who it says that it is must be checked by the agent: a
/// program can write anything.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The thread.
    pub thread: ThreadId,
    /// The gang that it wants to be a member of; `None` is none from now on.
    pub gang: Option<String>,
}

/// What the agent says to a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Answer {
    /// It is done.
    Accepted = 1,
    /// There is no gang of this name.
    UnknownGang = 2,
    /// This thread may not.
    Refused = 3,
}

impl Answer {
    pub(super) fn from_number(number: u32) -> Option<Self> {
        let all = [Self::Accepted, Self::UnknownGang, Self::Refused];
        all.into_iter().find(|answer| *answer as u32 == number)
    }
}

/// Who hears what threads say and ask; see [`JobLog::attend`].
pub trait Listener {
    /// A thread has said something.
    fn mark(&mut self, mark: Mark);
    /// A thread asks for a gang.
    fn request(&mut self, request: Request) -> Answer;
}

impl JobLog {
    /// Makes a log in memory that no program can shrink.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn create(size: Size) -> Result<Self, JobLogError> {
        Self::try_create(size).map_err(|source| JobLogError::File {
            path: "memory for the job log".to_owned(),
            source,
        })
    }

    fn try_create(size: Size) -> std::io::Result<Self> {
        let flags = MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("ringfence-jobs", flags)?;
        rustix::fs::ftruncate(&file, size.bytes() as u64)?;
        let seals = SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL;
        rustix::fs::fcntl_add_seals(&file, seals)?;
        let mapping = Mapping::of(file.as_fd(), size)?;
        let shape = &mapping.header().shape.0;
        shape.version.store(VERSION, Relaxed);
        shape.slots.store(size.slots(), Relaxed);
        shape.events.store(size.events(), Relaxed);
        shape.magic.store(MAGIC, Release);
        Ok(Self {
            file,
            mapping,
            seen: vec![Seen::default(); size.slots() as usize],
        })
    }

    /// What goes into [`super::VARIABLE`]. It holds while the agent lives, for programs
    /// that may look into the agent's folder in `/proc`: those of the same user, or of root.
    /// Others inherit [`Self::file`] and get `/proc/self/fd/N`.
    pub fn path(&self) -> PathBuf {
        let process = rustix::process::getpid().as_raw_nonzero();
        PathBuf::from(format!("/proc/{process}/fd/{}", self.file.as_raw_fd()))
    }

    /// The shared memory.
    pub fn file(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Waits until a program has news that cannot wait (a request, or a thread that went
    /// to sleep or woke), or for `patience`. Take marks and requests after it.
    pub fn wait(&self, patience: Duration) {
        let doorbell = &self.mapping.header().doorbell.0;
        let patience = Timespec::try_from(patience).ok();
        // Whatever ends it, the caller looks.
        let _ = futex::wait(doorbell, futex::Flags::empty(), 0, patience.as_ref());
        doorbell.swap(0, AcqRel);
    }

    /// Takes out all marks that are there: of each thread in order, thread after thread.
    pub fn drain(&mut self, mut see: impl FnMut(Mark)) -> Drained {
        let mut drained = Drained::default();
        for ((slot, events), seen) in self.mapping.slots().zip(&mut self.seen) {
            // First the owner: when it has left, all its marks are there.
            let owner = slot.owner.0.load(Acquire);
            if owner == 0 {
                continue;
            }
            let thread = thread_of(owner);
            take(slot, events, seen, &mut drained, &mut see, thread);
            if owner & LEFT != 0 {
                free(slot, seen);
                drained.left.push(thread);
            }
        }
        drained
    }

    /// Hands every new request to `decide`, at most one of each thread.
    pub fn answer(&mut self, mut decide: impl FnMut(Request) -> Answer) {
        for ((slot, _), seen) in self.mapping.slots().zip(&mut self.seen) {
            if let Some(question) = question(slot, seen) {
                question.answer(slot, seen, &mut decide);
            }
        }
    }

    /// Takes out all marks, as [`Self::drain`], and has requests answered, as [`Self::answer`]:
    /// what a thread said before it asked comes before its request.
    pub fn attend(&mut self, listener: &mut impl Listener) -> Drained {
        let mut drained = Drained::default();
        for ((slot, events), seen) in self.mapping.slots().zip(&mut self.seen) {
            let Some(question) = question(slot, seen) else {
                continue;
            };
            let hear = |mark| listener.mark(mark);
            take(slot, events, seen, &mut drained, hear, question.thread);
            question.answer(slot, seen, |request| listener.request(request));
        }
        let rest = self.drain(|mark| listener.mark(mark));
        drained.lost = drained.lost.saturating_add(rest.lost);
        drained.damaged = drained.damaged.saturating_add(rest.damaged);
        drained.left = rest.left;
        drained
    }

    /// Has threads that ended without saying so leave; [`Self::drain`] then names them. It
    /// looks for each in `/proc`, so the programs must be in this PID namespace.
    pub fn reclaim(&mut self) {
        for (slot, _) in self.mapping.slots() {
            let owner = slot.owner.0.load(Acquire);
            if owner == 0 || owner & LEFT != 0 || is_alive(thread_of(owner)) {
                continue;
            }
            // It may have been taken by another thread meanwhile.
            let _ = slot
                .owner
                .0
                .compare_exchange(owner, owner | LEFT, AcqRel, Relaxed);
        }
    }
}

/// A request that was not answered yet.
struct Question {
    number: u32,
    thread: ThreadId,
    /// `None` when it is no text.
    name: Option<String>,
}

/// What the thread of this slot asks, if it is new.
fn question(slot: &Slot, seen: &Seen) -> Option<Question> {
    let owner = slot.owner.0.load(Acquire);
    let membership = &slot.membership.0;
    let number = membership.request.load(Acquire);
    let is_being_written = number % 2 == 1;
    if owner & !LEFT == 0 || number == seen.answered || is_being_written {
        return None;
    }
    let name = read_name(slot);
    fence(Acquire);
    // Otherwise it gave up and asks for something else: the name may be of both.
    let is_whole = membership.request.load(Relaxed) == number;
    is_whole.then(|| Question {
        number,
        thread: thread_of(owner),
        name,
    })
}

impl Question {
    fn answer(self, slot: &Slot, seen: &mut Seen, decide: impl FnOnce(Request) -> Answer) {
        seen.answered = self.number;
        let answer = match self.name {
            None => Answer::UnknownGang,
            Some(name) => decide(Request {
                thread: self.thread,
                gang: Some(name).filter(|name| !name.is_empty()),
            }),
        };
        let membership = &slot.membership.0;
        membership.answer.store(answer as u32, Relaxed);
        membership.answered.store(self.number, Release);
        let _ = futex::wake(&membership.answered, futex::Flags::empty(), 1);
    }
}

/// Takes the events out of a slot.
fn take(
    slot: &Slot,
    events: &[Event],
    seen: &mut Seen,
    drained: &mut Drained,
    mut see: impl FnMut(Mark),
    thread: ThreadId,
) {
    let head = slot.producer.0.head.load(Acquire);
    let pending = head.wrapping_sub(seen.tail);
    if pending > events.len() as u64 {
        drained.damaged += 1;
    } else {
        for number in 0..pending {
            let index = seen.tail.wrapping_add(number) & (events.len() as u64 - 1);
            match read(&events[index as usize], thread) {
                Some(mark) => see(mark),
                None => drained.damaged += 1,
            }
        }
    }
    seen.tail = head;
    slot.tail.0.store(head, Release);
    let lost = slot.producer.0.lost.load(Relaxed);
    let more = lost.saturating_sub(seen.lost);
    drained.lost = drained.lost.saturating_add(more);
    seen.lost = lost;
}

fn read(event: &Event, thread: ThreadId) -> Option<Mark> {
    let [time_ns, job, what] = event.each_ref().map(|word| word.load(Relaxed));
    Some(Mark {
        thread,
        time_ns,
        kind: Kind::from_number(what as u32)?,
        task: (what >> 32) as u32,
        job,
    })
}

/// Gives a slot back, as the next thread expects it.
fn free(slot: &Slot, seen: &mut Seen) {
    let request = slot.membership.0.request.load(Relaxed);
    slot.producer.0.head.store(seen.tail, Relaxed);
    slot.producer.0.lost.store(0, Relaxed);
    seen.lost = 0;
    // A request that nobody waits for any more is not the next thread's.
    slot.membership.0.answered.store(request, Relaxed);
    seen.answered = request;
    slot.owner.0.store(0, Release);
}

fn thread_of(owner: u64) -> ThreadId {
    ThreadId {
        process: ((owner & !LEFT) >> 32) as u32,
        thread: owner as u32,
    }
}

fn is_alive(ThreadId { process, thread }: ThreadId) -> bool {
    Path::new(&format!("/proc/{process}/task/{thread}")).exists()
}

/// The gang's name, empty for none; `None` when it is no text.
fn read_name(slot: &Slot) -> Option<String> {
    let mut bytes = [0; NAME_BYTES];
    for (place, word) in bytes.chunks_exact_mut(8).zip(&slot.gang.0) {
        place.copy_from_slice(&word.load(Relaxed).to_ne_bytes());
    }
    let length = bytes.iter().position(|byte| *byte == 0);
    let name = &bytes[..length.unwrap_or(NAME_BYTES)];
    std::str::from_utf8(name).ok().map(str::to_owned)
}

impl fmt::Display for ThreadId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "thread {} of process {}",
            self.thread, self.process
        )
    }
}
