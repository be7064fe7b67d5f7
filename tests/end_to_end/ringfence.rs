//! Runs the command under test.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

/// What a run of the command left.
pub struct Finished {
    /// Exit code.
    pub code: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Finished {
    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error} in {}\n{}", self.stdout, self.stderr))
    }

    /// Fails unless the exit code is `code`.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{}\n{}", self.stdout, self.stderr);
        self
    }
}

/// Runs `ringfence` with `arguments`, separated by spaces, in `folder`.
pub fn ringfence(folder: &Path, arguments: &str) -> Finished {
    finished(&mut command(folder, arguments))
}

/// The same with another folder for temporary files.
pub fn ringfence_with_temporary(temporary: &Path, folder: &Path, arguments: &str) -> Finished {
    finished(command(folder, arguments).env("TMPDIR", temporary))
}

fn command(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringfence"));
    command
        .args(arguments.split_whitespace())
        .current_dir(folder);
    command
}

fn finished(command: &mut Command) -> Finished {
    let output = command.output().expect("the command starts");
    Finished {
        code: output.status.code().expect("no signal"),
        stdout: String::from_utf8(output.stdout).expect("text"),
        stderr: String::from_utf8(output.stderr).expect("text"),
    }
}

/// Runs `ringfence` as [`ringfence`] does, but the system ends it when it has
/// written `bytes` of a file and wants to write more: an interruption at the same
/// byte every time.
pub fn ringfence_cut_at(bytes: u64, folder: &Path, arguments: &str) -> ExitStatus {
    Command::new("prlimit")
        .args([&format!("--fsize={bytes}"), "--core=0"])
        .arg(env!("CARGO_BIN_EXE_ringfence"))
        .args(arguments.split_whitespace())
        .current_dir(folder)
        .stderr(Stdio::null())
        .status()
        .expect("prlimit of util-linux starts")
}

/// The top of the repository.
pub fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A folder that goes away with its value.
pub fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a temporary folder")
}
