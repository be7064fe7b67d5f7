//! Data whose place in its page is always the same.
//!
//! A recorded trace keeps the offset of each access in its page. Where the
//! allocator and the loader put data depends on the length of arguments, the
//! environment and paths; at the start of a page it does not.

use std::ops::{Deref, DerefMut};

use aligned_vec::{ABox, ConstAlign, avec};

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
pub struct PageAlignedSlice<T>(ABox<[T], ConstAlign<PAGE_BYTES>>);

impl<T: Copy> PageAlignedSlice<T> {
    /// `length` copies of `value`.
    pub fn new(value: T, length: usize) -> Self {
        Self(avec![[PAGE_BYTES]| value; length].into_boxed_slice())
    }
}

impl<T> Deref for PageAlignedSlice<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0
    }
}

impl<T> DerefMut for PageAlignedSlice<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.0
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
            let of_odd_size = PageAlignedSlice::new([7u16; 3], length);
            assert_eq!(of_odd_size.as_ptr().addr() % PAGE_BYTES, 0);
            let of_large_size = PageAlignedSlice::new([7u8; 64], length);
            assert_eq!(of_large_size.as_ptr().addr() % PAGE_BYTES, 0);
        }
    }
}
