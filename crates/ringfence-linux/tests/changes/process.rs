//! Processes that change something and are killed, or asked to end; threads of this one.

use std::env;
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use ringfence_linux::changes::live::Live;
use ringfence_linux::changes::lock::LockError;
use ringfence_linux::changes::restore::{RestoreError, Restored, restore};
use ringfence_linux::changes::subject::{State, Subject};
use ringfence_linux::changes::undo::Outcome;
use ringfence_linux::changes::{Changes, Stage};
use ringfence_linux::class::{Class, Fair};
use ringfence_linux::interruption::Interruption;
use ringfence_linux::sys;
use ringfence_linux::thread::Thread;

use crate::model::scratch;
use crate::tree;

/// Folder of the process under test: a tree in `root`, its journal in `state`.
const FOLDER: &str = "RINGFENCE_TEST_FOLDER";

/// The process under test: this test alone, started again with [`FOLDER`].
#[test]
fn changes_until_it_is_told_to_end() {
    let Some(folder) = env::var_os(FOLDER) else {
        return;
    };
    let folder = Path::new(&folder);
    let interruption = Interruption::watch().unwrap();
    let machine = Live::below(folder.join("root"));
    let mut run = Changes::begin(&folder.join("state"), "a test", machine).unwrap();
    let file = Path::new("/").join(tree::FILES[0]);
    run.change(Subject::Value(file), State::Text("-1".into()))
        .unwrap();
    let group = Subject::Group("/sys/fs/resctrl/critical".into());
    run.change(group, State::Exists(true)).unwrap();
    fs::write(folder.join("changed"), "").unwrap();
    while interruption
        .wait(Duration::from_secs(3600))
        .unwrap()
        .is_none()
    {}
    let undone = run.undo();
    assert!(undone.iter().all(|one| one.outcome.is_good()));
    fs::write(folder.join("undone"), "").unwrap();
}

/// A process that does not outlive its test, however that ends.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts it and waits until it has changed the tree.
fn start(folder: &Path) -> Killed {
    let root = folder.join("root");
    tree::make(&root);
    let original = tree::contents(&root);
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["--exact", "process::changes_until_it_is_told_to_end"])
        .env(FOLDER, folder);
    let child = Killed(command.spawn().unwrap());
    while !folder.join("changed").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert_ne!(tree::contents(&root), original);
    child
}

fn original() -> std::collections::BTreeMap<std::path::PathBuf, Option<String>> {
    let folder = scratch();
    tree::make(folder.path());
    relative(folder.path())
}

fn relative(root: &Path) -> std::collections::BTreeMap<std::path::PathBuf, Option<String>> {
    let all = tree::contents(root).into_iter();
    all.map(|(path, text)| (path.strip_prefix(root).unwrap().to_owned(), text))
        .collect()
}

fn restore_tree(folder: &Path) -> Result<Restored, RestoreError> {
    let mut machine = Live::below(folder.join("root"));
    restore(&folder.join("state"), &mut machine)
}

#[test]
fn a_process_that_is_killed_leaves_what_restore_undoes() {
    let folder = scratch();
    let folder = folder.path();
    let Killed(child) = &mut start(folder);
    let alive = restore_tree(folder).unwrap_err();
    assert!(
        matches!(&alive, RestoreError::Lock(LockError::Held { owner }) if owner.contains(&child.id().to_string())),
        "{alive}"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    let Restored::Changes { undone, pid, .. } = restore_tree(folder).unwrap() else {
        panic!("nothing was restored");
    };
    assert_eq!(pid, child.id());
    let outcomes: Vec<_> = undone.into_iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Outcome::Restored, Outcome::Restored]);
    assert_eq!(relative(&folder.join("root")), original());
    assert_eq!(restore_tree(folder).unwrap(), Restored::NothingLeft);
}

#[test]
fn a_process_that_is_asked_to_end_undoes_its_changes() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let folder = scratch();
        let folder = folder.path();
        let Killed(child) = &mut start(folder);
        // SAFETY: the call takes numbers only, and the child was not waited for.
        assert_eq!(unsafe { libc::kill(child.id() as i32, signal) }, 0);
        assert!(child.wait().unwrap().success());
        assert!(folder.join("undone").exists());
        assert_eq!(relative(&folder.join("root")), original());
        assert_eq!(restore_tree(folder).unwrap(), Restored::NothingLeft);
    }
}

/// Runs `test` with a thread that sleeps until it has come back.
fn with_a_thread(test: impl FnOnce(Thread, Box<dyn FnOnce()>)) {
    let (tell, hear) = std::sync::mpsc::channel();
    let (end, wait) = std::sync::mpsc::channel::<()>();
    let handle = std::thread::spawn(move || {
        // SAFETY: the call takes no arguments.
        tell.send(unsafe { libc::gettid() }).unwrap();
        let _ = wait.recv();
    });
    let thread = Thread::find(hear.recv().unwrap()).unwrap();
    let end = Box::new(move || {
        drop(end);
        handle.join().unwrap();
        while Thread::find(thread.tid) == Some(thread) {
            std::thread::yield_now();
        }
    });
    test(thread, end);
}

/// The batch class with the nice value that the thread has: another one may need a right.
fn batch(thread: Thread) -> State {
    let Class::Other(Fair { nice, .. }) = Class::of(thread.tid).unwrap() else {
        panic!("tests run in the normal class");
    };
    State::Class(Class::Batch(Fair {
        nice,
        slice_ns: None,
    }))
}

#[test]
fn a_threads_class_and_cpus_come_back() {
    let folder = scratch();
    with_a_thread(|thread, _end| {
        let class = Class::of(thread.tid).unwrap();
        let cpus = sys::affinity(thread.tid).unwrap();
        let mut run = Changes::begin(folder.path(), "test", Live::default()).unwrap();
        let last = State::Cpus(vec![cpus[cpus.len() - 1]]);
        run.change(Subject::Affinity(thread), last).unwrap();
        run.change(Subject::Class(thread), batch(thread)).unwrap();
        assert_ne!(Class::of(thread.tid).unwrap(), class);
        let undone = run.undo();
        let outcomes: Vec<_> = undone.into_iter().map(|one| one.outcome).collect();
        assert_eq!(outcomes, [Outcome::Restored, Outcome::Restored]);
        assert_eq!(sys::affinity(thread.tid).unwrap(), cpus);
        assert_eq!(Class::of(thread.tid).unwrap(), class);
    });
}

#[test]
fn a_thread_that_has_ended_is_gone_and_a_new_one_of_its_number_is_left_alone() {
    let folder = scratch();
    with_a_thread(|thread, end| {
        let reused = Thread {
            start_ticks: thread.start_ticks - 1,
            ..thread
        };
        let mut run = Changes::begin(folder.path(), "test", Live::default()).unwrap();
        assert!(run.change(Subject::Class(reused), batch(thread)).is_err());
        run.change(Subject::Class(thread), batch(thread)).unwrap();
        end();
        let undone = run.undo();
        assert_eq!(undone[0].outcome, Outcome::Gone);
    });
}
