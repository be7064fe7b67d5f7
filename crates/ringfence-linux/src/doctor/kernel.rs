//! The kernel: its version, and how soon it lets go of a CPU.

use ringfence_workloads::cpu;

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

/// The first with sched_setattr(2), which all classes are set by.
const OLDEST: (u32, u32) = (3, 14);

pub(super) fn check(machine: &MachineFiles) -> Check {
    let name = "kernel";
    let (Some(release), Some(version)) = (machine.release(), machine.version()) else {
        return Check::new(
            name,
            Level::Unusable,
            "no Linux kernel that says its release",
            "/proc is missing or empty",
        )
        .remedy("mount -t proc proc /proc");
    };
    let online = machine.online();
    let preemption = Preemption::of(machine);
    let found = format!(
        "Linux {release}, {} CPU{} online ({}), {}",
        online.len(),
        if online.len() == 1 { "" } else { "s" },
        cpu::write_list(&online),
        preemption.text()
    );
    if version < OLDEST {
        return Check::new(name, Level::Unusable, found, "it is older than Linux 3.14")
            .remedy("a kernel from 3.14 on; from 6.12 on for sched_ext");
    }
    match preemption {
        Preemption::RealTime | Preemption::Full => Check::new(
            name,
            Level::Usable,
            found,
            "a gang gets its CPU soon, also while best-effort work is in the kernel",
        ),
        Preemption::Never { can_choose } => Check::new(
            name,
            Level::Limited,
            found,
            "a system call of best-effort work may hold up a gang for milliseconds",
        )
        .remedy(match can_choose {
            true => "boot with preempt=full, or write full to /sys/kernel/debug/sched/preempt",
            false => "a kernel with CONFIG_PREEMPT, or with PREEMPT_RT",
        }),
        Preemption::Unknown => Check::new(
            name,
            Level::Limited,
            found,
            "whether best-effort work in the kernel can hold up a gang is not known",
        )
        .remedy("boot with preempt=full to be sure"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Preemption {
    RealTime,
    Full,
    Never { can_choose: bool },
    Unknown,
}

impl Preemption {
    fn of(machine: &MachineFiles) -> Self {
        let build = machine.text("/proc/sys/kernel/version").unwrap_or_default();
        let has = |word: &str| build.split_whitespace().any(|part| part == word);
        if has("PREEMPT_RT") || machine.number("/sys/kernel/realtime") == Some(1) {
            return Self::RealTime;
        }
        if !has("PREEMPT_DYNAMIC") {
            return match has("PREEMPT") {
                true => Self::Full,
                false => Self::Never { can_choose: false },
            };
        }
        match chosen(machine).as_deref() {
            Some("full" | "lazy") => Self::Full,
            Some(_) => Self::Never { can_choose: true },
            None => Self::Unknown,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::RealTime => "real-time (PREEMPT_RT)",
            Self::Full => "preemptible",
            Self::Never { .. } => "not preemptible inside the kernel",
            Self::Unknown => "preemption unknown",
        }
    }
}

/// What a kernel that can be preempted in several ways was told at boot, or else was built for.
fn chosen(machine: &MachineFiles) -> Option<String> {
    // `none voluntary (full)`
    let now = machine.text("/sys/kernel/debug/sched/preempt");
    let now = now.and_then(|text| Some(text.split_once('(')?.1.split_once(')')?.0.to_owned()));
    let built = || {
        let models = [
            ("CONFIG_PREEMPT_NONE", "none"),
            ("CONFIG_PREEMPT_VOLUNTARY", "voluntary"),
            ("CONFIG_PREEMPT_LAZY", "lazy"),
            ("CONFIG_PREEMPT", "full"),
        ];
        let model = models
            .iter()
            .find(|(option, _)| machine.option(option) == Some(true));
        model.map(|(_, name)| (*name).to_owned())
    };
    now.or_else(|| machine.boot_option("preempt"))
        .or_else(built)
}
