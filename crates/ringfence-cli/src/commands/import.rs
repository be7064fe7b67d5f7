//! `ringfence import`: scenarios from files of other programs.

use std::io::Read;
use std::path::Path;

use ringfence_workloads::rt_app::{self, Error};

use crate::arguments::Import;
use crate::files::write_whole;
use crate::outcome::{Failure, Outcome};

/// Writes the scenario of a workload file.
pub fn run(arguments: &Import) -> Result<Outcome, Failure> {
    let path = &arguments.workload;
    let text = read(path).map_err(|error| Failure::file(path, error))?;
    let scenario = rt_app::import(&text, &arguments.platform).map_err(|error| {
        Failure::Error(match error {
            Error::Json {
                line,
                column,
                message,
            } => format!("{}:{line}:{column}: {message}", path.display()),
            error => format!("{}: {error}", path.display()),
        })
    })?;
    write_whole(&arguments.output, |to| to.write_all(scenario.as_bytes()))?;
    Ok(Outcome::Pass)
}

fn read(path: &Path) -> std::io::Result<String> {
    if path != Path::new("-") {
        return std::fs::read_to_string(path);
    }
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    Ok(text)
}
