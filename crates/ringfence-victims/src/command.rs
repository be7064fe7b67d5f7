//! What the command lines of the programs have in common.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Greatest size of a program's input: it stays below a gigabyte of memory.
pub const MAX_SIZE: i64 = 10_000_000;

/// Options of every program.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Do the work this often; `ringfence trace record` sees each time as a job
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    pub jobs: u32,
    /// Write the result here instead of to the standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Options {
    /// Writes the result to where the user wants it.
    ///
    /// # Errors
    /// A message that names the file.
    pub fn write_result(&self, bytes: &[u8]) -> Result<(), String> {
        match &self.output {
            Some(path) => write_file(path, bytes),
            None => std::io::stdout()
                .write_all(bytes)
                .map_err(|error| format!("cannot write the result: {error}")),
        }
    }
}

/// Writes a file.
///
/// # Errors
/// A message that names it.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(path, bytes).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reports an error as `program`'s and turns it into the status to exit with.
pub fn exit(program: &str, result: Result<(), String>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{program}: {message}");
            ExitCode::FAILURE
        }
    }
}

/// CRC-32C of the bytes of a result.
pub fn checksum(bytes: impl Iterator<Item = u8>) -> u32 {
    crc32c::crc32c(&bytes.collect::<Vec<_>>())
}
