//! `ringfence exec`: a program in a gang of what `ringfence enforce` enforces.

use std::os::unix::process::CommandExt;
use std::process::Command;

use ringfence_linux::changes::lock::default_folder;
use ringfence_linux::enforcement::{Enforced, EnforcedGang};
use ringfence_linux::scheduler::Members;
use ringfence_workloads::cpu;
use ringfence_workloads::job_log::{VARIABLE, hand_down};

use crate::arguments::Exec;
use crate::outcome::{Failure, Outcome};

/// Becomes a member, then the program: what it starts is of the gang, too.
pub fn run(arguments: &Exec) -> Result<Outcome, Failure> {
    let error = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
    let enforced = enforced()?;
    let gang = enforced.gang(&arguments.gang).map_err(|e| error(&e))?;
    let cores = match &arguments.cores {
        Some(cores) => of_partition(&cores.0, gang)?,
        None => &gang.cpus,
    };
    cpu::keep_on(cores).map_err(|error| {
        Failure::Error(format!(
            "this process may not run on cores {cores:?}: {error}"
        ))
    })?;
    let members = Members::open(&enforced.members).map_err(|e| error(&e))?;
    let this_thread = cpu::thread_number();
    let joined = members.join(this_thread, gang.membership());
    joined.map_err(|e| error(&e))?;
    // It needs all rights of the process that enforces; a program that has no jobs needs none.
    let jobs = hand_down(&gang.jobs);
    if let Err(e) = &jobs {
        eprintln!("jobs of this program will not be counted: {e}");
    }
    let (program, rest) = arguments.command.split_first().expect("clap requires one");
    // Only a failure comes back.
    let failed = Command::new(program)
        .args(rest)
        .env(VARIABLE, jobs.unwrap_or_default())
        .exec();
    Err(Failure::Error(format!("{}: {failed}", program.display())))
}

/// What is enforced on this machine now.
pub fn enforced() -> Result<Enforced, Failure> {
    let folder = default_folder().map_err(|error| Failure::Error(error.to_string()))?;
    Enforced::find(&folder).map_err(|error| Failure::Error(error.to_string()))
}

fn of_partition<'a>(cores: &'a [u16], gang: &EnforcedGang) -> Result<&'a [u16], Failure> {
    match cores.iter().find(|core| !gang.cpus.contains(core)) {
        None => Ok(cores),
        Some(core) => Err(Failure::Error(format!(
            "--cores: found core {core}, expected cores of partition `{}` of gang `{}`: {}",
            gang.partition,
            gang.name,
            cpu::write_list(&gang.cpus)
        ))),
    }
}
