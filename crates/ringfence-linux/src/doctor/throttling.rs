//! RT throttling: the time that the kernel keeps from its own real-time classes.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "RT throttling";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let file = "/proc/sys/kernel/sched_rt_runtime_us";
    let runtime_us = machine.number(file);
    let period_us = machine.number("/proc/sys/kernel/sched_rt_period_us");
    let (Some(runtime_us), Some(period_us)) = (runtime_us, period_us) else {
        return Check::new(
            NAME,
            Level::Limited,
            "the system does not show it",
            "whether gangs lose time to other work is not known",
        );
    };
    if runtime_us < 0 || runtime_us >= period_us {
        return Check::new(
            NAME,
            Level::Usable,
            "off",
            "gangs keep their CPUs as long as they want; one that never sleeps starves the rest",
        );
    }
    Check::new(
        NAME,
        Level::Usable,
        format!("real-time threads get at most {runtime_us} us of each {period_us} us of a CPU"),
        format!(
            "the share limit of the scenario holds instead: under sched_ext as gangs are no real-time \
             threads, in portable mode as it writes -1 to {file} for the run"
        ),
    )
}
