use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::file::{Enforced, EnforcedGang, FindError, NAME};
use crate::thread::Thread;

fn enforced(process: Thread) -> serde_json::Value {
    serde_json::json!({
        "format": 3,
        "process": process,
        "scenario": "car",
        "case": "rt-gang",
        "gangs": [{
            "name": "slam", "partition": "machine", "partition_number": 0, "cpus": [0, 1], "priority": 30,
            "jobs": "/proc/1/fd/9"
        }],
        "members": "/sys/fs/bpf/ringfence-members",
        "groups": "/sys/fs/bpf/ringfence-groups",
    })
}

fn find(text: &str) -> Result<Enforced, FindError> {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(NAME), text).unwrap();
    Enforced::find(folder.path())
}

fn this_process() -> Thread {
    Thread::find(std::process::id().cast_signed()).unwrap()
}

#[test]
fn gangs_of_a_living_process_are_found_by_name() {
    let found = find(&enforced(this_process()).to_string()).unwrap();
    let slam = EnforcedGang {
        name: "slam".into(),
        partition: "machine".into(),
        partition_number: 0,
        cpus: vec![0, 1],
        priority: 30,
        jobs: "/proc/1/fd/9".into(),
    };
    assert_eq!(found.gang("slam").unwrap(), &slam);
    let error = found.gang("slum").unwrap_err().to_string();
    assert_eq!(
        error,
        "found no gang `slum` in scenario `car`, expected one of: slam"
    );
}

#[test]
fn a_process_that_is_gone_enforces_nothing() {
    // Somebody else has its number now.
    let mut process = this_process();
    process.start_ticks += 1;
    let found = find(&enforced(process).to_string());
    assert!(matches!(found, Err(FindError::Nothing)));
    let nowhere = Enforced::find(Path::new("/nowhere"));
    assert!(matches!(nowhere, Err(FindError::Nothing)));
}

#[test]
fn another_format_is_refused() {
    let mut other = enforced(this_process());
    other["format"] = 1.into();
    let error = find(&other.to_string()).unwrap_err().to_string();
    assert!(error.contains("found format 1"), "{error}");
}

#[test]
fn what_is_written_is_read_back() {
    let folder = tempfile::tempdir().unwrap();
    let written = find(&enforced(this_process()).to_string()).unwrap();
    written.write(&folder.path().join(NAME)).unwrap();
    assert_eq!(Enforced::find(folder.path()).unwrap(), written);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in "[{}\\[\\]\":,a-z0-9 ]{0,40}") {
        prop_assert!(find(&text).is_err());
    }
}
