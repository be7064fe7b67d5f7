//! `ringfence join`: processes that run already, into a gang or out of it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use ringfence_linux::scheduler::{Members, Membership};

use super::exec::enforced;
use crate::arguments::Join;
use crate::outcome::{Failure, Outcome};

/// Makes all their threads members, also those that they start meanwhile.
pub fn run(arguments: &Join) -> Result<Outcome, Failure> {
    let error = |error: &dyn std::fmt::Display| Failure::Error(error.to_string());
    let enforced = enforced()?;
    let member = match &arguments.gang {
        Some(name) => enforced.gang(name).map_err(|e| error(&e))?.membership(),
        None => Membership::default(),
    };
    let members = Members::open(&enforced.members).map_err(|e| error(&e))?;
    let mut joined = BTreeSet::new();
    // A thread that was started by one before its turn came has not inherited anything: once
    // more, until a look finds no new ones.
    loop {
        let found = threads(arguments, joined.is_empty())?;
        let new: Vec<i32> = found
            .into_iter()
            .filter(|tid| !joined.contains(tid))
            .collect();
        if new.is_empty() {
            break;
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
    let into = arguments.gang.as_deref().unwrap_or("no gang");
    eprintln!("{} threads are of {into} now", joined.len());
    Ok(Outcome::Pass)
}

/// The threads that there are now. At first the processes that were named must be there; later
/// they may have ended.
fn threads(arguments: &Join, is_first: bool) -> Result<Vec<i32>, Failure> {
    let mut processes = arguments.processes.clone();
    if let Some(folder) = &arguments.cgroup {
        let path = folder.join("cgroup.procs");
        let text = fs::read_to_string(&path).map_err(|error| Failure::file(&path, error))?;
        processes.extend(text.lines().filter_map(|line| line.parse::<i32>().ok()));
    }
    let mut threads = Vec::new();
    for process in processes {
        let folder = format!("/proc/{process}/task");
        let Ok(entries) = fs::read_dir(&folder) else {
            if is_first && arguments.processes.contains(&process) {
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
