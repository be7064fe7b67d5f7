//! Events of the CPUs' performance monitoring unit (PMU): those that really count.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;
use crate::pmu::{EventProbe, LOAD_LINES};

const NAME: &str = "PMU events";

pub(super) fn check(machine: &MachineFiles, probed: &[EventProbe]) -> Check {
    let traffic = traffic(probed);
    let counting: Vec<&str> = probed
        .iter()
        .filter(|probe| probe.counts())
        .map(|probe| probe.event.as_str())
        .collect();
    let found = match (counting.as_slice(), unit(machine)) {
        ([], None) => "the system shows no PMU of the CPUs".to_owned(),
        ([], Some(unit)) => format!("the PMU {unit}, and no event that counts"),
        (events, _) => format!("these count: {}", events.join(", ")),
    };
    if !traffic.is_empty() {
        return Check::new(
            NAME,
            Level::Usable,
            found,
            "known loads moved the counters by what they cause, and interrupts are taken: memory \
             traffic can be held to budgets under sched_ext",
        );
    }
    let (level, why) = match counting.is_empty() {
        true => (
            Level::Unusable,
            "budgets of memory traffic cannot be held; time can stand in for it (duty cycle), which \
             shares out the CPU and measures no traffic",
        ),
        false => (
            Level::Limited,
            "none of them counts memory traffic; time can stand in for it (duty cycle)",
        ),
    };
    let check = Check::new(NAME, level, with_reasons(found, probed), why);
    match remedy(machine, probed) {
        Some(remedy) => check.remedy(remedy),
        None => check,
    }
}

/// Events that count memory traffic everywhere.
pub fn traffic(probed: &[EventProbe]) -> Vec<String> {
    let good = probed
        .iter()
        .filter(|probe| probe.is_traffic && probe.counts());
    good.map(|probe| probe.event.clone()).collect()
}

/// The CPUs' unit, by the name that the kernel has for it.
fn unit(machine: &MachineFiles) -> Option<String> {
    let units = machine.names("/sys/bus/event_source/devices");
    units.into_iter().find(|name| {
        name.starts_with("cpu") || name.starts_with("armv") || name.starts_with("arm_")
    })
}

/// What was wrong with each event, those with the same trouble together.
fn with_reasons(found: String, probed: &[EventProbe]) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for probe in probed.iter().filter(|probe| !probe.counts()) {
        let reason = match (&probe.refusal, probe.computing, probe.missing) {
            (Some(refusal), ..) => refusal.clone(),
            (None, Some(computing), Some(missing)) => format!(
                "it opens and does not count what happens: {computing} while computing, {missing} \
                 while missing {} lines",
                LOAD_LINES
            ),
            _ => "it cannot be read".to_owned(),
        };
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, events)) => events.push(&probe.event),
            None => reasons.push((reason, vec![&probe.event])),
        }
    }
    let reasons = reasons
        .into_iter()
        .map(|(reason, events)| format!("{}: {reason}", events.join(", ")));
    [found]
        .into_iter()
        .chain(reasons)
        .collect::<Vec<_>>()
        .join("; ")
}

fn remedy(machine: &MachineFiles, probed: &[EventProbe]) -> Option<String> {
    let is_forbidden = |probe: &EventProbe| {
        probe
            .refusal
            .as_ref()
            .is_some_and(|refusal| refusal.contains("allowed"))
    };
    if probed.iter().any(is_forbidden) {
        return Some(
            match machine.number("/proc/sys/kernel/perf_event_paranoid") {
                Some(level @ 1..) => format!(
                    "run as root, or write 0 to /proc/sys/kernel/perf_event_paranoid, which is {level}"
                ),
                _ => "run as root, outside of a container".into(),
            },
        );
    }
    if !machine.has("/sys/bus/event_source/devices") {
        return Some("a kernel with CONFIG_PERF_EVENTS".into());
    }
    match unit(machine) {
        None => Some("the hardware itself, or a virtual machine that is given a PMU".into()),
        Some(_) => None,
    }
}
