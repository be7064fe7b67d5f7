//! What a recording says about the program.

use super::RecordError;
use crate::Metadata;
use object::{Architecture, Object, ObjectSection};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;

/// Describes `program`, found at `path`, for a trace that `recorder` makes.
///
/// # Errors
/// The program's file cannot be read.
pub fn describe(
    path: &Path,
    arguments: &[OsString],
    recorder: String,
) -> Result<Metadata, RecordError> {
    let bytes = std::fs::read(path).map_err(|error| RecordError::Program {
        program: path.display().to_string(),
        error,
    })?;
    let (isa, compilers) = match object::File::parse(bytes.as_slice()) {
        Ok(file) => (isa(file.architecture()), compilers(&file)),
        // A script: what runs is its interpreter, of this machine's instruction set.
        Err(_) => (std::env::consts::ARCH.to_owned(), Vec::new()),
    };
    Ok(Metadata {
        program: without_folder(&path.to_string_lossy()),
        arguments: arguments
            .iter()
            .map(|argument| without_folder(&argument.to_string_lossy()))
            .collect(),
        isa,
        compilers,
        program_sha256: sha256(&bytes),
        recorder,
        address_granularity_bytes: 1,
        marked_jobs: false,
        instruction_lines: false,
    })
}

/// Drops the folder of an argument like `/a/b` or `--option=/a/b`: traces are shared.
fn without_folder(argument: &str) -> String {
    let (option, value) = match argument.split_once('=') {
        Some((option, value)) if option.starts_with('-') => (&argument[..=option.len()], value),
        _ => ("", argument),
    };
    let name = value.trim_end_matches('/').rsplit('/').next();
    format!("{option}{}", name.unwrap_or_default())
}

/// The architecture by the name that Rust gives it.
fn isa(architecture: Architecture) -> String {
    match architecture {
        Architecture::X86_64 => "x86_64".into(),
        Architecture::Aarch64 => "aarch64".into(),
        Architecture::I386 => "x86".into(),
        Architecture::Arm => "arm".into(),
        other => format!("{other:?}").to_lowercase(),
    }
}

/// The strings of the `.comment` section, where compilers and linkers leave their versions.
fn compilers(file: &object::File<'_>) -> Vec<String> {
    let comment = file.section_by_name_bytes(b".comment");
    let data = comment.and_then(|section| section.data().ok());
    let mut names: Vec<String> = data
        .unwrap_or_default()
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    names.sort();
    names.dedup();
    names
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |mut hexadecimal, byte| {
            let _ = write!(hexadecimal, "{byte:02x}");
            hexadecimal
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_lose_their_folders() {
        for (argument, expected) in [
            ("--jobs", "--jobs"),
            ("/home/me/photo.pgm", "photo.pgm"),
            ("--input=/home/me/photo.pgm", "--input=photo.pgm"),
            ("../photos/", "photos"),
            ("a=b/c", "c"),
            ("/", ""),
        ] {
            assert_eq!(without_folder(argument), expected);
        }
    }

    #[test]
    fn this_program_is_described() {
        let path = std::env::current_exe().unwrap();
        let metadata = describe(&path, &[], "test".into()).unwrap();
        assert_eq!(metadata.isa, std::env::consts::ARCH);
        let rustc = |name: &String| name.starts_with("rustc version");
        assert!(metadata.compilers.iter().any(rustc), "{metadata:?}");
        assert_eq!(metadata.program_sha256.len(), 64);
    }

    #[test]
    fn sha256_of_nothing() {
        // FIPS 180-4 test vector of the empty message.
        assert!(sha256(b"").starts_with("e3b0c44298fc1c149afbf4c8996fb924"));
    }
}
