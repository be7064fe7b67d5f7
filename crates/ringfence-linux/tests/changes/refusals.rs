//! What is not changed, and why.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::machine::Machine;
use ringfence_linux::changes::rehearsal::Rehearsal;
use ringfence_linux::changes::subject::{State, Subject};
use ringfence_linux::changes::{BeginError, ChangeError, Changes, Stage};

use crate::model::{Model, World, freezer, scratch, world};

/// Takes every value, and makes a larger one of it: as MB shares are rounded.
struct Rounding(World);

impl Machine for Rounding {
    fn read(&self, subject: &Subject) -> std::io::Result<Option<State>> {
        Ok(self.0.get(subject).cloned())
    }

    fn set(&mut self, subject: &Subject, state: &State) -> std::io::Result<()> {
        let state = match state {
            State::Text(text) if text != "old" => State::Text(format!("{text}0")),
            state => state.clone(),
        };
        self.0.insert(subject.clone(), state);
        Ok(())
    }

    fn boot_id(&self) -> std::io::Result<String> {
        Ok("this boot".into())
    }
}

fn value0() -> Subject {
    Subject::Value("/proc/sys/kernel/value0".into())
}

fn text(text: &str) -> State {
    State::Text(text.into())
}

#[test]
fn a_value_that_the_kernel_takes_differently_is_put_back() {
    let folder = scratch();
    let mut run = Changes::begin(folder.path(), "test", Rounding(world())).unwrap();
    let error = run.change(value0(), text("15")).unwrap_err();
    assert!(
        matches!(&error, ChangeError::NotTaken { found, .. } if found == "'150'"),
        "{error}"
    );
    assert_eq!(run.machine().0, world());
    assert!(run.undo().is_empty());
}

#[test]
fn senseless_and_missing_subjects_are_refused_and_not_written_down() {
    let folder = scratch();
    let machine = Model {
        world: world(),
        watch: |_: &World| {},
    };
    let mut run = Changes::begin(folder.path(), "test", machine).unwrap();
    let missing = run.change(Subject::Value("/proc/absent".into()), text("1"));
    assert!(matches!(missing, Err(ChangeError::Missing { .. })));
    // What is there now could not be put back.
    let lines = run.machine().world.insert(value0(), text("1\n2"));
    let refused = run.change(value0(), text("1"));
    assert!(matches!(refused, Err(ChangeError::Senseless { .. })));
    run.machine().world.insert(value0(), lines.unwrap());
    for (subject, to) in [
        (Subject::Value("/proc/../etc/passwd".into()), text("1")),
        (Subject::Value("relative".into()), text("1")),
        (value0(), text("1\n2")),
        (value0(), State::Frozen(true)),
    ] {
        let refused = run.change(subject, to);
        assert!(matches!(refused, Err(ChangeError::Senseless { .. })));
    }
    assert!(run.undo().is_empty());
}

#[test]
fn two_runs_refuse_each_other_and_a_crash_is_told_before_the_next() {
    let folder = scratch();
    let tree = scratch();
    let boot = tree.path().join("proc/sys/kernel/random");
    fs::create_dir_all(&boot).unwrap();
    fs::write(boot.join("boot_id"), "b\n").unwrap();
    let begin = || Changes::begin(folder.path(), "first", Live::below(tree.path()));
    let first = begin().unwrap();
    let second = begin().err().unwrap();
    assert!(matches!(second, BeginError::Lock(_)), "{second}");
    assert!(second.to_string().contains("first, process"), "{second}");
    drop(first);
    drop(begin().unwrap());
    fs::write(folder.path().join("journal.jsonl"), "").unwrap();
    let crashed = begin().err().unwrap();
    assert!(matches!(crashed, BeginError::LeftBehind), "{crashed}");
}

#[test]
fn a_folder_that_others_can_write_is_not_trusted() {
    let folder = scratch();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let machine = Model {
        world: world(),
        watch: |_: &World| {},
    };
    let error = Changes::begin(folder.path(), "test", machine)
        .err()
        .unwrap();
    assert!(error.to_string().contains("others can write"), "{error}");
}

#[test]
fn a_rehearsal_tells_what_would_be_done_and_does_nothing() {
    let mut machine = Model {
        world: world(),
        watch: |_: &World| panic!("it was changed"),
    };
    let mut group = freezer().mount;
    group.push("group0");
    let mut rehearsal = Rehearsal::on(&mut machine);
    rehearsal.change(value0(), text("1")).unwrap();
    rehearsal.change(value0(), text("1")).unwrap();
    rehearsal.change(value0(), text("2")).unwrap();
    let made = Subject::Group(group.clone());
    rehearsal.change(made, State::Exists(true)).unwrap();
    let frozen = Subject::Freezer(group.clone());
    rehearsal
        .change(frozen.clone(), State::Frozen(true))
        .unwrap();
    rehearsal.take_over(frozen).unwrap();
    let new_file = Subject::Value(group.join("freezer.self_freezing"));
    rehearsal.change(new_file, text("1")).unwrap();
    let lost = rehearsal.change(Subject::Value("/proc/absent".into()), text("1"));
    assert!(matches!(lost, Err(ChangeError::Missing { .. })));
    assert_eq!(
        rehearsal.actions(),
        [
            "write '1' to /proc/sys/kernel/value0 (was 'old')",
            "write '2' to /proc/sys/kernel/value0 (was '1')",
            "make the group /sys/fs/cgroup/freezer/group0",
            "freeze /sys/fs/cgroup/freezer/group0",
            "change /sys/fs/cgroup/freezer/group0 again and again",
            "write '1' to /sys/fs/cgroup/freezer/group0/freezer.self_freezing",
        ]
    );
}

/// Somebody else makes the group that we are about to make.
struct Overtaken(World);

impl Machine for Overtaken {
    fn read(&self, subject: &Subject) -> std::io::Result<Option<State>> {
        Ok(self.0.get(subject).cloned())
    }

    fn set(&mut self, subject: &Subject, state: &State) -> std::io::Result<()> {
        assert_eq!(*state, State::Exists(true), "it was removed");
        self.0.insert(subject.clone(), state.clone());
        Err(std::io::Error::from_raw_os_error(libc::EEXIST))
    }

    fn boot_id(&self) -> std::io::Result<String> {
        Ok("this boot".into())
    }
}

#[test]
fn a_group_that_somebody_else_made_first_is_theirs() {
    let folder = scratch();
    let mut run = Changes::begin(folder.path(), "test", Overtaken(world())).unwrap();
    let group = Subject::Group(freezer().mount.join("group0"));
    assert!(run.change(group.clone(), State::Exists(true)).is_err());
    assert!(run.undo().is_empty());
}
