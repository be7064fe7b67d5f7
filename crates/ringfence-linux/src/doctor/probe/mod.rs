//! What only trying tells. Nothing of it is there any more afterwards.

mod classes;

use std::path::Path;

use super::machine_files::MachineFiles;
use super::sched_ext;
use crate::pmu::{Event, EventProbe, Prover};
use crate::recorder::Recorder;
use crate::scheduler::Scheduler;
use crate::sys;

/// What came of trying; nothing where the machine is known by its files only.
#[derive(Debug, Clone, Default)]
pub struct Probed {
    /// Real-time classes, by putting a thread of ours into each.
    pub classes: Vec<ClassProbe>,
    /// Events, by counting what is known to happen.
    pub events: Vec<EventProbe>,
    /// Our sched_ext scheduler, by loading it; none where the kernel has no sched_ext.
    pub scheduler: Option<Result<(), String>>,
    /// Our recorder, by loading it.
    pub recorder: Option<Result<(), String>>,
    /// Resolution of CLOCK_MONOTONIC in nanoseconds.
    pub resolution_ns: Option<u64>,
}

/// Whether a thread of ours may be in a class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassProbe {
    /// Its name.
    pub class: &'static str,
    /// What the system said against it.
    pub refusal: Option<String>,
}

impl Probed {
    /// Tries everything on this machine, which takes a few seconds where there are events.
    pub fn this_machine() -> Self {
        let machine = MachineFiles::below(Path::new("/"));
        Self {
            classes: classes::probe(),
            events: events(&machine),
            scheduler: load_scheduler(&machine),
            recorder: Some(load_recorder()),
            resolution_ns: resolution_ns(),
        }
    }
}

/// Tries each event on each CPU that this process may use.
fn events(machine: &MachineFiles) -> Vec<EventProbe> {
    let cpus = sys::affinity(0).unwrap_or_default();
    let mut prover = Prover::of(machine);
    Event::all()
        .map(|event| prover.prove(&event, &cpus))
        .collect()
}

/// Has the kernel check our scheduler, if it has the class for it, and lets go of it.
pub(super) fn load_scheduler(machine: &MachineFiles) -> Option<Result<(), String>> {
    if !sched_ext::is_there(machine) {
        return None;
    }
    // What libbpf prints says no more than its error does.
    let print = libbpf_rs::set_print(None);
    let loaded = Scheduler::load();
    libbpf_rs::set_print(print);
    Some(loaded.map(drop).map_err(|error| error.to_string()))
}

/// Has the kernel check our recorder, and lets go of it.
fn load_recorder() -> Result<(), String> {
    let print = libbpf_rs::set_print(None);
    let loaded = Recorder::start();
    libbpf_rs::set_print(print);
    loaded.map(drop).map_err(|error| error.to_string())
}

fn resolution_ns() -> Option<u64> {
    let mut resolution = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `resolution` lives through the call, which writes it.
    if unsafe { libc::clock_getres(libc::CLOCK_MONOTONIC, &mut resolution) } != 0 {
        return None;
    }
    let seconds = u64::try_from(resolution.tv_sec).ok()?;
    Some(seconds * 1_000_000_000 + u64::try_from(resolution.tv_nsec).ok()?)
}
