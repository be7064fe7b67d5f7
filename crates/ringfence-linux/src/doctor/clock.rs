//! The clock source, and how fine timers are.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "clock source";
/// Sources that a read of a register is enough for.
const FAST: [&str; 7] = [
    "tsc",
    "arch_sys_counter",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "xen",
    "riscv_clocksource",
    "timebase",
];

/// `resolution_ns` is that of CLOCK_MONOTONIC, if it was asked for: 1 with high-resolution timers.
pub(super) fn check(machine: &MachineFiles, resolution_ns: Option<u64>) -> Check {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let Some(current) = machine.text(&format!("{folder}/current_clocksource")) else {
        return Check::new(
            NAME,
            Level::Limited,
            "the system does not show it",
            "whether times are fine and cheap to read is not known",
        );
    };
    let available = machine.text(&format!("{folder}/available_clocksource"));
    let available = available.unwrap_or_default();
    if let Some(coarse_ns) = resolution_ns.filter(|&ns| ns > 1000) {
        return Check::new(
            NAME,
            Level::Unusable,
            format!("{current}, timers of {} us", coarse_ns / 1000),
            "releases and refills would be late by up to a tick",
        )
        .remedy("a kernel with CONFIG_HIGH_RES_TIMERS, booted without highres=off");
    }
    let found = match resolution_ns {
        Some(_) => format!("{current}, high-resolution timers"),
        None => current.clone(),
    };
    if FAST.contains(&current.as_str()) {
        return Check::new(
            NAME,
            Level::Usable,
            found,
            "a time costs tens of nanoseconds",
        );
    }
    let better: Vec<&str> = available
        .split_whitespace()
        .filter(|name| FAST.contains(name))
        .collect();
    let check = Check::new(
        NAME,
        Level::Limited,
        found,
        "each time costs a microsecond or more, and so does each switch",
    );
    match better.first() {
        Some(name) => check.remedy(format!("write {name} to {folder}/current_clocksource")),
        None => check.remedy("find in the kernel's log why it trusts no faster clock of the CPU"),
    }
}
