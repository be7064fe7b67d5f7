//! Reads events out of a BPF ring buffer.

use std::cell::RefCell;
use std::io;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};

use crate::sys;

/// A ring buffer of events.
pub struct Ring<T> {
    buffer: RingBuffer<'static>,
    events: Rc<RefCell<Vec<T>>>,
}

impl<T: 'static> Ring<T> {
    /// Reads `map`, whose samples `parse` understands; others are left out.
    ///
    /// # Errors
    /// The map is no ring buffer.
    pub fn of(
        map: &dyn MapCore,
        parse: impl Fn(&[u8]) -> Option<T> + 'static,
    ) -> Result<Self, libbpf_rs::Error> {
        let events = Rc::new(RefCell::new(Vec::new()));
        let into = Rc::clone(&events);
        let mut builder = RingBufferBuilder::new();
        builder.add(map, move |bytes| {
            into.borrow_mut().extend(parse(bytes));
            0
        })?;
        Ok(Self {
            buffer: builder.build()?,
            events,
        })
    }

    /// What can be read when something has come.
    pub fn waits_on(&self) -> BorrowedFd<'_> {
        sys::ring_descriptor(&self.buffer)
    }

    /// What came since it was last asked, in the order of the buffer.
    ///
    /// # Errors
    /// The buffer cannot be read.
    pub fn drain(&mut self) -> io::Result<Vec<T>> {
        self.buffer.consume().map_err(io::Error::other)?;
        Ok(self.events.take())
    }
}

/// The `N` bytes of a sample from `offset` on.
pub fn field<const N: usize>(bytes: &[u8], offset: usize) -> Option<[u8; N]> {
    bytes.get(offset..offset + N)?.try_into().ok()
}
