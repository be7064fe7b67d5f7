//! Signals that ask to end, so that a run can end in good order.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::{SigId, flag, low_level};

use crate::sys;

/// Watches for SIGINT, SIGTERM and SIGHUP instead of ending by them, until it is dropped. A
/// second one changes nothing: what a run has changed is undone in any case.
pub struct Interruption {
    came: Arc<AtomicUsize>,
    bell: UnixStream,
    handlers: Vec<SigId>,
}

impl Interruption {
    /// Begins to watch.
    ///
    /// # Errors
    /// The system refuses.
    pub fn watch() -> io::Result<Self> {
        let (bell, ring) = UnixStream::pair()?;
        let mut watched = Self {
            came: Arc::default(),
            bell,
            handlers: Vec::new(),
        };
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            // First the note, then the bell that lets somebody look.
            let note = flag::register_usize(signal, Arc::clone(&watched.came), signal as usize)?;
            watched.handlers.push(note);
            let bell = low_level::pipe::register(signal, ring.try_clone()?)?;
            watched.handlers.push(bell);
        }
        Ok(watched)
    }

    /// The signal that came last, if one came.
    pub fn signal(&self) -> Option<i32> {
        match self.came.load(Ordering::SeqCst) {
            0 => None,
            signal => i32::try_from(signal).ok(),
        }
    }

    /// Waits for a signal, at most for `timeout`.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait(&self, timeout: Duration) -> io::Result<Option<i32>> {
        self.wait_also_for(None, timeout)
    }

    /// The same, and no longer than until `file` can be read.
    ///
    /// # Errors
    /// The system refuses.
    pub fn wait_also_for(
        &self,
        file: Option<BorrowedFd<'_>>,
        timeout: Duration,
    ) -> io::Result<Option<i32>> {
        if self.signal().is_none() {
            let files: Vec<BorrowedFd<'_>> = [self.bell.as_fd()].into_iter().chain(file).collect();
            sys::wait_readable(&files, timeout)?;
        }
        Ok(self.signal())
    }
}

impl Drop for Interruption {
    fn drop(&mut self) {
        for handler in self.handlers.drain(..) {
            low_level::unregister(handler);
        }
    }
}
