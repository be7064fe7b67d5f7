//! `ringfence join`: processes that run already, into a gang or out of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ringfence_linux::enforcement::groups::{GroupError, give};
use ringfence_linux::scheduler::{Members, Membership};

use super::exec::enforced;
use crate::arguments::Join;
use crate::outcome::{Failure, Outcome};

/// Makes all their threads members, also those that they start meanwhile.
pub fn run(arguments: &Join) -> Result<Outcome, Failure> {
    let error = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
    let enforced = enforced()?;
    let member = match &arguments.gang {
        Some(name) => Some(enforced.gang(name).map_err(|e| error(&e))?.membership()),
        None => None,
    };
    let into = arguments.gang.as_deref().unwrap_or("no gang");
    if !arguments.processes.is_empty() {
        let members = Members::open(&enforced.members).map_err(|e| error(&e))?;
        let count = join(&arguments.processes, &members, member.unwrap_or_default())?;
        eprintln!("{count} threads are of {into} now");
    }
    if let Some(folder) = &arguments.cgroup {
        let count = give(&enforced, folder, member).map_err(|e| match e {
            GroupError::Untold(_) => Failure::Unsupported(e.to_string()),
            e => error(&e),
        })?;
        let folder = folder.display();
        match &arguments.gang {
            Some(_) => eprintln!(
                "{folder} is of {into} now, and so will be all that is put there; {count} threads have come to it"
            ),
            None => eprintln!("{folder} is of no gang now; {count} threads have left theirs"),
        }
    }
    Ok(Outcome::Pass)
}

/// Makes the threads of processes members; answers how many.
fn join(processes: &[i32], members: &Members, member: Membership) -> Result<usize, Failure> {
    let mut joined = BTreeSet::new();
    // A thread that was started by one before its turn came has not inherited anything: once
    // more, until a look finds no new ones.
    loop {
        let mut new = threads(processes, joined.is_empty())?;
        new.retain(|tid| !joined.contains(tid));
        if new.is_empty() {
            return Ok(joined.len());
        }
        for tid in new {
            let result = members.join(tid, member);
            // One that has ended meanwhile needs no gang.
            if result.is_err() && Path::new("/proc").join(tid.to_string()).exists() {
                result.map_err(|e| {
                    let count = joined.len();
                    Failure::Error(format!("{e}; {count} threads have changed before it"))
                })?;
            }
            joined.insert(tid);
        }
    }
}

/// The threads that there are now. At first the processes must be there; later they may have
/// ended.
fn threads(processes: &[i32], is_first: bool) -> Result<Vec<i32>, Failure> {
    let mut threads = Vec::new();
    for process in processes {
        let folder = format!("/proc/{process}/task");
        let Ok(entries) = fs::read_dir(&folder) else {
            if is_first {
                return Err(Failure::Error(format!(
                    "found no process {process}, expected one that runs"
                )));
            }
            continue;
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        threads.extend(names.filter_map(|name| name.parse::<i32>().ok()));
    }
    Ok(threads)
}
