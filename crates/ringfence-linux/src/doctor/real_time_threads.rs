//! Threads of other programs that come before gangs.

use ringfence_workloads::cpu;
use serde::Serialize;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;
use crate::sys;
use crate::thread::Stat;

const NAME: &str = "real-time threads";
/// Names in the text; JSON has them all.
const SHOWN: usize = 8;
const MEANING: &str = "they outrank all gangs under sched_ext; in portable mode the deadline class does, and each other \
     one those gangs whose priority is not above its own";
const REMEDY: &str =
    "put them into the normal class (chrt -o -p 0 TID), or make them gangs of the scenario";

/// A thread in a class above the fair ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RealTimeThread {
    /// Its number.
    pub tid: i32,
    /// Its name.
    pub name: String,
    /// `deadline`, `fifo` or `rr`.
    pub class: &'static str,
    /// Priority, 1 to 99; none in the deadline class.
    pub priority: Option<i32>,
    /// CPUs that it may run on, as a list.
    pub cpus: String,
    /// Whether it is the kernel's own.
    pub is_kernel: bool,
}

impl RealTimeThread {
    fn text(&self) -> String {
        match self.priority {
            Some(priority) => {
                format!("{} ({}, {} {priority})", self.name, self.tid, self.class)
            }
            None => format!("{} ({}, {})", self.name, self.tid, self.class),
        }
    }
}

/// All of them, the most important first.
pub fn list(machine: &MachineFiles) -> Vec<RealTimeThread> {
    let mut found = Vec::new();
    for pid in machine.names("/proc") {
        if !pid.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        for tid in machine.names(&format!("/proc/{pid}/task")) {
            found.extend(of_thread(machine, &format!("/proc/{pid}/task/{tid}"), &tid));
        }
    }
    found.sort_by_key(|thread| (thread.priority.map_or(i32::MIN, |p| -p), thread.tid));
    found
}

/// The thread of this folder, if it is real-time and still there.
fn of_thread(machine: &MachineFiles, folder: &str, tid: &str) -> Option<RealTimeThread> {
    let stat = Stat::parse(machine.text(&format!("{folder}/stat"))?.as_bytes())?;
    let policy = i32::try_from(stat.policy).ok()?;
    let class = match policy {
        libc::SCHED_FIFO => "fifo",
        libc::SCHED_RR => "rr",
        sys::SCHED_DEADLINE => "deadline",
        _ => return None,
    };
    let cpus = machine.field(&format!("{folder}/status"), "Cpus_allowed_list");
    Some(RealTimeThread {
        tid: tid.parse().ok()?,
        is_kernel: stat.is_kernel_thread(),
        name: stat.name,
        class,
        priority: (policy != sys::SCHED_DEADLINE).then_some(stat.real_time_priority),
        cpus: cpus
            .and_then(|list| cpu::parse_list(&list))
            .map_or_else(String::new, |cpus| cpu::write_list(&cpus)),
    })
}

/// What is to be said before gangs are kept apart, if threads of other programs come before them.
pub fn warning(threads: &[RealTimeThread]) -> Option<String> {
    let others: Vec<_> = threads.iter().filter(|thread| !thread.is_kernel).collect();
    (!others.is_empty()).then(|| {
        format!(
            "real-time threads of other programs: {}; {MEANING}; {REMEDY}",
            names(&others)
        )
    })
}

pub(super) fn check(threads: &[RealTimeThread]) -> Check {
    let (kernel, others): (Vec<_>, Vec<_>) = threads.iter().partition(|thread| thread.is_kernel);
    let count = match kernel.len() {
        1 => "1 of the kernel's own".to_owned(),
        count => format!("{count} of the kernel's own"),
    };
    if others.is_empty() {
        return Check::new(
            NAME,
            Level::Usable,
            match kernel.len() {
                0 => "none".to_owned(),
                _ => format!("{count}: {}", names(&kernel)),
            },
            "they outrank gangs under sched_ext, in portable mode those with a priority above a \
             gang's; the kernel's own are short",
        );
    }
    Check::new(
        NAME,
        Level::Limited,
        format!("{}; {count}", names(&others)),
        MEANING,
    )
    .remedy(REMEDY)
}

fn names(threads: &[&RealTimeThread]) -> String {
    let shown = threads.iter().take(SHOWN).map(|thread| thread.text());
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if threads.len() > SHOWN {
        text += &format!(" and {} more", threads.len() - SHOWN);
    }
    text
}
