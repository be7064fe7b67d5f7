//! The sources of the hypervisor, as they were when this program was built.

use std::fs;
use std::path::Path;

use crate::HypError;

/// Path from the top of the house, and contents.
static SOURCES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The text of a source; `None` if there is none.
pub(crate) fn text(path: &str) -> Option<&'static str> {
    let (_, bytes) = SOURCES.iter().find(|(name, _)| *name == path)?;
    std::str::from_utf8(bytes).ok()
}

/// Names of the folders in `folder`, sorted.
pub(crate) fn folders(folder: &str) -> Vec<&'static str> {
    let below = |path: &'static str| {
        let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
        rest.split_once('/').map(|(name, _)| name)
    };
    let mut names: Vec<&str> = SOURCES.iter().filter_map(|(path, _)| below(path)).collect();
    names.dedup();
    names
}

/// Writes all sources below `folder`.
pub(crate) fn unpack(folder: &Path) -> Result<(), HypError> {
    for (name, bytes) in SOURCES {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).map_err(|error| HypError::file(parent, error))?;
        fs::write(&path, bytes).map_err(|error| HypError::file(&path, error))?;
    }
    Ok(())
}
