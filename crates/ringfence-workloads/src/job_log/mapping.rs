//! The shared memory as references to atomics: the only `unsafe` of the job log.

use std::fmt;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::Relaxed;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::layout::{Event, Header, MAGIC, Size, Slot, VERSION};

/// A log in this process's memory.
pub(super) struct Mapping {
    start: NonNull<u8>,
    mapped_bytes: usize,
    size: Size,
}

// SAFETY: the mapping belongs to this value alone and is read and written through
// atomics only.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps a file of which the first `size.bytes()` bytes are there for as long as the
    /// mapping: it is sealed against shrinking, or whoever could shrink it does not. If
    /// it were shrunk, an access would end this process by SIGBUS.
    pub(super) fn of(file: BorrowedFd<'_>, size: Size) -> std::io::Result<Self> {
        let start = map(file, size.bytes())?;
        Ok(Self {
            start,
            mapped_bytes: size.bytes(),
            size,
        })
    }

    /// Maps a file that says itself how large it is; `None` when it is no log.
    pub(super) fn open(file: BorrowedFd<'_>) -> std::io::Result<Option<Self>> {
        let file_bytes = usize::try_from(rustix::fs::fstat(file)?.st_size).unwrap_or(0);
        if file_bytes < size_of::<Header>() {
            return Ok(None);
        }
        let mut mapping = Self {
            start: map(file, file_bytes)?,
            mapped_bytes: file_bytes,
            size: Size::default(),
        };
        let shape = &mapping.header().shape.0;
        let is_log = shape.magic.load(Relaxed) == MAGIC && shape.version.load(Relaxed) == VERSION;
        let size = Size::new(shape.slots.load(Relaxed), shape.events.load(Relaxed));
        Ok(match size {
            Ok(size) if is_log && size.bytes() <= file_bytes => {
                mapping.size = size;
                Some(mapping)
            }
            _ => None,
        })
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    pub(super) fn header(&self) -> &Header {
        // SAFETY: the mapping starts at a page, is longer than a header, and lives as
        // long as `self`. Any bytes are a header, as it consists of atomics.
        unsafe { self.start.cast().as_ref() }
    }

    /// Slot `number` and its events.
    ///
    /// # Panics
    /// When there is no such slot.
    pub(super) fn slot(&self, number: u32) -> (&Slot, &[Event]) {
        assert!(number < self.size.slots(), "slot {number}");
        let offset = size_of::<Header>() + number as usize * self.size.slot_bytes();
        // SAFETY: the slot and its events end before `size.bytes()`, which are mapped.
        // Header and slots are whole cache lines, so that both are aligned. Any bytes
        // are a slot and events, as these consist of atomics.
        unsafe {
            let slot = self.start.add(offset);
            let events = slot.add(size_of::<Slot>()).cast();
            let events = std::slice::from_raw_parts(events.as_ptr(), self.size.events() as usize);
            (slot.cast().as_ref(), events)
        }
    }

    /// All slots in order.
    pub(super) fn slots(&self) -> impl Iterator<Item = (&Slot, &[Event])> {
        (0..self.size.slots()).map(|number| self.slot(number))
    }
}

fn map(file: BorrowedFd<'_>, bytes: usize) -> std::io::Result<NonNull<u8>> {
    // SAFETY: a new mapping at a place that the system chooses touches nothing else.
    let start = unsafe {
        mmap(
            std::ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::SHARED,
            file,
            0,
        )?
    };
    NonNull::new(start.cast()).ok_or_else(|| rustix::io::Errno::NOMEM.into())
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours and nothing else points into it.
        // Unmapping whole pages that are mapped cannot fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped_bytes) };
    }
}

impl fmt::Debug for Mapping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Mapping")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}
