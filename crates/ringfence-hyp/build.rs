//! Puts the sources of the hypervisor into the program, so that it can build one anywhere.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// What a build of the hypervisor reads, from the top of the house.
const PARTS: [&str; 7] = [
    "hyp/Makefile",
    "hyp/arch",
    "hyp/core",
    "hyp/guests",
    "hyp/platform",
    "hyp/uart",
    "policy/include",
];
const EXTENSIONS: [&str; 5] = ["c", "h", "S", "mk", "ld"];

fn main() -> io::Result<()> {
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let house = crate_folder.join("../..").canonicalize()?;
    let mut files = Vec::new();
    for part in PARTS {
        println!("cargo::rerun-if-changed={}", house.join(part).display());
        find(&house.join(part), &mut files)?;
    }
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(&house).expect("found in the house");
        writeln!(list, "    ({name:?}, include_bytes!({file:?})),").expect("a text grows");
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join("sources.rs"), list)
}

fn find(path: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            find(&entry?.path(), files)?;
        }
        return Ok(());
    }
    let extension = path.extension().and_then(|extension| extension.to_str());
    if extension.is_none_or(|extension| EXTENSIONS.contains(&extension)) {
        files.push(path.to_owned());
    }
    Ok(())
}
