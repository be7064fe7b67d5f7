//! The kernel's own trace.

use std::fs::{self, File};
use std::io;
use std::path::Path;

const TRACING: &str = "/sys/kernel/tracing";

/// Begins an empty trace of the events that are switched on.
pub fn start() -> io::Result<()> {
    // Opening it for writing empties it.
    File::create(format!("{TRACING}/trace"))?;
    fs::write(format!("{TRACING}/tracing_on"), "1")
}

/// Ends the trace.
pub fn stop() -> io::Result<()> {
    fs::write(format!("{TRACING}/tracing_on"), "0")
}

/// Writes what was traced to a file.
pub fn save(to: &Path) -> io::Result<()> {
    let mut trace = File::open(format!("{TRACING}/trace"))?;
    io::copy(&mut trace, &mut File::create(to)?)?;
    Ok(())
}
