//! Frequency scaling: whether the same work takes the same time.

use std::collections::BTreeMap;

use ringfence_workloads::cpu;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "frequency scaling";
const WHY: &str = "execution times change with the clock";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let mut governors: BTreeMap<String, Vec<u16>> = BTreeMap::new();
    let mut is_fixed = true;
    for cpu in machine.online() {
        let folder = format!("/sys/devices/system/cpu/cpu{cpu}/cpufreq");
        let Some(governor) = machine.text(&format!("{folder}/scaling_governor")) else {
            continue;
        };
        let limit = |name: &str| machine.number(&format!("{folder}/{name}"));
        let (least, most) = (limit("scaling_min_freq"), limit("scaling_max_freq"));
        is_fixed &= governor == "performance" || least.is_some() && least == most;
        governors.entry(governor).or_default().push(cpu);
    }
    if governors.is_empty() {
        return Check::new(
            NAME,
            Level::Limited,
            "the system does not show the clocks",
            "whether they change is not known: firmware or a hypervisor may do it",
        );
    }
    let each = governors
        .iter()
        .map(|(governor, on)| format!("{governor} on CPUs {}", cpu::write_list(on)));
    let mut found = each.collect::<Vec<_>>().join(", ");
    let boost = boost(machine);
    if boost.is_some() {
        found += ", boost on";
    }
    match (is_fixed, boost) {
        (true, None) => Check::new(NAME, Level::Usable, found, "the clocks stay as they are"),
        (true, Some(off)) => Check::new(
            NAME,
            Level::Limited,
            found,
            "the highest clock depends on heat and on what other cores do",
        )
        .remedy(off),
        (false, _) => Check::new(NAME, Level::Limited, found, WHY).remedy(
            "write performance to scaling_governor of each CPU, below /sys/devices/system/cpu/cpu*/cpufreq",
        ),
    }
}

/// How the boost is turned off, if it is on.
fn boost(machine: &MachineFiles) -> Option<&'static str> {
    let cpu = "/sys/devices/system/cpu";
    if machine.number(&format!("{cpu}/intel_pstate/no_turbo")) == Some(0) {
        return Some("write 1 to /sys/devices/system/cpu/intel_pstate/no_turbo");
    }
    (machine.number(&format!("{cpu}/cpufreq/boost")) == Some(1))
        .then_some("write 0 to /sys/devices/system/cpu/cpufreq/boost")
}
