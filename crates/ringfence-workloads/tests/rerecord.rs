//! Records the corner detector again and compares with the trace that ships.
//!
//! To renew the shipped trace after a change of the detector or the toolchain:
//! `RINGFENCE_RENEW_TRACES=1 cargo test -p ringfence-workloads --test rerecord`.

mod common;

use ringfence_trace::{
    Access, Metadata, Reader, RecordError, RecordOptions, Recording, Statistics, record,
};
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Counts may differ by this much between compilers, instruction sets and recorders.
const TOLERANCE_PERCENT: u64 = 10;

fn shipped() -> PathBuf {
    Path::new(CRATE).join("../../traces/susan-corners.rftrace")
}

fn open(path: &Path) -> Reader<File> {
    Reader::new(File::open(path).unwrap()).unwrap()
}

/// Builds the program whose trace ships: with the release profile, whatever
/// profile the tests have, and no flags of the caller's. Texts of panics have
/// the path of Cargo's registry, whose length would move all data behind them.
fn build() -> PathBuf {
    let test_profile = Path::new(env!("CARGO_BIN_EXE_susan")).parent().unwrap();
    let target = test_profile.parent().unwrap().join("recorded");
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::home_dir().unwrap().join(".cargo"),
        PathBuf::from,
    );
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--release"]);
    cargo.args(["--bin", "susan", "--manifest-path"]);
    cargo.arg(Path::new(CRATE).join("Cargo.toml"));
    cargo.arg("--target-dir").arg(&target);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy().into_owned();
        if name.starts_with("CARGO_PROFILE_") || name.ends_with("RUSTFLAGS") {
            cargo.env_remove(name);
        }
    }
    let remap = format!("--remap-path-prefix={}=cargo", cargo_home.display());
    // Spaces separate flags in RUSTFLAGS; nothing does in a single encoded one.
    cargo.env("CARGO_ENCODED_RUSTFLAGS", remap);
    assert!(cargo.status().unwrap().success(), "the build failed");
    target.join("release/susan")
}

fn record_susan(program: &Path, jobs: u32, output: &Path) -> Result<Recording, RecordError> {
    let image = Path::new(CRATE).join("images/camera.pgm");
    let mut command: Vec<OsString> = vec![program.into(), image.into()];
    if jobs > 1 {
        command.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    // The list of corners goes beside the trace, away from the test's output.
    command.extend(["--output".into(), output.with_extension("txt").into()]);
    let options = RecordOptions {
        marked_jobs_only: true,
        ..Default::default()
    };
    let recording = record(&command, &options, output, &mut |_| {})?;
    assert!(recording.status.is_some_and(|status| status.success()));
    assert_eq!(recording.jobs, u64::from(jobs));
    assert!(recording.metadata.marked_jobs && !recording.cut);
    Ok(recording)
}

/// What makes equal sources run different instructions.
fn differences(shipped: &Metadata, recorded: &Metadata) -> Vec<String> {
    [
        (
            "compilers",
            shipped.compilers.join(", "),
            recorded.compilers.join(", "),
        ),
        ("ISA", shipped.isa.clone(), recorded.isa.clone()),
        (
            "recorder",
            shipped.recorder.clone(),
            recorded.recorder.clone(),
        ),
    ]
    .into_iter()
    .filter(|(_, shipped, recorded)| shipped != recorded)
    .map(|(what, shipped, recorded)| format!("{what}: shipped {shipped}, recorded {recorded}"))
    .collect()
}

fn read_job(path: &Path, number: u64) -> (Vec<Access>, u64) {
    let mut trace = open(path);
    while let Some(mut job) = trace.next_job().unwrap() {
        if job.number() == number {
            let accesses: Result<_, _> = job.by_ref().collect();
            return (accesses.unwrap(), job.instructions_after().unwrap());
        }
    }
    panic!("{} has no job {number}", path.display());
}

/// Says at which access two jobs part instead of printing millions.
fn assert_same(expected: &(Vec<Access>, u64), found: &(Vec<Access>, u64), job: u64) {
    let parting = expected.0.iter().zip(&found.0).position(|(a, b)| a != b);
    if let Some(index) = parting {
        let (expected, found) = (expected.0[index], found.0[index]);
        panic!("job {job} differs at access {index}: expected {expected:?}, found {found:?}");
    }
    assert_eq!(expected.0.len(), found.0.len(), "accesses of job {job}");
    assert_eq!(expected.1, found.1, "instructions at the end of job {job}");
}

fn statistics((accesses, _): &(Vec<Access>, u64)) -> Statistics {
    let mut statistics = Statistics::default();
    for access in accesses {
        statistics.add(*access);
    }
    statistics
}

fn assert_similar(expected: &Statistics, found: &Statistics) {
    for (what, expected, found) in [
        ("loads", expected.loads, found.loads),
        (
            "distinct lines",
            expected.distinct_lines(),
            found.distinct_lines(),
        ),
    ] {
        assert!(
            expected.abs_diff(found) * 100 <= expected * TOLERANCE_PERCENT,
            "{what}: shipped {expected}, recorded {found}"
        );
    }
}

#[test]
fn the_shipped_trace_is_what_the_program_does() {
    if std::env::var_os("RINGFENCE_RENEW_TRACES").is_some() {
        record_susan(&build(), 1, &shipped()).unwrap();
        std::fs::remove_file(shipped().with_extension("txt")).unwrap();
        return;
    }
    // A path of another length: the trace must not depend on it.
    let folder = tempfile::Builder::new()
        .prefix("a-folder-with-a-rather-long-name-")
        .tempdir()
        .unwrap();
    let program = folder.path().join("susan");
    std::fs::copy(build(), &program).unwrap();
    let again = folder.path().join("again.rftrace");
    let recording = match record_susan(&program, 2, &again) {
        Err(error @ RecordError::NoValgrind) => {
            common::skip(&error);
            return;
        }
        recording => recording.unwrap(),
    };

    let expected = read_job(&shipped(), 0);
    let differences = differences(open(&shipped()).metadata(), &recording.metadata);
    if differences.is_empty() {
        for job in 0..2 {
            assert_same(&expected, &read_job(&again, job), job);
        }
    } else {
        eprintln!("compared by structure only: {}", differences.join("; "));
        let found = read_job(&again, 0);
        assert_similar(&statistics(&expected), &statistics(&found));
        assert_same(&found, &read_job(&again, 1), 1);
    }
}
