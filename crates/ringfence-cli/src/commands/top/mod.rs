//! `ringfence top`: what is enforced on this machine now.

mod screen;
#[cfg(test)]
mod tests;
mod view;

use std::io::{IsTerminal, Write, stdout};
use std::path::PathBuf;

use ringfence_linux::changes::lock::default_folder;
use ringfence_linux::interruption::Interruption;
use ringfence_linux::live::{self, LiveError, Snapshot};

use crate::arguments::Top;
use crate::files::print_text;
use crate::outcome::{Failure, Outcome};

/// Draws, or prints, until it is ended.
pub fn run(arguments: &Top) -> Result<Outcome, Failure> {
    let folder = state_folder()?;
    // So that what cannot be seen is an error before a screen is taken.
    let first = live::find(&folder).map_err(failure)?;
    let interruption = Interruption::watch().map_err(|e| Failure::Error(e.to_string()))?;
    match (arguments.json, arguments.once || !stdout().is_terminal()) {
        (true, _) => print_lines(arguments, &folder, first, &interruption)?,
        (false, true) => print_text(&view::text(&first))?,
        (false, false) => screen::draw(&folder, arguments.interval, first, &interruption)?,
    }
    Ok(Outcome::Pass)
}

/// Where who enforces says so.
pub fn state_folder() -> Result<PathBuf, Failure> {
    default_folder().map_err(|error| Failure::Error(error.to_string()))
}

fn failure(error: LiveError) -> Failure {
    Failure::Error(error.to_string())
}

fn print_lines(
    arguments: &Top,
    folder: &std::path::Path,
    first: Snapshot,
    interruption: &Interruption,
) -> Result<(), Failure> {
    let error = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
    let mut snapshot = first;
    loop {
        let line = serde_json::to_string(&snapshot).map_err(|e| error(&e))?;
        let mut output = stdout().lock();
        match writeln!(output, "{line}").and_then(|()| output.flush()) {
            // Nobody reads any more.
            Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => return Ok(()),
            result => result.map_err(|e| Failure::Error(format!("standard output: {e}")))?,
        }
        let wait = || interruption.wait(arguments.interval).map_err(|e| error(&e));
        if arguments.once || wait()?.is_some() {
            return Ok(());
        }
        snapshot = live::find(folder).map_err(failure)?;
    }
}
