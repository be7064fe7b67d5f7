//! GPUs: whether they share the memory of the CPUs, and what can be set.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

const NAME: &str = "GPU";

pub(super) fn check(machine: &MachineFiles) -> Check {
    let integrated = integrated(machine);
    if !integrated.is_empty() {
        return Check::new(
            NAME,
            Level::Limited,
            format!("{}, in the memory of the CPUs", integrated.join(", ")),
            "its traffic slows gangs down and cannot be throttled; only its clock can be lowered",
        )
        .remedy("write a lower clock to max_freq of its folder below /sys/class/devfreq");
    }
    let cards = cards(machine);
    match cards.as_slice() {
        [] => Check::new(
            NAME,
            Level::Usable,
            "none that shows",
            "no traffic of a GPU has to be reckoned with, and none can be throttled",
        ),
        cards => Check::new(
            NAME,
            Level::Limited,
            cards.join(", "),
            "what it copies from and to the memory of the CPUs is not throttled",
        )
        .remedy("keep copies of best-effort GPU work out of the time in which gangs run"),
    }
}

/// GPUs of a chip, by the clock that the system has for each.
fn integrated(machine: &MachineFiles) -> Vec<String> {
    let devices = machine.names("/sys/class/devfreq");
    let is_gpu = |name: &String| {
        let kinds = ["gpu", "mali", "v3d", "gp10b", "gv11b", "ga10b"];
        kinds.iter().any(|kind| name.to_lowercase().contains(kind))
    };
    let mut found: Vec<String> = devices.into_iter().filter(is_gpu).collect();
    // Older boards of NVIDIA show it without a clock.
    if found.is_empty() && machine.has("/sys/devices/gpu.0") {
        found.push("gpu.0".into());
    }
    found
}

/// GPUs on the PCI bus: NVIDIA's driver names its own, others are known by class and maker.
fn cards(machine: &MachineFiles) -> Vec<String> {
    let folder = "/proc/driver/nvidia/gpus";
    let mut found: Vec<String> = machine
        .names(folder)
        .iter()
        .filter_map(|gpu| machine.field(&format!("{folder}/{gpu}/information"), "Model"))
        .collect();
    for device in machine.names("/sys/bus/pci/devices") {
        let attribute = |name: &str| machine.text(&format!("/sys/bus/pci/devices/{device}/{name}"));
        // 0x03: a display controller (PCI code and ID assignment specification).
        let is_display = attribute("class").is_some_and(|class| class.starts_with("0x03"));
        let maker = match attribute("vendor").as_deref() {
            Some("0x10de") if found.is_empty() => "NVIDIA without its driver",
            Some("0x1002") => "AMD",
            Some("0x8086") => "Intel",
            _ => continue,
        };
        if is_display {
            found.push(format!("{maker} ({device})"));
        }
    }
    found
}
