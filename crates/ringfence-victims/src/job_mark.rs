//! Tells `ringfence trace record` where the jobs of a program begin and end.
//!
//! ```
//! let marks = ringfence_victims::job_mark::JobMarks::map();
//! for _ in 0..3 {
//!     marks.begin();
//!     // … one job …
//!     marks.end();
//! }
//! ```
//!
//! A mark is a store of one byte into a page at a fixed address, which the
//! recorder recognises. Outside a recording it is just that store. If the
//! page cannot be mapped, because something else is there, marks do nothing.
//! `ringfence_job_mark.h` is the same for C.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, compiler_fence};

/// Address of the page; the recorder watches it.
pub const PAGE_ADDRESS: usize = 0x6_6d61_0000;
/// Bytes mapped; kernels with larger pages map one of theirs.
const PAGE_BYTES: usize = 4096;
/// A store here begins a job.
pub const BEGIN_OFFSET: usize = 0;
/// A store here ends a job.
pub const END_OFFSET: usize = 64;

/// The mapped page. One per process; a second one marks nothing.
///
/// Begin and end alternate, from one thread.
#[derive(Debug)]
pub struct JobMarks {
    page: Option<NonNull<u8>>,
}

impl JobMarks {
    /// Maps the page, if its place is free.
    pub fn map() -> Self {
        let place = std::ptr::without_provenance_mut(PAGE_ADDRESS);
        // SAFETY: FIXED_NOREPLACE leaves existing mappings alone; kernels before
        // 4.17 take the address as a hint, which leaves them alone too.
        let mapped = unsafe {
            mmap_anonymous(
                place,
                PAGE_BYTES,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE | MapFlags::FIXED_NOREPLACE,
            )
        };
        let marks = Self {
            page: mapped.ok().and_then(|page| NonNull::new(page.cast())),
        };
        match marks.page {
            // Elsewhere: dropping `marks` gives it back.
            Some(page) if page.addr().get() != PAGE_ADDRESS => Self { page: None },
            _ => marks,
        }
    }

    /// Whether marks can be seen by a recorder.
    pub fn is_mapped(&self) -> bool {
        self.page.is_some()
    }

    /// A job begins.
    #[inline]
    pub fn begin(&self) {
        self.store(BEGIN_OFFSET);
    }

    /// The job ends.
    #[inline]
    pub fn end(&self) {
        self.store(END_OFFSET);
    }

    #[inline]
    fn store(&self, offset: usize) {
        let Some(page) = self.page else { return };
        // The job's own accesses stay on their side of the mark.
        compiler_fence(Ordering::SeqCst);
        // SAFETY: `page` is a writable mapping of PAGE_BYTES bytes that lives as
        // long as `self`, and both offsets are inside it.
        unsafe { page.add(offset).write_volatile(1) };
        compiler_fence(Ordering::SeqCst);
    }
}

impl Drop for JobMarks {
    fn drop(&mut self) {
        if let Some(page) = self.page {
            // SAFETY: this mapping is ours and nothing else points into it.
            // Unmapping whole pages that are mapped cannot fail.
            let _ = unsafe { munmap(page.as_ptr().cast(), PAGE_BYTES) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_page_a_process_and_it_is_given_back() {
        let first = JobMarks::map();
        let second = JobMarks::map();
        assert!(first.is_mapped() && !second.is_mapped());
        first.begin();
        second.begin();
        second.end();
        first.end();
        drop(first);
        assert!(JobMarks::map().is_mapped());
    }

    #[test]
    fn places_agree_with_the_recorder_and_the_c_header() {
        use ringfence_trace::job_mark as recorder;
        assert_eq!(PAGE_ADDRESS as u64, recorder::PAGE_ADDRESS);
        assert_eq!(BEGIN_OFFSET as u64, recorder::BEGIN_OFFSET);
        assert_eq!(END_OFFSET as u64, recorder::END_OFFSET);
        let header = include_str!("../include/ringfence_job_mark.h");
        for line in [
            format!("#define RINGFENCE_JOB_MARK_ADDRESS 0x{PAGE_ADDRESS:x}"),
            format!("#define RINGFENCE_JOB_MARK_BEGIN {BEGIN_OFFSET}"),
            format!("#define RINGFENCE_JOB_MARK_END {END_OFFSET}"),
        ] {
            assert!(header.lines().any(|found| found == line), "{line}");
        }
    }
}
