//! Puts the thread that keeps the record above all gangs for a while.
//!
//! It shares memory with the agent, and so locks in the kernel and in the allocator. If a gang
//! could keep it from its CPU while it holds one, the agent would wait for the gang.

use std::io;
use std::marker::PhantomData;

use crate::sys::{self, Attributes};

/// Priority in SCHED_FIFO: above all gangs, and below the guard and the agent.
const PRIORITY: u32 = 97;

/// The calling thread is above all gangs until this is dropped, in the same thread. Threads and
/// processes that it starts are not.
#[derive(Debug)]
pub struct Above {
    before: Attributes,
    // Whoever drops it is who made it.
    _not_send: PhantomData<*const ()>,
}

impl Above {
    /// Puts the calling thread there.
    ///
    /// # Errors
    /// It is not allowed.
    pub fn rise() -> io::Result<Self> {
        let before = sys::attributes(0)?;
        let above = Attributes {
            policy: libc::SCHED_FIFO.cast_unsigned(),
            flags: sys::RESET_ON_FORK,
            priority: PRIORITY,
            ..Attributes::default()
        };
        sys::set_attributes(0, &above)?;
        Ok(Self {
            before,
            _not_send: PhantomData,
        })
    }
}

impl Drop for Above {
    fn drop(&mut self) {
        // It was allowed to be so before.
        let _ = sys::set_attributes(0, &self.before);
    }
}
