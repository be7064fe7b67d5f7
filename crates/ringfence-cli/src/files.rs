//! Output files that appear whole or not at all.

use std::fs::{OpenOptions, Permissions};
use std::io::{BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::outcome::Failure;

/// Writes `path`, or standard output if it is `-`.
///
/// A file is written through a temporary one beside it, which takes its name
/// only when all was written: an error or an interrupt leaves an older file as
/// it was. Pipes and devices are written as they are.
pub fn write_whole<E: std::fmt::Display>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), Failure> {
    if path == Path::new("-") {
        return fill_and_flush(path, std::io::stdout().lock(), fill);
    }
    // A link stays a link; what it points to is replaced.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.exists() && !path.is_file() {
        let device = OpenOptions::new().write(true).open(path);
        return fill_and_flush(
            path,
            device.map_err(|error| Failure::file(path, error))?,
            fill,
        );
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Temporary files are private; what a user asked for is readable as any other file.
    let mut file = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
        .map_err(|error| Failure::file(path, error))?;
    fill_and_flush(path, &mut file, fill)?;
    file.persist(path)
        .map_err(|error| Failure::file(path, error.error))?;
    Ok(())
}

fn fill_and_flush<E: std::fmt::Display>(
    path: &Path,
    output: impl Write,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut writer = BufWriter::new(output);
    fill(&mut writer).map_err(|error| Failure::file(path, error))?;
    writer.flush().map_err(|error| Failure::file(path, error))
}

/// Prints `value` to standard output as indented JSON.
pub fn print_json(value: &impl serde::Serialize) -> Result<(), Failure> {
    let text =
        serde_json::to_string_pretty(value).map_err(|error| Failure::Error(error.to_string()))?;
    print_text(&format!("{text}\n"))
}

/// Prints what a report writes; colours stay only where they are wanted.
pub fn print_with<E: std::fmt::Display>(
    fill: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    fill(&mut text).map_err(|error| Failure::Error(error.to_string()))?;
    print_text(&String::from_utf8_lossy(&text))
}

/// Prints to standard output; a reader that stops reading is no error.
pub fn print_text(text: &str) -> Result<(), Failure> {
    match anstream::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}
