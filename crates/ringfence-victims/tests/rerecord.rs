//! Records the programs again and compares with the traces that ship.
//!
//! To renew the shipped traces after a change of the programs or the toolchain:
//! `RINGFENCE_RENEW_TRACES=1 cargo test -p ringfence-victims --test rerecord`,
//! with `-- NAME` behind it for one of them.

mod common;

use ringfence_trace::{
    Access, Metadata, Reader, RecordError, RecordOptions, Recording, Statistics, record,
};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// Counts may differ by this much between compilers, instruction sets and recorders.
const TOLERANCE_PERCENT: u64 = 10;

/// A trace that ships, and how to record it.
struct Trace {
    /// Of the file, with `_` for `-`.
    name: &'static str,
    /// One of this crate's binaries.
    program: &'static str,
    /// What it is given, separated by spaces; files are in this crate's folder.
    arguments: &'static str,
}

/// Lists the traces and makes a test of each.
macro_rules! traces {
    ($($name:ident: $program:literal $arguments:literal;)*) => {
        const TRACES: &[Trace] = &[$(Trace {
            name: stringify!($name),
            program: $program,
            arguments: $arguments,
        }),*];
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                renew_or_compare(TRACES.iter().find(|trace| trace.name == name).unwrap());
            }
        )*
    };
}

traces! {
    susan_corners: "susan" "images/camera.pgm";
    susan_edges: "susan" "images/camera.pgm --mode edges --crop 128x96";
    susan_smoothing: "susan" "images/camera.pgm --mode smoothing --crop 96x72";
    basicmath: "basicmath" "--size 4000";
    qsort: "qsort" "--size 3000";
    bitcount: "bitcount" "--size 4000";
}

impl Trace {
    fn file_name(&self) -> String {
        format!("{}.rftrace", self.name.replace('_', "-"))
    }

    fn shipped(&self) -> PathBuf {
        shipped_traces().join(self.file_name())
    }
}

fn shipped_traces() -> PathBuf {
    Path::new(CRATE).join("../../traces")
}

fn open(path: &Path) -> Reader<File> {
    Reader::new(File::open(path).unwrap()).unwrap()
}

/// The folder of the programs whose traces ship, built once.
static PROGRAMS: LazyLock<PathBuf> = LazyLock::new(build);

/// Builds the programs: with the release profile, whatever profile the tests
/// have, and no flags of the caller's. Texts of panics have the path of
/// Cargo's registry, whose length would move all data behind them.
fn build() -> PathBuf {
    let test_profile = Path::new(env!("CARGO_BIN_EXE_susan")).parent().unwrap();
    let target = test_profile.parent().unwrap().join("recorded");
    let cargo_home = std::env::var_os("CARGO_HOME").map_or_else(
        || std::env::home_dir().unwrap().join(".cargo"),
        PathBuf::from,
    );
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--locked", "--release"]);
    cargo.args(["--bins", "--manifest-path"]);
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
    target.join("release")
}

fn record_jobs(
    trace: &Trace,
    program: &Path,
    jobs: u32,
    output: &Path,
) -> Result<Recording, RecordError> {
    let mut command: Vec<OsString> = vec![program.into()];
    for argument in trace.arguments.split(' ') {
        let file = Path::new(CRATE).join(argument);
        command.push(if file.exists() {
            file.into()
        } else {
            argument.into()
        });
    }
    if jobs > 1 {
        command.extend(["--jobs".into(), jobs.to_string().into()]);
    }
    // The result goes beside the trace, away from the test's output.
    command.extend(["--output".into(), output.with_extension("out").into()]);
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

fn renewing() -> bool {
    std::env::var_os("RINGFENCE_RENEW_TRACES").is_some()
}

fn renew_or_compare(trace: &Trace) {
    let built = PROGRAMS.join(trace.program);
    if renewing() {
        record_jobs(trace, &built, 1, &trace.shipped()).unwrap();
        std::fs::remove_file(trace.shipped().with_extension("out")).unwrap();
        return;
    }
    // A path of another length: the trace must not depend on it.
    let folder = tempfile::Builder::new()
        .prefix("a-folder-with-a-rather-long-name-")
        .tempdir()
        .unwrap();
    let program = folder.path().join(trace.program);
    std::fs::copy(built, &program).unwrap();
    let again = folder.path().join("again.rftrace");
    let recording = match record_jobs(trace, &program, 2, &again) {
        Err(error @ RecordError::NoValgrind) => {
            common::skip(&error);
            return;
        }
        recording => recording.unwrap(),
    };

    let expected = read_job(&trace.shipped(), 0);
    let differences = differences(open(&trace.shipped()).metadata(), &recording.metadata);
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

#[test]
fn every_shipped_trace_is_recorded_again() {
    if renewing() {
        // They come and go while this runs.
        return;
    }
    let shipped: BTreeSet<String> = std::fs::read_dir(shipped_traces())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".rftrace"))
        .collect();
    assert_eq!(shipped, TRACES.iter().map(Trace::file_name).collect());
}

#[test]
fn the_readme_has_the_figures_of_the_shipped_traces() {
    if renewing() {
        return;
    }
    let readme = std::fs::read_to_string(shipped_traces().join("README.md")).unwrap();
    let whole_runs = TRACES
        .iter()
        .map(|trace| format!("h-mbr/{}", trace.file_name()));
    for name in TRACES.iter().map(Trace::file_name).chain(whole_runs) {
        let mut reader = open(&shipped_traces().join(&name));
        let mut job = reader.next_job().unwrap().unwrap();
        let statistics = Statistics::of_job(&mut job).unwrap();
        let row = format!(
            "| `{name}` | {} | {} | {} KiB |",
            with_commas(statistics.accesses()),
            with_commas(statistics.instructions()),
            statistics.working_set_bytes().div_ceil(1024)
        );
        assert!(readme.contains(&row), "the README lacks\n{row}");
    }
}

/// The decimal digits of a number in groups of three.
fn with_commas(number: u64) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", with_commas(thousands), number % 1000),
    }
}
