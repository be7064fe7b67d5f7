//! Records small C programs: job marks from the C header, limits, exit status.

mod common;

use ringfence_trace::{RecordError, RecordOptions, Recording, record};
use std::path::{Path, PathBuf};
use std::process::Command;

const PROGRAM: &str = r#"
#include "ringfence_job_mark.h"
static volatile int words[3];
int main(int argc, char **argv)
{
	volatile unsigned char *marks = argc > 1 ? ringfence_job_marks_map() : NULL;
	(void)argv;
	for (int job = 0; job < 3; job++) {
		ringfence_job_begin(marks);
		for (int i = 0; i <= job; i++)
			words[i] = i;
		ringfence_job_end(marks);
	}
	return 7;
}
"#;

fn compile(folder: &Path) -> PathBuf {
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/include");
    let (source, program) = (folder.join("jobs.c"), folder.join("jobs"));
    std::fs::write(&source, PROGRAM).unwrap();
    let status = Command::new("cc")
        .args(["-std=c11", "-D_DEFAULT_SOURCE", "-O2", "-Wall", "-Wextra"])
        .args(["-Werror", "-I", include, "-o"])
        .args([&program, &source])
        .status()
        .unwrap();
    assert!(status.success());
    program
}

/// `None` where valgrind is missing, which CI does not forgive.
fn run(arguments: &[&str], options: &RecordOptions) -> Option<Result<Recording, RecordError>> {
    let folder = tempfile::tempdir().unwrap();
    let mut command = vec![compile(folder.path()).into_os_string()];
    command.extend(arguments.iter().map(Into::into));
    let output = folder.path().join("jobs.rftrace");
    let recording = record(&command, options, &output, &mut |_| {});
    if let Err(error @ RecordError::NoValgrind) = &recording {
        common::skip(error);
        return None;
    }
    if let Ok(recording) = &recording {
        let jobs = ringfence_trace::read_all(&std::fs::read(&output).unwrap()).unwrap();
        assert_eq!(jobs.len() as u64, recording.jobs);
        assert_eq!(jobs.iter().sum::<u64>(), recording.accesses);
    }
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, if recording.is_ok() { 3 } else { 2 });
    Some(recording)
}

#[test]
fn marks_of_a_c_program_give_jobs_and_its_exit_status_comes_back() {
    let Some(recording) = run(&["marked"], &RecordOptions::default()) else {
        return;
    };
    let recording = recording.unwrap();
    assert_eq!(recording.status.unwrap().code(), Some(7));
    assert!(recording.metadata.marked_jobs && !recording.cut);
    assert_eq!(recording.jobs, 3);
    assert!(recording.accesses >= 1 + 2 + 3);
}

#[test]
fn limits_end_the_program_early() {
    let options = RecordOptions {
        max_jobs: Some(2),
        marked_jobs_only: true,
        ..Default::default()
    };
    let Some(recording) = run(&["marked"], &options) else {
        return;
    };
    let recording = recording.unwrap();
    assert_eq!((recording.jobs, recording.status), (2, None));
}

#[test]
fn without_marks_the_run_is_one_job_or_an_error() {
    let Some(recording) = run(&[], &RecordOptions::default()) else {
        return;
    };
    let recording = recording.unwrap();
    assert!(!recording.metadata.marked_jobs);
    assert_eq!(recording.jobs, 1);
    assert_eq!(recording.metadata.program, "jobs");

    let marked_jobs_only = RecordOptions {
        marked_jobs_only: true,
        ..Default::default()
    };
    let refused = run(&[], &marked_jobs_only).unwrap();
    assert!(matches!(refused, Err(RecordError::NoMarks)));
}

#[test]
fn a_missing_program_is_named() {
    let command = ["no-such-program".into()];
    let error = record(
        &command,
        &RecordOptions::default(),
        Path::new("x"),
        &mut |_| {},
    );
    match error.unwrap_err() {
        error @ RecordError::NoValgrind => common::skip(&error),
        error => assert!(error.to_string().contains("`no-such-program`"), "{error}"),
    }
    assert!(!Path::new("x").exists());
}
