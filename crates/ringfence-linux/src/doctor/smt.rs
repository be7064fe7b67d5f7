//! SMT siblings: CPUs that share one core.

use std::collections::BTreeSet;

use ringfence_workloads::cpu;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "SMT siblings";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let mut shared = BTreeSet::new();
    let mut is_known = false;
    for cpu in machine.online() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/topology");
        let siblings = machine.cpus(&format!("{folder}/thread_siblings_list"));
        is_known |= !siblings.is_empty();
        if siblings.len() > 1 {
            shared.insert(cpu::write_list(&siblings));
        }
    }
    if !is_known {
        return Check::new(
            NAME,
            Level::Limited,
            "the system does not show which CPUs share a core",
            "siblings share all of a core's caches and units, and no throttling divides them",
        );
    }
    if shared.is_empty() {
        return Check::new(
            NAME,
            Level::Usable,
            "none: each CPU is a core of its own",
            "no CPU slows another one down inside a core",
        );
    }
    let shared: Vec<String> = shared.into_iter().collect();
    Check::new(
        NAME,
        Level::Limited,
        format!("cores with more than one CPU: {}", shared.join("; ")),
        "siblings share all of a core's caches and units, and no throttling divides them",
    )
    .remedy(
        "write off to /sys/devices/system/cpu/smt/control, or give all CPUs of a core to one gang",
    )
}
