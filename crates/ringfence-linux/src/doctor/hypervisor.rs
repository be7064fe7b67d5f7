//! Whether somebody below the kernel takes CPUs away.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

pub(super) fn check(machine: &MachineFiles) -> Check {
    let name = "hypervisor";
    let flags = machine.field("/proc/cpuinfo", "flags").unwrap_or_default();
    let is_virtual = flags.split(' ').any(|flag| flag == "hypervisor")
        || machine.has("/sys/hypervisor/type")
        || machine.has("/proc/device-tree/hypervisor");
    if !is_virtual {
        return Check::new(
            name,
            Level::Usable,
            "none that shows",
            "the kernel has its CPUs for itself",
        );
    }
    let maker = machine.text("/sys/class/dmi/id/sys_vendor");
    let found = maker.map_or_else(
        || "a virtual machine".to_owned(),
        |maker| format!("a virtual machine ({maker})"),
    );
    Check::new(
        name,
        Level::Limited,
        found,
        "whoever runs below may take a CPU from a gang at any time, and other machines beside it share \
         caches and memory: nothing that is measured here is a bound",
    )
    .remedy("the hardware itself, or CPUs that are pinned and reserved for this machine")
}
