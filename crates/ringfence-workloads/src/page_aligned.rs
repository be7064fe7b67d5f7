//! Data whose place in its page is always the same.
//!
//! A recorded trace keeps the offset of each access in its page. Where the
//! allocator and the loader put data depends on the length of arguments, the
//! environment and paths; at the start of a page it does not.

use std::ops::{Deref, DerefMut};

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// A value at the start of a page, and the stack of what it calls below it:
/// hold the state of a job in one on the stack, and let the job be a function
/// of its own that is not inlined.
#[derive(Debug)]
#[repr(C, align(4096))]
pub struct PageAligned<T>(pub T);

/// A slice of fixed length that starts at a page.
#[derive(Debug)]
pub struct PageAlignedSlice<T> {
    /// Holds the slice and what is skipped to align it; never grows.
    storage: Vec<T>,
    start: usize,
    length: usize,
}

impl<T: Copy> PageAlignedSlice<T> {
    /// `length` copies of `value`.
    pub fn new(value: T, length: usize) -> Self {
        let spare = PAGE_BYTES / size_of::<T>().max(1) + 1;
        let storage = vec![value; length + spare];
        // The offset exists for every type whose size divides the page.
        let start = storage.as_ptr().align_offset(PAGE_BYTES).min(spare);
        Self {
            storage,
            start,
            length,
        }
    }
}

impl<T> Deref for PageAlignedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.storage[self.start..][..self.length]
    }
}

impl<T> DerefMut for PageAlignedSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.storage[self.start..][..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slices_start_at_pages() {
        for length in [0, 1, 511, 5000] {
            let slice = PageAlignedSlice::new(7u16, length);
            assert_eq!(slice.as_ptr().addr() % PAGE_BYTES, 0);
            assert_eq!(*slice, *vec![7; length]);
        }
    }
}
