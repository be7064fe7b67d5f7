//! Programs in C write, the agent in Rust reads.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use std::time::Duration;

use ringfence_workloads::job_log::{Answer, JobLog, Kind, Mark, Size, VARIABLE};

/// Compiled once for all tests.
static PROGRAM: LazyLock<(tempfile::TempDir, PathBuf)> = LazyLock::new(|| {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("jobs");
    let status = Command::new("cc")
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra"])
        .args(["-Werror", "-pthread", "-I"])
        .arg(here.join("include"))
        .arg("-o")
        .arg(&program)
        .args(["jobs.c", "other_file.c"].map(|file| here.join("tests/job_log").join(file)))
        .status()
        .unwrap();
    assert!(status.success());
    (folder, program)
});

/// The program that does `what`, with a log or without.
pub fn program(what: &str, log: Option<&Path>) -> Command {
    let mut command = Command::new(&PROGRAM.1);
    command.arg(what).env_remove(VARIABLE);
    if let Some(log) = log {
        command.env(VARIABLE, log);
    }
    command
}

fn run(what: &str, log: Option<&Path>) -> Output {
    let output = program(what, log).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output
}

pub fn log(slots: u32, events: u32) -> JobLog {
    JobLog::create(Size::new(slots, events).unwrap()).unwrap()
}

fn drain(log: &mut JobLog) -> Vec<Mark> {
    let mut marks = Vec::new();
    let drained = log.drain(|mark| marks.push(mark));
    assert_eq!(drained.damaged, 0);
    marks
}

#[test]
fn every_kind_of_mark_arrives_as_it_was_made() {
    let mut log = log(8, 64);
    run("kinds", Some(&log.path()));
    let mut marks = Vec::new();
    let drained = log.drain(|mark| marks.push(mark));
    assert_eq!((drained.lost, drained.damaged), (0, 0));
    assert_eq!(drained.left, [marks[0].thread], "it left before it ended");
    let (jobs, others) = marks.split_at(4);
    let jobs: Vec<_> = jobs.iter().map(|mark| (mark.kind, mark.job)).collect();
    // The second job comes from another file of the program: one slot, one count.
    assert_eq!(
        jobs,
        [
            (Kind::Begin, 0),
            (Kind::End, 0),
            (Kind::Begin, 1),
            (Kind::End, 1)
        ]
    );
    let kinds: Vec<Kind> = others.iter().map(|mark| mark.kind).collect();
    assert_eq!(kinds, Kind::ALL);
    for mark in others {
        assert_eq!(mark.job, u64::MAX - 1);
        assert_eq!(mark.time_ns, 1_234_567_890_123_456_789);
    }
    assert!(marks.iter().all(|mark| mark.task == 5));
}

#[test]
fn what_does_not_fit_is_counted() {
    let mut log = log(1, 16);
    run("overflow", Some(&log.path()));
    let mut jobs = Vec::new();
    let drained = log.drain(|mark| jobs.push(mark.job));
    assert_eq!(jobs, (0..16).collect::<Vec<_>>());
    assert_eq!(drained.lost, 84);
}

#[test]
fn a_forked_child_has_a_slot_of_its_own() {
    let mut log = log(4, 16);
    run("fork", Some(&log.path()));
    let marks = drain(&mut log);
    let of = |task: u32| {
        let marks = marks.iter().filter(move |mark| mark.task == task);
        marks.map(|mark| (mark.kind, mark.job)).collect::<Vec<_>>()
    };
    let job = [(Kind::Begin, 0), (Kind::End, 0)];
    assert_eq!((of(0), of(1)), (job.to_vec(), job.to_vec()));
    let (parent, child) = (marks[0].thread, marks[2].thread);
    assert_ne!(parent.process, child.process);
}

#[test]
fn membership_is_asked_for_and_answered() {
    let mut log = log(2, 16);
    let mut child = program("join", Some(&log.path()));
    let child = child.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut asked = Vec::new();
    while asked.len() < 4 {
        log.wait(Duration::from_millis(100));
        log.answer(|request| {
            assert_eq!(request.thread.process, child.id());
            let answer = match request.gang.as_deref() {
                Some("smal") => Answer::UnknownGang,
                Some("control") => Answer::Refused,
                _ => Answer::Accepted,
            };
            asked.push(request.gang);
            answer
        });
    }
    let gangs: Vec<_> = asked.iter().map(Option::as_deref).collect();
    assert_eq!(gangs, [Some("slam"), Some("smal"), Some("control"), None]);
    let output = child.wait_with_output().unwrap();
    // EINVAL thrice, done, ENOENT, EPERM, done.
    assert_eq!(output.stdout, b"22 22 22 0 2 1 0\n");
}

#[test]
fn without_a_log_nothing_happens_and_a_wrong_one_is_named() {
    for what in ["kinds", "overflow", "fork", "join", "register"] {
        run(what, None);
    }
    assert_eq!(run("join", None).stdout, b"22 22 22 0 0 0 0\n");
    let registered = |path: &Path| run("register", Some(path)).stdout;
    assert_eq!(registered(Path::new("")), b"0\n");
    // ENOENT, EPROTO, ENOSPC.
    assert_eq!(registered(Path::new("/nowhere")), b"2\n");
    assert_eq!(
        run("join", Some(Path::new("/nowhere"))).stdout,
        b"22 22 22 2 2 2 2\n"
    );
    let other = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/job_log/jobs.c");
    assert_eq!(registered(Path::new(other)), b"71\n");
    let log = log(1, 2);
    assert_eq!(registered(&log.path()), b"0\n");
    assert_eq!(registered(&log.path()), b"28\n");
}
