//! A bell that one thread rings and others sleep beside: a futex (futex(2)), which is what threads
//! of a process wake each other with.

use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex::{self, Flags};

#[derive(Default)]
pub struct Bell {
    rung: AtomicU32,
}

impl Bell {
    /// How often it was rung.
    pub fn rung(&self) -> u32 {
        self.rung.load(Ordering::SeqCst)
    }

    /// Rings it, and wakes up to `most` who sleep; how many that were.
    pub fn ring(&self, most: u32) -> usize {
        self.rung.fetch_add(1, Ordering::SeqCst);
        futex::wake(&self.rung, Flags::PRIVATE, most).unwrap_or(0)
    }

    /// Sleeps until it is rung, unless it was rung since somebody has `seen` it.
    pub fn wait(&self, seen: u32) {
        // That it was rung, or a signal came, is no error: callers look again.
        let _ = futex::wait(&self.rung, Flags::PRIVATE, seen, None);
    }
}
