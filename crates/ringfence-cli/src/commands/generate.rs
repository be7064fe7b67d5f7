//! `ringfence completions` and `ringfence man`: generated from the command line itself.

use clap::CommandFactory;

use crate::arguments::{Arguments, Completions, Man};
use crate::files::print_text;
use crate::outcome::{Failure, Outcome};

/// Prints the completions for a shell.
pub fn completions(arguments: &Completions) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut Arguments::command(),
        "ringfence",
        &mut script,
    );
    print_text(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Pass)
}

/// Writes a manual page for `ringfence` and one for each of its commands.
pub fn man(arguments: &Man) -> Result<Outcome, Failure> {
    let folder = &arguments.folder;
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, error))?;
    clap_mangen::generate_to(Arguments::command(), folder)
        .map_err(|error| Failure::file(folder, error))?;
    Ok(Outcome::Pass)
}
