//! A tree of real files in place of the machine's.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::restore::restore;
use ringfence_linux::changes::subject::{State, Subject};
use ringfence_linux::changes::{Changes, Stage};

use crate::model::scratch;

/// Files that the trees of these tests have.
pub const FILES: [&str; 4] = [
    "proc/sys/kernel/sched_rt_runtime_us",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
    "sys/fs/resctrl/schemata",
    "proc/sys/kernel/random/boot_id",
];

pub fn make(root: &Path) {
    let values = ["950000", "powersave", "    L3:0=fffff;1=fffff", "boot"];
    for (file, value) in FILES.iter().zip(values) {
        let path = root.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{value}\n")).unwrap();
    }
}

/// Every folder, and every file with its text.
pub fn contents(root: &Path) -> BTreeMap<PathBuf, Option<String>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let text = path.is_file().then(|| fs::read_to_string(&path).unwrap());
            if path.is_dir() {
                folders.push(path.clone());
            }
            found.insert(path, text);
        }
    }
    found
}

fn any_change() -> impl Strategy<Value = (Subject, State)> {
    (0..4_usize, 0..5_u32).prop_map(|(kind, to)| match kind {
        0 | 1 => {
            let file = Path::new("/").join(FILES[kind]);
            (Subject::Value(file), State::Text(format!("{to}")))
        }
        2 => {
            let group = format!("/sys/fs/resctrl/group{}", to / 2);
            (Subject::Group(group.into()), State::Exists(to % 2 == 0))
        }
        _ => {
            let group = format!("/sys/fs/resctrl/group{to}/below");
            (Subject::Group(group.into()), State::Exists(true))
        }
    })
}

proptest! {
    #[test]
    fn a_tree_is_restored_by_its_run_and_after_a_crash(
        changes in prop::collection::vec(any_change(), 0..10),
        crashes: bool,
    ) {
        let root = scratch();
        make(root.path());
        let original = contents(root.path());
        let folder = scratch();
        let mut run = Changes::begin(folder.path(), "test", Live::below(root.path())).unwrap();
        for (subject, to) in changes {
            // A group below one that is not there cannot be made.
            let _ = run.change(subject, to);
        }
        if crashes {
            // The kernel gives a lock back when its owner ends; here nobody ends.
            let copy = scratch();
            for entry in fs::read_dir(folder.path()).unwrap() {
                let path = entry.unwrap().path();
                fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
            }
            restore(copy.path(), &mut Live::below(root.path())).unwrap();
            std::mem::forget(run);
        } else {
            drop(run);
        }
        prop_assert_eq!(contents(root.path()), original);
    }
}
