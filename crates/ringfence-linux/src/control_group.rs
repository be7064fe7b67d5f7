//! Control groups, by what the kernel's programs know them by.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A control group as long as it is there: one that is made anew in its place is another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ControlGroup {
    /// Number of its folder, which is one of its hierarchy alone; not 0.
    pub id: u64,
    /// The kernel's number of that; 0 is the one of version 2.
    pub hierarchy: u32,
}

/// Why a folder is no control group that can be used.
#[derive(Debug, thiserror::Error)]
pub enum ControlGroupError {
    /// A file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder is of another file system.
    #[error("{0}: found no control group, expected the folder of one, such as /sys/fs/cgroup/slam")]
    NoGroup(PathBuf),
    /// All processes are in it.
    #[error(
        "{0}: found the topmost group of its hierarchy, expected one of your programs alone; make a folder in it"
    )]
    Topmost(PathBuf),
}

impl ControlGroup {
    /// The group whose folder this is, in any hierarchy but not its topmost.
    ///
    /// # Errors
    /// There is no such folder, or it is none of a group.
    pub fn at(folder: &Path) -> Result<Self, ControlGroupError> {
        let found = metadata(folder)?;
        let device = format!("{}:{}", libc::major(found.dev()), libc::minor(found.dev()));
        let mounts = text(Path::new("/proc/self/mountinfo"))?;
        let own = text(Path::new("/proc/self/cgroup"))?;
        let hierarchy = hierarchy_of(&device, &mounts, &own)
            .ok_or_else(|| ControlGroupError::NoGroup(folder.to_owned()))?;
        if metadata(&folder.join(".."))?.dev() != found.dev() {
            return Err(ControlGroupError::Topmost(folder.to_owned()));
        }
        Ok(Self {
            id: found.ino(),
            hierarchy,
        })
    }

    /// The group of a folder in a hierarchy that is known.
    pub(crate) fn within(hierarchy: u32, folder: &Path) -> io::Result<Self> {
        let id = fs::metadata(folder)?.ino();
        Ok(Self { id, hierarchy })
    }
}

fn metadata(path: &Path) -> Result<fs::Metadata, ControlGroupError> {
    fs::metadata(path).map_err(|error| ControlGroupError::File {
        path: path.to_owned(),
        error,
    })
}

fn text(path: &Path) -> Result<String, ControlGroupError> {
    fs::read_to_string(path).map_err(|error| ControlGroupError::File {
        path: path.to_owned(),
        error,
    })
}

/// The number of the hierarchy that is mounted from a device, by the lines of
/// `/proc/self/mountinfo` and `/proc/self/cgroup`; `None` if none is.
fn hierarchy_of(device: &str, mounts: &str, own: &str) -> Option<u32> {
    let (kind, options) = mounts.lines().find_map(|line| of_mount(device, line))?;
    if kind == "cgroup2" {
        return Some(0);
    }
    let options: Vec<&str> = options.split(',').collect();
    own.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers) = (fields.next()?, fields.next()?);
        let is_it = controllers.split(',').all(|name| options.contains(&name));
        number.parse().ok().filter(|_| is_it && kind == "cgroup")
    })
}

/// Type and options of the file system, if the line is of this device (proc_pid_mountinfo(5)).
fn of_mount<'a>(device: &str, line: &'a str) -> Option<(&'a str, &'a str)> {
    let (mount, file_system) = line.split_once(" - ")?;
    if mount.split(' ').nth(2) != Some(device) {
        return None;
    }
    let fields: Vec<&str> = file_system.split(' ').collect();
    let [kind, _, options, ..] = fields.as_slice() else {
        return None;
    };
    Some((kind, options))
}

/// Threads that are in the group of this folder now, without groups below it.
pub(crate) fn threads(folder: &Path) -> io::Result<Vec<i32>> {
    let text = match fs::read_to_string(folder.join("cgroup.threads")) {
        // So it is called in version 1.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::read_to_string(folder.join("tasks"))?
        }
        other => other?,
    };
    Ok(text.lines().filter_map(|line| line.parse().ok()).collect())
}

/// Folders of the groups right below one.
pub(crate) fn children(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            found.push(entry.path());
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOUNTS: &str = "\
        24 30 0:22 / /proc rw,relatime shared:5 - proc proc rw\n\
        31 23 0:27 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n\
        32 23 0:28 / /sys/fs/cgroup/systemd rw shared:10 - cgroup cgroup rw,xattr,name=systemd\n\
        33 23 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
    const OWN: &str = "4:cpu,cpuacct:/\n3:cpuset:/\n1:name=systemd:/init.scope\n0::/init.scope\n";

    #[test]
    fn hierarchies_are_told_by_what_is_mounted() {
        let hierarchy = |device| hierarchy_of(device, MOUNTS, OWN);
        assert_eq!(hierarchy("0:27"), Some(0));
        assert_eq!(hierarchy("0:28"), Some(1));
        assert_eq!(hierarchy("0:30"), Some(4));
        assert_eq!(hierarchy("0:22"), None);
        assert_eq!(hierarchy("8:1"), None);
    }

    #[test]
    fn other_folders_are_no_groups() {
        let folder = tempfile::tempdir().unwrap();
        let error = ControlGroup::at(folder.path()).unwrap_err().to_string();
        assert!(error.contains("found no control group"), "{error}");
        let error = ControlGroup::at(&folder.path().join("gone")).unwrap_err();
        assert!(matches!(error, ControlGroupError::File { .. }), "{error}");
    }

    proptest! {
        #[test]
        fn any_lines_are_read_or_refused(mounts in "[ -:0-9a-z,=/\n]{0,60}", own in "[:0-9a-z,=/\n]{0,40}") {
            let _ = hierarchy_of("0:1", &mounts, &own);
        }
    }
}
