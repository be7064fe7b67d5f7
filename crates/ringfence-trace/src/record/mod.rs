//! Records the memory accesses of an unmodified program.
//!
//! The program runs under valgrind's lackey, which writes every instruction and
//! access as a line of text into a pipe; the text becomes a trace as it
//! arrives. See `docs/src/traces.md` for what such a recording can and cannot
//! show.

mod convert;
mod instruction_cache;
mod program;

use crate::{Error, Metadata};
use command_fds::{CommandFdExt, FdMapping};
use convert::Converted;
use std::ffi::OsString;
use std::fs::{File, Permissions};
use std::io::{self, BufReader, BufWriter, PipeReader, PipeWriter};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// What to record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RecordOptions {
    /// Stop after this many marked jobs; the program is killed then.
    pub max_jobs: Option<u64>,
    /// Stop after this many accesses and cut the job there; the program is
    /// killed then. An access that crosses a page counts as two.
    pub max_accesses: Option<u64>,
    /// Record nothing before the first job mark; a program without marks is an error.
    pub marked_jobs_only: bool,
    /// Take no notice of job marks: the whole run, from the loader to the exit, is one job.
    pub whole_run: bool,
    /// Record the lines of instructions, too, that an instruction cache of 32 KiB does not
    /// have, as loads. It is empty when the program starts.
    pub instruction_lines: bool,
}

/// How far a recording is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Marked jobs recorded completely.
    pub jobs: u64,
    /// Accesses recorded.
    pub accesses: u64,
}

/// A finished recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// What the trace says about its origin; `marked_jobs` tells whether the
    /// program marked its jobs or the whole run is one job.
    pub metadata: Metadata,
    /// Jobs in the trace.
    pub jobs: u64,
    /// Accesses in the trace.
    pub accesses: u64,
    /// Whether the last job is incomplete: cut by the limit on accesses, or by the end of the program.
    pub cut: bool,
    /// How the program ended; `None` if it was killed because a limit was reached.
    pub status: Option<ExitStatus>,
}

/// Why a recording failed. No trace is left behind.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// No valgrind in `PATH`.
    #[error(
        "valgrind was not found; recording needs it: install the package `valgrind` (Debian, Ubuntu: apt install valgrind)"
    )]
    NoValgrind,
    /// No program given.
    #[error("no program to record; give a command after `--`")]
    NoCommand,
    /// The program does not exist or cannot be read.
    #[error("cannot record `{program}`: {error}")]
    Program {
        /// As given.
        program: String,
        /// Why.
        error: io::Error,
    },
    /// Valgrind did not start.
    #[error("cannot run valgrind: {0}")]
    Valgrind(String),
    /// The output cannot be written.
    #[error("cannot write the trace {path}: {error}")]
    Output {
        /// Where it should go.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// Lackey's text is not what this recorder knows.
    #[error(
        "line {number} of valgrind's output cannot be read: found `{found}`, {expected}; this valgrind may be too new or too old"
    )]
    Line {
        /// From 1.
        number: u64,
        /// The line, at most its first 80 bytes.
        found: String,
        /// What it should be.
        expected: &'static str,
    },
    /// Job marks in a wrong order.
    #[error(
        "{what} (line {line} of valgrind's output); mark begin and end of each job in turn, from one thread"
    )]
    MarkOrder {
        /// From 1.
        line: u64,
        /// What is wrong.
        what: &'static str,
    },
    /// Marks were asked for but the program made none.
    #[error(
        "the program marked no job; mark jobs with ringfence_job_mark.h or ringfence_victims::job_mark, or record the whole run"
    )]
    NoMarks,
    /// The program made no access: valgrind could not run it.
    #[error("valgrind recorded nothing from the program\n{messages}")]
    NothingRecorded {
        /// What valgrind said.
        messages: String,
    },
    /// More instructions in a row without an access than the format holds.
    #[error("the program executed 2^32 instructions without a memory access")]
    NoAccessForTooLong,
    /// The pipe from valgrind failed.
    #[error("cannot read valgrind's output: {0}")]
    Pipe(#[from] io::Error),
    /// The trace could not be written.
    #[error(transparent)]
    Trace(#[from] Error),
}

/// Runs `command` (a program and its arguments) under valgrind and records it into `output`.
///
/// The program has this process's standard streams. `output` is replaced only
/// by a complete recording. `progress` is called about every million events.
///
/// # Errors
/// See [`RecordError`].
pub fn record(
    command: &[OsString],
    options: &RecordOptions,
    output: &Path,
    progress: &mut dyn FnMut(Progress),
) -> Result<Recording, RecordError> {
    let (name, arguments) = command.split_first().ok_or(RecordError::NoCommand)?;
    let valgrind = which::which("valgrind").map_err(|_| RecordError::NoValgrind)?;
    let program = which::which(name).map_err(|error| RecordError::Program {
        program: name.to_string_lossy().into_owned(),
        error: io::Error::new(io::ErrorKind::NotFound, error),
    })?;
    let metadata = program::describe(&program, arguments, recorder(&valgrind)?)?;
    let unwritable = |error| RecordError::Output {
        path: output.to_owned(),
        error,
    };
    let partial = partial_file(output).map_err(unwritable)?;

    let (events, events_in) = io::pipe()?;
    let mut child = spawn(&valgrind, &program, arguments, events_in)?;
    let mut open = || File::create(partial.path()).map(BufWriter::new);
    let events: BufReader<PipeReader> = BufReader::with_capacity(1 << 16, events);
    let converted = convert::convert(events, &metadata, options, &mut open, progress);
    let limited = !matches!(&converted, Ok(Converted { limited: false, .. }));
    let status = end(&mut child, limited)?;
    let converted = converted?;

    partial
        .persist(output)
        .map_err(|error| unwritable(error.error))?;
    Ok(Recording {
        metadata: Metadata {
            marked_jobs: converted.marked,
            ..metadata
        },
        jobs: converted.jobs,
        accesses: converted.accesses,
        cut: converted.cut,
        status,
    })
}

/// Valgrind's version and tool, such as `valgrind-3.19.0 lackey`.
fn recorder(valgrind: &Path) -> Result<String, RecordError> {
    let output = Command::new(valgrind)
        .arg("--version")
        .output()
        .map_err(|error| RecordError::Valgrind(error.to_string()))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(RecordError::Valgrind(message));
    }
    let version = String::from_utf8_lossy(&output.stdout);
    Ok(format!("{} lackey", version.trim()))
}

/// A file beside `output` with the permissions that a new file gets.
fn partial_file(output: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    tempfile::Builder::new()
        .prefix(".rftrace-")
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}

/// Starts the program under lackey, which writes its events into `events`.
fn spawn(
    valgrind: &Path,
    program: &Path,
    arguments: &[OsString],
    events: PipeWriter,
) -> Result<Child, RecordError> {
    /// Valgrind moves it out of the program's way.
    const EVENTS_FD: i32 = 3;
    let mut command = Command::new(valgrind);
    command
        // The user's settings in VALGRIND_OPTS and .valgrindrc could change the output.
        .arg("--command-line-only=yes")
        .args(["--tool=lackey", "--trace-mem=yes", "--basic-counts=no"])
        .arg(format!("--log-fd={EVENTS_FD}"))
        // A forked child would write its events between the program's.
        .arg("--child-silent-after-fork=yes")
        .arg("--")
        .arg(program)
        .args(arguments);
    let mapping = FdMapping {
        parent_fd: events.into(),
        child_fd: EVENTS_FD,
    };
    command
        .fd_mappings(vec![mapping])
        .map_err(|error| RecordError::Valgrind(error.to_string()))?;
    command
        .spawn()
        .map_err(|error| RecordError::Valgrind(error.to_string()))
}

/// Waits for the program, after killing it if `kill`; then its status means nothing.
fn end(child: &mut Child, kill: bool) -> io::Result<Option<ExitStatus>> {
    if kill {
        child.kill()?;
    }
    let status = child.wait()?;
    Ok((!kill).then_some(status))
}
