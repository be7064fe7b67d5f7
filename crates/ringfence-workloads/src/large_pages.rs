//! Memory for walks: whole pages of its own, in huge pages where the system has them.
//!
//! A walk over small pages measures the TLB beside the caches.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32};

/// Bytes of a huge page of the common page tables: 4 KiB pages, 9 bits a level.
const HUGE_PAGE_BYTES: usize = 2 << 20;

/// Zeroed words that start at a page, and at a huge page if there is as much.
#[derive(Debug)]
pub struct LargePages {
    mapping: NonNull<u32>,
    mapping_bytes: usize,
    /// Words before the first that is used.
    skipped: usize,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone, as the memory of a `Vec` does.
unsafe impl Send for LargePages {}
// SAFETY: as above; `&LargePages` gives only `&[u32]`.
unsafe impl Sync for LargePages {}

impl LargePages {
    /// Maps `words` words and asks for huge pages; a system without them gives small ones.
    ///
    /// # Errors
    /// When there is not as much address space.
    pub fn new(words: usize) -> std::io::Result<Self> {
        let bytes = words.max(1) * size_of::<u32>();
        let slack = if bytes < HUGE_PAGE_BYTES {
            0
        } else {
            HUGE_PAGE_BYTES
        };
        let mapping_bytes = bytes + slack;
        // SAFETY: a new mapping at a place that the system chooses touches nothing else.
        let start = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapping_bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )?
        };
        let mapping = NonNull::new(start.cast::<u32>()).ok_or(rustix::io::Errno::NOMEM)?;
        // SAFETY: the whole range is the mapping of above. The advice changes no
        // contents, and a system that cannot follow it says so and goes on.
        let _ = unsafe { madvise(start, mapping_bytes, Advice::LinuxHugepage) };
        let skipped = match slack {
            0 => 0,
            _ => (HUGE_PAGE_BYTES - mapping.addr().get() % HUGE_PAGE_BYTES) / size_of::<u32>(),
        };
        Ok(Self {
            mapping,
            mapping_bytes,
            skipped,
            words,
        })
    }
}

impl Deref for LargePages {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        // SAFETY: `skipped + words` words are inside the mapping, which lives as
        // long as `self`, is zeroed, and is changed through `&mut self` alone.
        unsafe { std::slice::from_raw_parts(self.mapping.as_ptr().add(self.skipped), self.words) }
    }
}

impl DerefMut for LargePages {
    fn deref_mut(&mut self) -> &mut [u32] {
        // SAFETY: as in `deref`; `&mut self` is the only way to the mapping meanwhile.
        unsafe {
            std::slice::from_raw_parts_mut(self.mapping.as_ptr().add(self.skipped), self.words)
        }
    }
}

impl Drop for LargePages {
    fn drop(&mut self) {
        // SAFETY: this mapping is ours and nothing else points into it.
        // Unmapping whole pages that are mapped cannot fail.
        let _ = unsafe { munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

impl LargePages {
    /// Gives the memory to several threads.
    pub fn share<Cell: Shared>(self) -> SharedPages<Cell> {
        SharedPages {
            pages: self,
            cell: PhantomData,
        }
    }
}

/// Memory that threads read and write at the same time, as cells of one kind.
#[derive(Debug)]
pub struct SharedPages<Cell> {
    pages: LargePages,
    cell: PhantomData<Cell>,
}

/// What shared memory can consist of: atomics, for which any bytes are a value and which
/// are no more strictly aligned than words.
pub trait Shared: sealed::Sealed {}

mod sealed {
    pub trait Sealed {}
}

impl sealed::Sealed for AtomicU8 {}
impl sealed::Sealed for AtomicU32 {}
impl Shared for AtomicU8 {}
impl Shared for AtomicU32 {}

impl<Cell: Shared> Deref for SharedPages<Cell> {
    type Target = [Cell];

    fn deref(&self) -> &[Cell] {
        let pages = &self.pages;
        let cells = pages.words * size_of::<u32>() / size_of::<Cell>();
        // SAFETY: the words are inside the mapping, which lives as long as `self`. Nothing
        // but these cells, always of one kind, sees them as long as `self` has the pages,
        // and by `Shared` any bytes at the place of a word are a cell.
        unsafe {
            let first = pages.mapping.as_ptr().add(pages.skipped);
            std::slice::from_raw_parts(first.cast(), cells)
        }
    }
}

/// Bytes of this process that lie in huge pages; `None` where the system does not say.
pub fn huge_bytes() -> Option<u64> {
    huge_bytes_of(&std::fs::read_to_string("/proc/self/smaps_rollup").ok()?)
}

fn huge_bytes_of(smaps: &str) -> Option<u64> {
    let line = smaps
        .lines()
        .find_map(|line| line.strip_prefix("AnonHugePages:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zero_writable_and_aligned() {
        for (words, alignment) in [(1, 4096), (5000, 4096), (1 << 20, HUGE_PAGE_BYTES)] {
            let mut memory = LargePages::new(words).unwrap();
            assert_eq!(memory.len(), words);
            assert_eq!(memory.as_ptr().addr() % alignment, 0);
            assert!(memory.iter().all(|&word| word == 0));
            memory[words - 1] = 7;
            assert_eq!(memory[words - 1], 7);
        }
    }

    #[test]
    fn the_kernels_figure_is_read() {
        let smaps =
            "55d-7fff ---p 0 00:00 0 [rollup]\nRss:  2048 kB\nAnonHugePages:      4096 kB\n";
        assert_eq!(huge_bytes_of(smaps), Some(4 << 20));
        assert_eq!(huge_bytes_of("Rss: 1 kB\n"), None);
        assert_eq!(huge_bytes_of("AnonHugePages: many\n"), None);
    }
}
