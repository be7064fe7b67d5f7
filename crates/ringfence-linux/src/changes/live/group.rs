//! Removing groups.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::files;

/// Times that members are moved out: more may be born while it is done, and those that are
/// dying can be moved no more, but keep a cgroup from being removed until they are gone.
const ATTEMPTS: usize = 1000;
/// We may well outrank the dying.
const PAUSE: Duration = Duration::from_millis(10);

/// Removes a group that we made. Whoever is still in it goes to its parent: resctrl does
/// so by itself, cgroups refuse to be removed with members.
pub fn remove(folder: &Path) -> io::Result<()> {
    for _ in 0..ATTEMPTS {
        match std::fs::remove_dir(folder) {
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => move_members_out(folder)?,
            result => return result,
        }
        thread::sleep(PAUSE);
    }
    Err(io::Error::from_raw_os_error(libc::EBUSY))
}

fn move_members_out(folder: &Path) -> io::Result<()> {
    let parent = folder.parent().ok_or(io::ErrorKind::InvalidInput)?;
    // Of version 1, or a threaded group of version 2, or a group of processes.
    let candidates = ["tasks", "cgroup.procs", "cgroup.threads"];
    let read = |name| Some((name, files::text(&folder.join(name)).ok()?));
    let Some((name, members)) = candidates.into_iter().find_map(read) else {
        return Ok(());
    };
    for member in members.lines() {
        match files::write(&parent.join(name), member) {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
