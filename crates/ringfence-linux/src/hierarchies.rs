//! The hierarchies of groups that a machine has mounted.

use std::path::{Path, PathBuf};

use crate::changes::subject::{Hierarchy, HierarchyKind};

/// Those of the machine whose files are below `root`. One of version 1 with several
/// controllers is there once for each.
pub fn mounted(root: &Path) -> Vec<Hierarchy> {
    let mounts = std::fs::read_to_string(root.join("proc/mounts")).unwrap_or_default();
    mounts.lines().flat_map(of_mount).collect()
}

/// Of a line of `/proc/mounts` (proc_pid_mounts(5)).
fn of_mount(line: &str) -> Vec<Hierarchy> {
    let fields: Vec<&str> = line.split(' ').collect();
    let [_, mount, kind, options, ..] = fields.as_slice() else {
        return Vec::new();
    };
    let of_kind = |kind| Hierarchy {
        mount: PathBuf::from(mount),
        kind,
    };
    // What is not a controller does no harm: nobody asks for it.
    let controllers = options.split(',').map(str::to_owned);
    match *kind {
        "cgroup" => controllers
            .map(|name| of_kind(HierarchyKind::CgroupV1(name)))
            .collect(),
        "cgroup2" => vec![of_kind(HierarchyKind::CgroupV2)],
        "resctrl" => vec![of_kind(HierarchyKind::Resctrl)],
        _ => Vec::new(),
    }
}
