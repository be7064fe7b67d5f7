//! The freezers of both versions of control groups.

use std::io;
use std::path::Path;

use super::files;

/// Of version 1; reads FREEZING while some thread is still to be stopped.
const STATE: &str = "freezer.state";
/// Of version 2; what was asked for.
const FREEZE: &str = "cgroup.freeze";

/// Whether the group is frozen, or was told to.
pub fn is_frozen(folder: &Path) -> io::Result<bool> {
    if folder.join(STATE).exists() {
        return Ok(files::value(&folder.join(STATE))? != "THAWED");
    }
    Ok(files::value(&folder.join(FREEZE))? != "0")
}

/// Tells the group to freeze or thaw; it may take its time to freeze.
pub fn set(folder: &Path, frozen: bool) -> io::Result<()> {
    let (file, word) = match (folder.join(STATE).exists(), frozen) {
        (true, true) => (STATE, "FROZEN"),
        (true, false) => (STATE, "THAWED"),
        (false, true) => (FREEZE, "1"),
        (false, false) => (FREEZE, "0"),
    };
    files::write(&folder.join(file), word)
}
