//! Which group of a hierarchy a thread is in.

use std::io;
use std::path::{Path, PathBuf};

use super::files;
use crate::changes::subject::{Hierarchy, HierarchyKind};

/// The group of a thread, from the mount on.
pub fn of_thread(root: &Path, tid: i32, hierarchy: &Hierarchy) -> io::Result<PathBuf> {
    match &hierarchy.kind {
        HierarchyKind::Resctrl => resctrl_group(&below(root, &hierarchy.mount), tid),
        kind => {
            let text = files::text(&root.join(format!("proc/{tid}/cgroup")))?;
            in_list(&text, kind).ok_or_else(|| {
                io::Error::other(format!(
                    "/proc/{tid}/cgroup does not name the hierarchy of {}",
                    hierarchy.mount.display()
                ))
            })
        }
    }
}

/// The group that all threads of a process are in.
pub fn of_process(root: &Path, pid: i32, hierarchy: &Hierarchy) -> io::Result<PathBuf> {
    let group = of_thread(root, pid, hierarchy)?;
    for thread in std::fs::read_dir(root.join(format!("proc/{pid}/task")))? {
        let name = thread?.file_name();
        let Some(tid) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        match of_thread(root, tid, hierarchy) {
            Ok(other) if other != group => {
                return Err(io::Error::other(format!(
                    "threads of process {pid} are in different groups ({} and {}): move them one by one",
                    group.display(),
                    other.display()
                )));
            }
            Err(error) if !super::is_gone(&error) => return Err(error),
            _ => {}
        }
    }
    Ok(group)
}

/// Moves one thread.
pub fn move_thread(root: &Path, tid: i32, hierarchy: &Hierarchy, group: &Path) -> io::Result<()> {
    let file = match hierarchy.kind {
        HierarchyKind::CgroupV1(_) | HierarchyKind::Resctrl => "tasks",
        HierarchyKind::CgroupV2 => "cgroup.threads",
    };
    let folder = below(&below(root, &hierarchy.mount), group);
    files::write(&folder.join(file), &tid.to_string())
}

/// Moves all threads of a process.
pub fn move_process(root: &Path, pid: i32, hierarchy: &Hierarchy, group: &Path) -> io::Result<()> {
    let folder = below(&below(root, &hierarchy.mount), group);
    files::write(&folder.join("cgroup.procs"), &pid.to_string())
}

fn below(folder: &Path, path: &Path) -> PathBuf {
    folder.join(path.strip_prefix("/").unwrap_or(path))
}

/// The group in the text of `/proc/TID/cgroup` (cgroups(7)).
fn in_list(text: &str, kind: &HierarchyKind) -> Option<PathBuf> {
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (_, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_it = match kind {
            HierarchyKind::CgroupV1(controller) => {
                controllers.split(',').any(|name| name == controller)
            }
            HierarchyKind::CgroupV2 => controllers.is_empty(),
            HierarchyKind::Resctrl => false,
        };
        is_it.then(|| PathBuf::from(path))
    })
}

/// Kernels before 5.6 do not say which group a thread is in: its number is looked for.
fn resctrl_group(mount: &Path, tid: i32) -> io::Result<PathBuf> {
    let mut groups = vec![PathBuf::from("/")];
    for entry in std::fs::read_dir(mount)? {
        let entry = entry?;
        if entry.path().join("tasks").exists() {
            groups.push(Path::new("/").join(entry.file_name()));
        }
    }
    let has_it = |group: &PathBuf| {
        let tasks = std::fs::read_to_string(below(mount, group).join("tasks"));
        tasks.is_ok_and(|tasks| tasks.lines().any(|line| line.trim().parse() == Ok(tid)))
    };
    let found = groups.into_iter().find(has_it);
    found.ok_or_else(|| io::Error::from_raw_os_error(libc::ESRCH))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "4:memory:/box\n3:cpu,cpuacct:/a:b\n2:freezer:/\n0::/unified\n";

    #[test]
    fn each_hierarchy_has_its_line() {
        for (kind, group) in [
            (HierarchyKind::CgroupV1("cpuacct".into()), Some("/a:b")),
            (HierarchyKind::CgroupV1("freezer".into()), Some("/")),
            (HierarchyKind::CgroupV1("cpuset".into()), None),
            (HierarchyKind::CgroupV2, Some("/unified")),
        ] {
            assert_eq!(in_list(LIST, &kind), group.map(PathBuf::from), "{kind:?}");
        }
    }

    #[test]
    fn a_thread_is_found_in_the_resctrl_group_that_lists_it() {
        let mount = tempfile::tempdir().unwrap();
        for (group, tasks) in [(".", "1\n7\n"), ("critical", "12\n"), ("info", "")] {
            let folder = mount.path().join(group);
            std::fs::create_dir_all(&folder).unwrap();
            if group != "info" {
                std::fs::write(folder.join("tasks"), tasks).unwrap();
            }
        }
        let group = |tid| resctrl_group(mount.path(), tid).ok();
        assert_eq!(group(12), Some("/critical".into()));
        assert_eq!(group(1), Some("/".into()));
        assert_eq!(group(2), None);
    }
}
