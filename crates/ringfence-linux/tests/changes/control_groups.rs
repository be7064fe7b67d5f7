//! The kernel's own control groups, where this machine lets us use them.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::restore::{Restored, restore};
use ringfence_linux::changes::subject::{Hierarchy, HierarchyKind, State, Subject};
use ringfence_linux::changes::{Changes, Stage};
use ringfence_linux::hierarchies;
use ringfence_linux::thread::Thread;

use crate::model::scratch;

fn hierarchies() -> Vec<Hierarchy> {
    let mut found = hierarchies::mounted(Path::new("/"));
    found.retain(|hierarchy| match &hierarchy.kind {
        HierarchyKind::CgroupV1(controller) => controller == "freezer",
        HierarchyKind::CgroupV2 => true,
        HierarchyKind::Resctrl => false,
    });
    found
}

/// Hierarchies in which a group can be made, each with a path for it from the mount.
fn usable(purpose: &str) -> Vec<(Hierarchy, PathBuf)> {
    let name = format!("/ringfence-test-{purpose}-{}", std::process::id());
    let with_names = hierarchies()
        .into_iter()
        .map(|found| (found, PathBuf::from(&name)));
    let usable: Vec<_> = with_names
        .filter(|(hierarchy, name)| {
            let folder = below(hierarchy, name);
            std::fs::create_dir(&folder).is_ok() && std::fs::remove_dir(&folder).is_ok()
        })
        .collect();
    if usable.is_empty() {
        eprintln!("skipped: no control groups can be made here");
    }
    usable
}

fn below(hierarchy: &Hierarchy, group: &Path) -> PathBuf {
    hierarchy.mount.join(group.strip_prefix("/").unwrap())
}

struct Sleeper(Child);

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sleeper() -> (Sleeper, Thread) {
    let child = Command::new("sleep")
        .arg("3600")
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let thread = Thread::find(child.id() as i32).unwrap();
    (Sleeper(child), thread)
}

fn group_of(thread: Thread, hierarchy: &Hierarchy) -> String {
    let text = std::fs::read_to_string(format!("/proc/{}/cgroup", thread.tid)).unwrap();
    let line = text.lines().find(|line| match &hierarchy.kind {
        HierarchyKind::CgroupV1(name) => line.split(':').nth(1) == Some(name),
        _ => line.starts_with("0::"),
    });
    line.unwrap().splitn(3, ':').nth(2).unwrap().to_owned()
}

fn run_in_groups(crash: bool) {
    for (hierarchy, name) in usable(if crash { "crash" } else { "end" }) {
        let state = scratch();
        let folder = below(&hierarchy, &name);
        let (_first, process) = sleeper();
        let (_second, born_inside) = sleeper();
        let home = group_of(process, &hierarchy);
        let mut run = Changes::begin(state.path(), "test", Live::default()).unwrap();
        run.change(Subject::Group(folder.clone()), State::Exists(true))
            .unwrap();
        let member = Subject::ProcessGroup(process, hierarchy.clone());
        run.change(member, State::Group(name.clone())).unwrap();
        // As a child would be that a member has started.
        std::fs::write(folder.join("cgroup.procs"), born_inside.tid.to_string()).unwrap();
        let freezer = Subject::Freezer(folder.clone());
        run.change(freezer.clone(), State::Frozen(true)).unwrap();
        assert_eq!(group_of(process, &hierarchy), name.to_str().unwrap());

        if crash {
            let copy = scratch();
            let journal = state.path().join("journal.jsonl");
            std::fs::copy(journal, copy.path().join("journal.jsonl")).unwrap();
            let restored = restore(copy.path(), &mut Live::default()).unwrap();
            let Restored::Changes { undone, .. } = restored else {
                panic!("{restored:?}");
            };
            assert!(undone.iter().all(|one| one.outcome.is_good()), "{undone:?}");
            std::mem::forget(run);
        } else {
            for one in run.undo() {
                assert!(one.outcome.is_good(), "{one}");
            }
        }
        assert!(!folder.exists());
        assert_eq!(group_of(process, &hierarchy), home);
    }
}

#[test]
fn a_frozen_group_is_thawed_emptied_and_removed_by_its_run() {
    run_in_groups(false);
}

#[test]
fn a_frozen_group_is_thawed_emptied_and_removed_after_a_crash() {
    run_in_groups(true);
}
