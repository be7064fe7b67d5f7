//! Scheduling classes: which of them a thread of ours may have.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;
use super::probe::ClassProbe;

/// CAP_SYS_NICE of capabilities(7).
const CAP_SYS_NICE: u32 = 23;

pub(super) fn check(machine: &MachineFiles, probed: &[ClassProbe]) -> Check {
    let name = "scheduler classes";
    if probed.is_empty() {
        return Check::new(
            name,
            Level::Limited,
            "nothing was tried",
            "only the machine itself can tell",
        );
    }
    let allowed: Vec<&str> = probed
        .iter()
        .filter(|probe| probe.refusal.is_none())
        .map(|probe| probe.class)
        .collect();
    let mut refused: Vec<(&str, Vec<&str>)> = Vec::new();
    for probe in probed {
        let Some(refusal) = probe.refusal.as_deref() else {
            continue;
        };
        match refused.iter_mut().find(|(known, _)| *known == refusal) {
            Some((_, classes)) => classes.push(probe.class),
            None => refused.push((refusal, vec![probe.class])),
        }
    }
    let refused = refused
        .into_iter()
        .map(|(refusal, classes)| format!("not {} ({refusal})", classes.join(", ")));
    let found: Vec<String> = (!allowed.is_empty())
        .then(|| allowed.join(", "))
        .into_iter()
        .chain(refused)
        .collect();
    let found = found.join("; ");
    if allowed.contains(&"fifo") {
        return Check::new(
            name,
            Level::Usable,
            found,
            "a thread of ours was in each of these classes for a moment",
        );
    }
    let (why, remedy) = refusal(machine);
    Check::new(name, Level::Unusable, found, why).remedy(remedy)
}

fn refusal(machine: &MachineFiles) -> (String, String) {
    if !has_capability(machine, CAP_SYS_NICE) {
        return (
            "real-time classes need CAP_SYS_NICE or a limit of RTPRIO above 0".into(),
            "run as root, or set rtprio in /etc/security/limits.conf".into(),
        );
    }
    if let Some(group) = group_without_real_time(machine) {
        return (
            format!("the control group {group} has no real-time share (CONFIG_RT_GROUP_SCHED)"),
            format!(
                "write a share such as 900000 to {group}/cpu.rt_runtime_us, or move to the topmost group"
            ),
        );
    }
    (
        "the system refuses, though CAP_SYS_NICE is there: a container's filter may be the cause"
            .into(),
        "run outside of the container, or allow sched_setscheduler in its filter".into(),
    )
}

/// Whether this process has a capability.
pub fn has_capability(machine: &MachineFiles, number: u32) -> bool {
    let set = machine.field("/proc/self/status", "CapEff");
    let set = set.and_then(|text| u64::from_str_radix(&text, 16).ok());
    set.is_some_and(|set| set >> number & 1 == 1)
}

/// The group of the cpu controller that we are in, if it gives real-time threads no time.
fn group_without_real_time(machine: &MachineFiles) -> Option<String> {
    let groups = machine.text("/proc/self/cgroup")?;
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let controllers = fields.next()?;
        let is_cpu = controllers.split(',').any(|name| name == "cpu");
        is_cpu.then(|| fields.next()).flatten()
    })?;
    let folder = format!("/sys/fs/cgroup/cpu{}", group.trim_end_matches('/'));
    let runtime_us = machine.number(&format!("{folder}/cpu.rt_runtime_us"));
    (runtime_us == Some(0)).then_some(folder)
}
