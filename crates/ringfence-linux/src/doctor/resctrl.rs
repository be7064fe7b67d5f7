//! resctrl: shares of the last-level cache and of memory bandwidth.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "resctrl";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let filesystems = machine.text("/proc/filesystems").unwrap_or_default();
    let has_it = filesystems
        .lines()
        .any(|line| line.ends_with("\tresctrl") || line == "resctrl");
    if !has_it {
        let (found, remedy) = match processor_features(machine).as_slice() {
            [] => (
                "neither the kernel nor the processor has it".to_owned(),
                "a processor with Intel RDT, AMD QoS or Arm MPAM, and a kernel with resctrl",
            ),
            features => (
                format!(
                    "the processor has {}, the kernel has no resctrl",
                    features.join(", ")
                ),
                "a kernel with CONFIG_X86_CPU_RESCTRL or CONFIG_ARM64_MPAM",
            ),
        };
        return Check::new(
            NAME,
            Level::Unusable,
            found,
            "the last-level cache cannot be divided: best-effort work may evict what a gang needs",
        )
        .remedy(remedy);
    }
    let info = "/sys/fs/resctrl/info";
    if !machine.has(info) {
        return Check::new(
            NAME,
            Level::Limited,
            "the kernel has it, and it is not mounted",
            "classes of service cannot be made before",
        )
        .remedy("mount -t resctrl resctrl /sys/fs/resctrl");
    }
    let resources: Vec<String> = machine
        .names(info)
        .iter()
        .filter_map(|resource| share(machine, &format!("{info}/{resource}"), resource))
        .collect();
    match resources.as_slice() {
        [] => Check::new(
            NAME,
            Level::Limited,
            "mounted, and it can only watch",
            "neither ways of a cache nor bandwidth can be given to a class of service",
        )
        .remedy("a processor with cache or memory bandwidth allocation"),
        resources => Check::new(
            NAME,
            Level::Usable,
            format!("mounted: {}", resources.join("; ")),
            "gangs can have ways of the cache for themselves",
        ),
    }
}

/// What can be given out of a resource.
fn share(machine: &MachineFiles, folder: &str, resource: &str) -> Option<String> {
    let groups = machine.number(&format!("{folder}/num_closids"))?;
    if let Some(mask) = machine.text(&format!("{folder}/cbm_mask")) {
        let ways = u64::from_str_radix(&mask, 16).ok()?.count_ones();
        return Some(format!("{resource}: {ways} ways, {groups} classes"));
    }
    let least = machine.number(&format!("{folder}/min_bandwidth"))?;
    let step = machine.number(&format!("{folder}/bandwidth_gran"))?;
    Some(format!(
        "{resource}: from {least} in steps of {step}, {groups} classes"
    ))
}

/// What an x86 processor says that it can do.
fn processor_features(machine: &MachineFiles) -> Vec<&'static str> {
    let flags = machine.field("/proc/cpuinfo", "flags").unwrap_or_default();
    let known = [
        ("cat_l3", "L3 allocation"),
        ("cat_l2", "L2 allocation"),
        ("mba", "memory bandwidth allocation"),
        ("cqm_llc", "cache monitoring"),
    ];
    let has = |flag: &str| flags.split(' ').any(|found| found == flag);
    let found = known.iter().filter(|(flag, _)| has(flag));
    found.map(|(_, name)| *name).collect()
}
