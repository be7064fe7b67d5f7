//! BPF tracepoints: whether the kernel tells us who runs where, which a record rests on.

use super::check::{Check, Level};
use super::machine_files::MachineFiles;

pub(super) const NAME: &str = "BPF tracepoints";
const KERNEL: &str =
    "root, and a kernel from 5.8 on with CONFIG_BPF_SYSCALL and CONFIG_DEBUG_INFO_BTF";

/// `loaded` is what came of loading our recorder, if it was tried.
pub(super) fn check(machine: &MachineFiles, loaded: Option<&Result<(), String>>) -> Check {
    let has_types = machine.has("/sys/kernel/btf/vmlinux");
    match loaded {
        Some(Ok(())) => Check::new(
            NAME,
            Level::Usable,
            "switches and wake-ups of threads are told",
            "our recorder was loaded for a moment",
        ),
        Some(Err(error)) if has_types => Check::new(
            NAME,
            Level::Unusable,
            "there, but our recorder was not loaded",
            error,
        )
        .remedy(KERNEL),
        None if has_types => Check::new(
            NAME,
            Level::Limited,
            "the kernel has type information (BTF)",
            "loading our recorder was not tried",
        ),
        _ => Check::new(
            NAME,
            Level::Unusable,
            "the kernel has no type information (BTF)",
            "who runs where cannot be recorded, and so not be judged",
        )
        .remedy(KERNEL),
    }
}
