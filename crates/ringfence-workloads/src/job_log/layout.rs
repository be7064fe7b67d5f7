//! Layout of the shared memory; `ringfence_jobs.h` says the same in C.
//!
//! Everything in it is atomic, as other processes change it at any time. What one side
//! writes and what the other side writes lie in different cache lines.

use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::JobLogError;

/// First bytes of a log.
pub(super) const MAGIC: u64 = u64::from_ne_bytes(*b"RFJOBS\0\0");
/// Changes with the layout.
pub(super) const VERSION: u32 = 1;
/// Bytes of a gang's name: 64 characters, the most that a scenario allows, in UTF-8.
pub(super) const NAME_BYTES: usize = 256;
/// In [`Slot::owner`]: the thread has left, and the agent may give the slot to another.
pub(super) const LEFT: u64 = 1 << 63;

/// A value in cache lines of its own.
#[repr(C, align(64))]
pub(super) struct Line<T>(pub(super) T);

/// Begin of the file.
#[repr(C)]
pub(super) struct Header {
    pub(super) shape: Line<Shape>,
    /// 1 from the time that there is news until the agent looks; a futex.
    pub(super) doorbell: Line<AtomicU32>,
}

/// What the file is; written once.
#[repr(C)]
pub(super) struct Shape {
    pub(super) magic: AtomicU64,
    pub(super) version: AtomicU32,
    pub(super) slots: AtomicU32,
    /// Of each slot; a power of two.
    pub(super) events: AtomicU32,
}

/// Begin of a slot; its events come after it.
#[repr(C)]
pub(super) struct Slot {
    /// Process in the upper and thread in the lower half, [`LEFT`]; 0 is a free slot.
    pub(super) owner: Line<AtomicU64>,
    /// Written by the thread.
    pub(super) producer: Line<Producer>,
    /// Events that the agent has taken.
    pub(super) tail: Line<AtomicU64>,
    pub(super) membership: Line<Membership>,
    /// Gang that the thread wants to join, then zeros; all zeros: none.
    pub(super) gang: Line<[AtomicU64; NAME_BYTES / 8]>,
}

#[repr(C)]
pub(super) struct Producer {
    /// Events put in since the slot was first taken.
    pub(super) head: AtomicU64,
    /// Events for which there was no room since the thread registered.
    pub(super) lost: AtomicU64,
}

#[repr(C)]
pub(super) struct Membership {
    /// Twice the requests made, and one more while the thread writes the gang.
    pub(super) request: AtomicU32,
    /// The request that `answer` is for; written by the agent; a futex.
    pub(super) answered: AtomicU32,
    pub(super) answer: AtomicU32,
}

/// Time in nanoseconds of CLOCK_MONOTONIC, job, and kind below task.
pub(super) type Event = [AtomicU64; 3];

// What the C header has, too.
const _: () = assert!(size_of::<Header>() == 128);
const _: () = assert!(size_of::<Slot>() == 512);
const _: () = assert!(size_of::<Event>() == 24);
const _: () = assert!(offset_of!(Slot, gang) == 256);

/// How much a log holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    slots: u32,
    events: u32,
}

impl Size {
    /// Room for `slots` threads at a time, 1 to 65536, with `events` marks of each until
    /// the agent takes them, a power of two from 2 to 65536.
    ///
    /// # Errors
    /// When one is out of range.
    pub fn new(slots: u32, events: u32) -> Result<Self, JobLogError> {
        let is_fine = (1..=1 << 16).contains(&slots)
            && (2..=1 << 16).contains(&events)
            && events.is_power_of_two();
        match is_fine {
            true => Ok(Self { slots, events }),
            false => Err(JobLogError::Size { slots, events }),
        }
    }

    /// Threads at a time.
    pub fn slots(self) -> u32 {
        self.slots
    }

    /// Marks that a thread can make until the agent takes them.
    pub fn events(self) -> u32 {
        self.events
    }

    /// Bytes from one slot to the next, whole cache lines.
    pub(super) fn slot_bytes(self) -> usize {
        (size_of::<Slot>() + self.events as usize * size_of::<Event>()).next_multiple_of(64)
    }

    /// Bytes of the file.
    pub(super) fn bytes(self) -> usize {
        size_of::<Header>() + self.slots as usize * self.slot_bytes()
    }
}

impl Default for Size {
    /// 512 threads, and a second of 1 kHz jobs with a release, a begin and an end each:
    /// 50 MiB of addresses, of which only slots in use take memory.
    fn default() -> Self {
        Self {
            slots: 512,
            events: 4096,
        }
    }
}
