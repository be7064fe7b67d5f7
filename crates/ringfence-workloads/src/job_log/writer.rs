//! The side of the program: registers threads and makes marks.

use std::marker::PhantomData;
use std::os::fd::{AsFd, IntoRawFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::fence;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::thread::futex;
use rustix::time::Timespec;

use super::layout::{Event, LEFT, NAME_BYTES, Slot};
use super::mapping::Mapping;
use super::reader::Answer;
use super::{JobLogError, Kind, VARIABLE};
use crate::clock::now_ns;

/// Opens the log at `path` for whatever this process executes, which may not be allowed to do so
/// itself; what goes into [`VARIABLE`] for it. The file stays open until this process ends.
///
/// # Errors
/// There is none of this version, or it cannot be opened.
pub fn hand_down(path: &Path) -> Result<PathBuf, JobLogError> {
    Jobs::open(path)?;
    // Not closed by what is executed.
    let file = rustix::fs::open(path, OFlags::RDWR, Mode::empty());
    let file = file.map_err(|code| JobLogError::File {
        path: path.display().to_string(),
        source: code.into(),
    })?;
    Ok(format!("/proc/self/fd/{}", file.into_raw_fd()).into())
}

/// A program's way to the job log; nothing without one.
#[derive(Debug, Clone, Default)]
pub struct Jobs(Option<Arc<Mapping>>);

impl Jobs {
    /// No log: what is made of it does nothing.
    pub fn none() -> Self {
        Self(None)
    }

    /// The log that [`VARIABLE`] names, none if it is not set or empty.
    ///
    /// # Errors
    /// When it names something else.
    pub fn from_environment() -> Result<Self, JobLogError> {
        match std::env::var_os(VARIABLE) {
            Some(path) if !path.is_empty() => Self::open(Path::new(&path)),
            _ => Ok(Self::none()),
        }
    }

    /// The log at `path`.
    ///
    /// # Errors
    /// When there is none of this version.
    pub fn open(path: &Path) -> Result<Self, JobLogError> {
        let named = || path.display().to_string();
        let error = |source| JobLogError::File {
            path: named(),
            source,
        };
        let flags = OFlags::RDWR | OFlags::CLOEXEC;
        let file =
            rustix::fs::open(path, flags, Mode::empty()).map_err(|code| error(code.into()))?;
        let mapping = Mapping::open(file.as_fd()).map_err(error)?;
        let mapping = mapping.ok_or_else(|| JobLogError::NotALog { path: named() })?;
        Ok(Self(Some(Arc::new(mapping))))
    }

    /// Takes a slot for the calling thread and touches its memory, so that marks wait for
    /// nothing later. The marks are of task `task`, whose meaning is the agent's.
    ///
    /// # Errors
    /// When no slot is free.
    pub fn register(&self, task: u32) -> Result<ThreadJobs, JobLogError> {
        let place = match &self.0 {
            None => None,
            Some(mapping) => Some(Place::claim(mapping)?),
        };
        Ok(ThreadJobs {
            place,
            task,
            job: 0,
            here: PhantomData,
        })
    }
}

/// The calling thread's marks. A process that forks registers again in the child.
#[derive(Debug)]
pub struct ThreadJobs {
    place: Option<Place>,
    task: u32,
    /// Number of the job that runs or comes next, for [`Self::begin`] and [`Self::end`].
    job: u64,
    /// The slot has this thread's number: it stays here.
    here: PhantomData<*const ()>,
}

impl ThreadJobs {
    /// The thread begins its next job.
    pub fn begin(&mut self) {
        if self.place.is_some() {
            self.mark(Kind::Begin, self.job, now_ns());
        }
    }

    /// The thread has ended the job.
    pub fn end(&mut self) {
        if self.place.is_some() {
            self.mark(Kind::End, self.job, now_ns());
        }
        self.job += 1;
    }

    /// Says of job `job` that `kind` was the case at `time_ns` of CLOCK_MONOTONIC.
    pub fn mark(&mut self, kind: Kind, job: u64, time_ns: u64) {
        if let Some(place) = &mut self.place {
            place.put([
                time_ns,
                job,
                u64::from(self.task) << 32 | u64::from(kind as u32),
            ]);
            if kind.rings() {
                ring(&place.mapping);
            }
        }
    }

    /// Asks the agent to take this thread into a gang, and waits for the answer.
    ///
    /// # Errors
    /// When the agent refuses it or does not answer in time.
    pub fn join_gang(&mut self, gang: &str, patience: Duration) -> Result<(), JobLogError> {
        if !(1..=NAME_BYTES).contains(&gang.len()) || gang.contains('\0') {
            return Err(JobLogError::Name(gang.len()));
        }
        let answer = match &mut self.place {
            None => Answer::Accepted,
            Some(place) => place.ask(gang, patience)?,
        };
        match answer {
            Answer::Accepted => Ok(()),
            Answer::UnknownGang => Err(JobLogError::UnknownGang(gang.to_owned())),
            Answer::Refused => Err(JobLogError::Refused(gang.to_owned())),
        }
    }

    /// Asks the agent to let this thread go from its gang, and waits for the answer.
    ///
    /// # Errors
    /// When the agent does not answer in time.
    pub fn leave_gang(&mut self, patience: Duration) -> Result<(), JobLogError> {
        if let Some(place) = &mut self.place {
            place.ask("", patience)?;
        }
        Ok(())
    }
}

/// A slot that this thread has.
#[derive(Debug)]
struct Place {
    mapping: Arc<Mapping>,
    slot: u32,
    /// Events put in, and how many of them the agent had taken when last looked.
    head: u64,
    tail: u64,
    lost: u64,
}

impl Place {
    /// Takes the first free slot: as many tries as there are slots.
    fn claim(mapping: &Arc<Mapping>) -> Result<Self, JobLogError> {
        let process = rustix::process::getpid().as_raw_nonzero().get() as u64;
        let thread = rustix::thread::gettid().as_raw_nonzero().get() as u64;
        let owner = process << 32 | thread;
        let slots = mapping.size().slots();
        for number in 0..slots {
            let (slot, events) = mapping.slot(number);
            let taken = slot.owner.0.compare_exchange(0, owner, AcqRel, Relaxed);
            if taken.is_err() {
                continue;
            }
            touch(events);
            return Ok(Self {
                mapping: Arc::clone(mapping),
                slot: number,
                head: slot.producer.0.head.load(Relaxed),
                tail: slot.tail.0.load(Acquire),
                lost: 0,
            });
        }
        Err(JobLogError::Full(slots))
    }

    fn put(&mut self, words: [u64; 3]) {
        let (slot, events) = self.mapping.slot(self.slot);
        let room = events.len() as u64;
        if self.head.wrapping_sub(self.tail) >= room {
            self.tail = slot.tail.0.load(Acquire);
        }
        if self.head.wrapping_sub(self.tail) >= room {
            self.lost += 1;
            slot.producer.0.lost.store(self.lost, Relaxed);
            return;
        }
        let event = &events[(self.head & (room - 1)) as usize];
        for (place, word) in event.iter().zip(words) {
            place.store(word, Relaxed);
        }
        self.head = self.head.wrapping_add(1);
        slot.producer.0.head.store(self.head, Release);
    }

    /// Makes a request and waits for its answer; an empty name leaves the gang.
    fn ask(&mut self, gang: &str, patience: Duration) -> Result<Answer, JobLogError> {
        let (slot, _) = self.mapping.slot(self.slot);
        let membership = &slot.membership.0;
        // It is odd already where a thread was killed while it wrote.
        let writing = membership.request.load(Relaxed) | 1;
        membership.request.store(writing, Relaxed);
        fence(Release);
        write_name(slot, gang);
        let request = writing.wrapping_add(1);
        membership.request.store(request, Release);
        ring(&self.mapping);
        let end = Instant::now() + patience;
        loop {
            let answered = membership.answered.load(Acquire);
            if answered == request {
                let answer = membership.answer.load(Relaxed);
                return Ok(Answer::from_number(answer).unwrap_or(Answer::Refused));
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(JobLogError::NoAnswer(patience.as_millis()));
            }
            // It ends for any reason: the answer is looked at again.
            let left = Timespec::try_from(left).ok();
            let _ = futex::wait(
                &membership.answered,
                futex::Flags::empty(),
                answered,
                left.as_ref(),
            );
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (slot, _) = self.mapping.slot(self.slot);
        slot.owner.0.fetch_or(LEFT, Release);
        ring(&self.mapping);
    }
}

/// Has every page of the events in memory before the first mark.
fn touch(events: &[Event]) {
    for event in events {
        event[0].store(0, Relaxed);
    }
}

fn write_name(slot: &Slot, gang: &str) {
    let mut bytes = [0; NAME_BYTES];
    bytes[..gang.len()].copy_from_slice(gang.as_bytes());
    let words = bytes.as_chunks().0;
    for (place, word) in slot.gang.0.iter().zip(words) {
        place.store(u64::from_ne_bytes(*word), Relaxed);
    }
}

/// Wakes the agent, unless it has been and has not looked since.
fn ring(mapping: &Mapping) {
    let doorbell = &mapping.header().doorbell.0;
    if doorbell.swap(1, AcqRel) == 0 {
        // Nobody may be waiting, which is fine.
        let _ = futex::wake(doorbell, futex::Flags::empty(), 1);
    }
}
