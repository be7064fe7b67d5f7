//! Isolated CPUs: those that the kernel keeps other work off.

use ringfence_workloads::cpu;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "isolated CPUs";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let isolated = machine.cpus("/sys/devices/system/cpu/isolated");
    // Without such CPUs some kernels write `(null)`, which is no list.
    let tickless = machine.cpus("/sys/devices/system/cpu/nohz_full");
    let callbacks = machine.boot_option("rcu_nocbs");
    if isolated.is_empty() {
        return Check::new(
            NAME,
            Level::Limited,
            "none",
            "other work and interrupts may run on any CPU; gangs outrank the work, not the interrupts",
        )
        .remedy("boot with isolcpus=, nohz_full= and rcu_nocbs= of the CPUs that gangs use, all but CPU 0");
    }
    let mut found = cpu::write_list(&isolated);
    match tickless.as_slice() {
        [] => found += ", with the timer tick",
        list => found += &format!(", without the timer tick {}", cpu::write_list(list)),
    }
    if let Some(list) = callbacks {
        found += &format!(", without RCU callbacks {list}");
    }
    Check::new(
        NAME,
        Level::Usable,
        found,
        "only what is told to runs there: gangs have to be told, too",
    )
}
