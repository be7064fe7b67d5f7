//! Control groups: which of them can freeze threads.

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;
use crate::changes::subject::{Hierarchy, HierarchyKind};
use crate::hierarchies;

const NAME: &str = "control groups";
/// The first with `cgroup.freeze`.
const FREEZE_SINCE: (u32, u32) = (5, 2);

/// The hierarchies in which groups can be made and frozen by us.
pub fn usable_freezers(machine: &MachineFiles) -> Vec<Hierarchy> {
    let mut usable = freezers(machine);
    usable.retain(|hierarchy| is_writable(machine, &hierarchy.mount));
    usable
}

fn freezers(machine: &MachineFiles) -> Vec<Hierarchy> {
    hierarchies::mounted(machine.root())
        .into_iter()
        .filter(|hierarchy| can_freeze(machine, hierarchy))
        .collect()
}

pub(super) fn check(machine: &MachineFiles) -> Check {
    let freezers = freezers(machine);
    let found: Vec<String> = freezers.iter().map(text).collect();
    if found.is_empty() {
        return Check::new(
            NAME,
            Level::Unusable,
            "no freezer is mounted",
            "in portable mode a gang that must not run is frozen",
        )
        .remedy(
            "mount -t cgroup2 cgroup2 /sys/fs/cgroup (Linux 5.2), or \
             mount -t cgroup -o freezer freezer /sys/fs/cgroup/freezer",
        );
    }
    let found = found.join(", ");
    match !usable_freezers(machine).is_empty() {
        true => Check::new(
            NAME,
            Level::Usable,
            found,
            "groups can be made and frozen; nothing was made",
        ),
        false => Check::new(
            NAME,
            Level::Unusable,
            format!("{found}, and we may write none of them"),
            "groups can be frozen, but none can be made",
        )
        .remedy("run as root, or in a hierarchy that is mounted writable"),
    }
}

fn can_freeze(machine: &MachineFiles, hierarchy: &Hierarchy) -> bool {
    match &hierarchy.kind {
        HierarchyKind::CgroupV1(controller) => controller == "freezer",
        HierarchyKind::CgroupV2 => machine
            .version()
            .is_some_and(|version| version >= FREEZE_SINCE),
        HierarchyKind::Resctrl => false,
    }
}

fn text(hierarchy: &Hierarchy) -> String {
    let version = match hierarchy.kind {
        HierarchyKind::CgroupV1(_) => "version 1",
        _ => "version 2",
    };
    format!("freezer of {version} at {}", hierarchy.mount.display())
}

fn is_writable(machine: &MachineFiles, mount: &Path) -> bool {
    let path = machine.path(&mount.to_string_lossy());
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: `path` is a string that lives through the call.
    unsafe { libc::access(path.as_ptr(), libc::W_OK) == 0 }
}
