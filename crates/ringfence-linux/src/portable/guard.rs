//! A process that outlives the run: if the run ends without a word, nothing stays frozen.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::changes::live::Live;
use crate::changes::lock::LockError;
use crate::changes::restore::{RestoreError, restore};
use crate::sys;

/// Priority of the guard in SCHED_FIFO: above all gangs, which may keep the CPUs.
const PRIORITY: i32 = 98;
/// What the run says when it has undone its changes itself.
const DONE: &[u8] = b"done";
/// How long the guard waits for the kernel to end the run, which holds the lock until then.
const TRIES: u32 = 1000;
const PAUSE: Duration = Duration::from_millis(10);

/// The guard of this process, until it is dropped.
#[derive(Debug)]
pub struct Guard {
    process: Child,
}

impl Guard {
    /// Starts `command` with the folder of the journal as its last argument; it is to call
    /// [`watch`]. A signal to the group of this process does not reach it.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn start(command: &[OsString], folder: &Path) -> io::Result<Self> {
        let (program, arguments) = command.split_first().ok_or(io::ErrorKind::NotFound)?;
        let process = Command::new(program)
            .args(arguments)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .process_group(0)
            .spawn()?;
        Ok(Self { process })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.process.stdin.take() {
            // It may have been ended by somebody.
            let _ = pipe.write_all(DONE);
        }
        let _ = self.process.wait();
    }
}

/// Waits until the process at the other end of `pipe` ends or says that all is done. In the
/// first case undoes what the journal of `folder` lists.
///
/// # Errors
/// The journal cannot be used.
pub fn watch(mut pipe: impl Read, folder: &Path) -> Result<(), RestoreError> {
    // Without the right to it the gangs had none either.
    let _ = sys::set_class(0, libc::SCHED_FIFO, PRIORITY);
    let mut said = Vec::new();
    let is_done = pipe.read_to_end(&mut said).is_ok() && said == DONE;
    if is_done {
        return Ok(());
    }
    for _ in 0..TRIES {
        match restore(folder, &mut Live::default()) {
            Err(RestoreError::Lock(LockError::Held { .. })) => std::thread::sleep(PAUSE),
            result => return result.map(drop),
        }
    }
    restore(folder, &mut Live::default()).map(drop)
}
