//! What a machine can enforce, what it cannot, why, and what would change that.
//!
//! Reads files below a folder, so that a machine can be examined by a copy of them, and adds
//! what only trying tells. Nothing is changed.

pub mod check;
mod classes;
mod clock;
mod control_groups;
mod events;
mod frequency;
mod gpu;
mod hypervisor;
mod isolation;
mod kernel;
pub mod machine_files;
pub mod modes;
pub mod probe;
pub mod real_time_threads;
mod resctrl;
mod sched_ext;
mod smt;
mod throttling;
mod timer_slack;
mod tracepoints;

pub use control_groups::usable_freezers;
use serde::Serialize;

use crate::pmu::EventProbe;
use check::Check;
use machine_files::MachineFiles;
use modes::Mode;
use probe::Probed;
use real_time_threads::RealTimeThread;

/// Version of [`Examination`] as JSON.
pub const FORMAT: u32 = 1;

/// Everything that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Examination {
    /// [`FORMAT`].
    pub format: u32,
    /// Each thing that was looked at.
    pub checks: Vec<Check>,
    /// The PMU events that were tried.
    pub pmu_events: Vec<EventProbe>,
    /// Threads in classes above the fair ones, the most important first.
    pub real_time_threads: Vec<RealTimeThread>,
    /// The ways in which `--target linux` can work here.
    pub modes: Vec<Mode>,
}

impl Examination {
    /// Whether gangs can be kept apart here in some way.
    pub fn is_fit(&self) -> bool {
        self.modes.iter().any(|mode| mode.works)
    }
}

/// Whether this machine can load ringfence's scheduler, which is tried.
pub fn sched_ext() -> Check {
    let machine = MachineFiles::below("/");
    let loaded = probe::load_scheduler(&machine);
    sched_ext::check(&machine, loaded.as_ref())
}

/// What is to be said of this machine's real-time threads before gangs are kept apart on it.
pub fn outranking_threads() -> Option<String> {
    real_time_threads::warning(&real_time_threads::list(&MachineFiles::below("/")))
}

/// Examines a machine by its files and by what came of trying.
pub fn examine(machine: &MachineFiles, probed: Probed) -> Examination {
    let real_time_threads = real_time_threads::list(machine);
    let checks = vec![
        kernel::check(machine),
        hypervisor::check(machine),
        classes::check(machine, &probed.classes),
        sched_ext::check(machine, probed.scheduler.as_ref()),
        tracepoints::check(machine, probed.recorder.as_ref()),
        control_groups::check(machine),
        events::check(machine, &probed.events),
        resctrl::check(machine),
        frequency::check(machine),
        smt::check(machine),
        isolation::check(machine),
        clock::check(machine, probed.resolution_ns),
        timer_slack::check(machine),
        throttling::check(machine),
        real_time_threads::check(&real_time_threads),
        gpu::check(machine),
    ];
    let modes = modes::modes(&checks, &events::traffic(&probed.events));
    Examination {
        format: FORMAT,
        checks,
        pmu_events: probed.events,
        real_time_threads,
        modes,
    }
}
