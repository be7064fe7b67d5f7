//! `doctor` and `restore`: every exit code, and JSON with the keys that are promised.

use std::fs;
use std::path::Path;
use std::process::{Child, Command};

use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::subject::{State, Subject};
use ringfence_linux::changes::{Changes, Stage};
use ringfence_linux::class::{Class, Fair};
use ringfence_linux::thread::Thread;
use serde_json::Value;

use crate::ringfence::{house, ringfence, scratch};

#[track_caller]
fn expect_keys(value: &Value, keys: &[&str]) {
    let found: Vec<&str> = value
        .as_object()
        .unwrap_or_else(|| panic!("{value} is no object"))
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(found, keys, "{value}");
}

#[track_caller]
fn each<'a>(value: &'a Value, key: &str) -> &'a Vec<Value> {
    value[key].as_array().unwrap()
}

#[test]
fn this_machine_is_examined_and_the_exit_code_says_if_it_is_fit() {
    let found = ringfence(&house(), "doctor --json --quiet");
    let json = found.json();
    expect_keys(
        &json,
        &[
            "format",
            "checks",
            "pmu_events",
            "real_time_threads",
            "modes",
        ],
    );
    assert_eq!(json["format"], 1);
    for check in each(&json, "checks") {
        expect_keys(check, &["name", "state", "found", "why", "remedy"]);
        let state = check["state"].as_str().unwrap();
        assert!(
            ["usable", "limited", "unusable"].contains(&state),
            "{check}"
        );
    }
    for event in each(&json, "pmu_events") {
        let keys = [
            "event",
            "is_traffic",
            "computing",
            "missing",
            "counts_on",
            "tried_on",
            "refusal",
        ];
        expect_keys(event, &keys);
    }
    for thread in each(&json, "real_time_threads") {
        let keys = ["tid", "name", "class", "priority", "cpus", "is_kernel"];
        expect_keys(thread, &keys);
    }
    let modes = each(&json, "modes");
    for mode in modes {
        expect_keys(mode, &["name", "works", "regulation", "missing"]);
    }
    let is_fit = modes.iter().any(|mode| mode["works"] == true);
    assert_eq!(found.code, if is_fit { 0 } else { 4 }, "{}", found.stderr);

    let text = ringfence(&house(), "doctor --quiet").stdout;
    for check in each(&json, "checks") {
        assert!(text.contains(check["name"].as_str().unwrap()), "{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert!(text.contains("\nGang scheduling here (target linux)\n"));
}

#[test]
fn a_machine_that_is_unfit_is_exit_code_4_with_what_is_missing() {
    let folder = scratch();
    let kernel = folder.path().join("proc/sys/kernel");
    fs::create_dir_all(&kernel).unwrap();
    fs::write(kernel.join("osrelease"), "4.9.140\n").unwrap();
    let found = ringfence(folder.path(), "doctor --root .").expect(4);
    assert!(
        found
            .stdout
            .contains("control groups: no freezer is mounted")
    );
    assert!(found.stderr.contains("target sim"), "{}", found.stderr);
    let found = ringfence(folder.path(), "doctor --root ./proc").expect(1);
    assert!(
        found.stderr.contains("--root: found no folder"),
        "{}",
        found.stderr
    );
}

/// A process whose class somebody has changed who is not there any more, and the folder with
/// the journal of that.
struct LeftBehind {
    folder: tempfile::TempDir,
    process: Child,
}

impl LeftBehind {
    fn new() -> Self {
        let process = Command::new("sleep").arg("3600").spawn().unwrap();
        let thread = Thread::find(process.id() as i32).unwrap();
        let (folder, copy) = (scratch(), scratch());
        let mut changes = Changes::begin(folder.path(), "a test", Live::default()).unwrap();
        // With another nice value it could not be undone without rights.
        let Class::Other(Fair { nice, .. }) = Class::of(thread.tid).unwrap() else {
            panic!("it is not in the normal class");
        };
        let batch = Class::Batch(Fair {
            nice,
            slice_ns: None,
        });
        changes
            .change(Subject::Class(thread), State::Class(batch))
            .unwrap();
        // A crash gives the lock back; here nobody crashes.
        fs::copy(journal(folder.path()), journal(copy.path())).unwrap();
        std::mem::forget(changes);
        Self {
            folder: copy,
            process,
        }
    }

    fn class(&self) -> Class {
        Class::of(self.process.id() as i32).unwrap()
    }

    fn restore(&self, options: &str) -> crate::ringfence::Finished {
        ringfence(
            self.folder.path(),
            &format!("restore --journal . {options}"),
        )
    }
}

impl Drop for LeftBehind {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn journal(folder: &Path) -> std::path::PathBuf {
    folder.join("journal.jsonl")
}

#[test]
fn what_a_crashed_run_left_is_told_undone_and_forgotten() {
    let left = LeftBehind::new();
    let changed = left.class();
    let before = fs::read(journal(left.folder.path())).unwrap();
    let dry = left.restore("--dry-run").expect(0).stdout;
    let action = format!("put thread {} into class other", left.process.id());
    assert!(dry.contains(&action), "{dry}");
    assert_eq!(left.class(), changed);
    assert_eq!(fs::read(journal(left.folder.path())).unwrap(), before);

    let restored = left.restore("").expect(0).stdout;
    assert!(
        restored.contains(&action) && restored.contains(": done"),
        "{restored}"
    );
    assert!(matches!(left.class(), Class::Other(_)));
    assert!(!journal(left.folder.path()).exists());
    let again = left.restore("").expect(0).stdout;
    assert!(again.contains("nothing to restore"), "{again}");
}

#[test]
fn restoring_speaks_json() {
    let left = LeftBehind::new();
    let dry = left.restore("--dry-run --json").expect(0).json();
    expect_keys(&dry, &["format", "command", "actions"]);
    assert_eq!(each(&dry, "actions").len(), 1);
    let done = left.restore("--json").expect(0).json();
    expect_keys(&done, &["format", "command", "changes"]);
    assert_eq!(done["command"], "a test");
    expect_keys(&done["changes"][0], &["action", "outcome"]);
    assert_eq!(done["changes"][0]["outcome"], "restored");
    let nothing = left.restore("--json").expect(0).json();
    assert_eq!(nothing["command"], Value::Null);
    assert_eq!(each(&nothing, "changes").len(), 0);
}

#[test]
fn a_living_owner_and_a_damaged_journal_are_refused() {
    let folder = scratch();
    let changes = Changes::begin(folder.path(), "a test", Live::default()).unwrap();
    let alive = ringfence(folder.path(), "restore --journal .").expect(1);
    assert!(alive.stderr.contains("a test, process"), "{}", alive.stderr);
    drop(changes);
    fs::write(journal(folder.path()), "nonsense\n").unwrap();
    let damaged = ringfence(folder.path(), "restore --journal .").expect(1);
    assert!(
        damaged.stderr.contains("journal.jsonl: line 1")
            && damaged.stderr.contains("nothing was restored"),
        "{}",
        damaged.stderr
    );
    assert!(journal(folder.path()).exists());
    assert_eq!(
        ringfence(folder.path(), "restore --journal absent")
            .expect(0)
            .code,
        0
    );
}
