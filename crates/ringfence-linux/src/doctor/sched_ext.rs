//! sched_ext: whether the kernel has it, can check our programs, and is free.

use std::path::Path;

use libbpf_rs::btf::types::{Func, FuncProto};
use libbpf_rs::btf::{Btf, ReferencesType};

use super::check::{Check, Level};
use super::classes::has_capability;
use super::machine_files::MachineFiles;

const NAME: &str = "sched_ext";
/// Of capabilities(7): without it, or both others, no program is loaded.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;
/// Kernels of Debian whose sched_ext works; docs/src/kernel-tests.md has them all.
const KERNEL: &str = "a kernel from 6.12 on with CONFIG_SCHED_CLASS_EXT and CONFIG_DEBUG_INFO_BTF, \
                      such as Debian's 6.18 for trixie-backports";

/// `loaded` is what came of loading our scheduler, if it was tried.
pub(super) fn check(machine: &MachineFiles, loaded: Option<&Result<(), String>>) -> Check {
    let unusable = |found: &str, why: &str| Check::new(NAME, Level::Unusable, found, why);
    if !is_there(machine) {
        let found = match machine.option("CONFIG_SCHED_CLASS_EXT") {
            Some(false) => "the kernel was built without it (CONFIG_SCHED_CLASS_EXT is not set)",
            _ => "the kernel does not have it (no /sys/kernel/sched_ext)",
        };
        return unusable(found, "no scheduler can be loaded into this kernel").remedy(KERNEL);
    }
    if let Some(owner) = attached(machine) {
        return unusable(
            &format!("the scheduler '{owner}' is attached"),
            "the kernel takes one scheduler at a time",
        )
        .remedy(format!("end {owner}"));
    }
    let broken = broken_functions(&machine.path("/sys/kernel/btf/vmlinux"));
    match (loaded, broken) {
        (Some(Ok(())), _) => Check::new(
            NAME,
            Level::Usable,
            "there, and no scheduler is attached",
            "the kernel has checked and loaded our scheduler; it was not attached",
        ),
        (_, Err(why)) => unusable("there, but without type information (BTF)", &why).remedy(KERNEL),
        (_, Ok(broken)) if !broken.is_empty() => unusable(
            &format!(
                "there, but the kernel's type information is broken for {} of its functions, such as {}",
                broken.len(),
                broken[0]
            ),
            "its build left the short form of these functions out, so programs that call them are refused",
        )
        .remedy("another kernel: Debian's 6.18 and 7.0 are whole, its 7.1 and 7.2 for amd64 are not"),
        (Some(Err(error)), _) => refused(machine, error),
        (None, Ok(_)) => Check::new(
            NAME,
            Level::Limited,
            "there, and no scheduler is attached",
            "loading our scheduler was not tried",
        ),
    }
}

/// Whether the kernel has the extensible class.
pub fn is_there(machine: &MachineFiles) -> bool {
    machine.has("/sys/kernel/sched_ext")
}

fn refused(machine: &MachineFiles, error: &str) -> Check {
    let has = |number| has_capability(machine, number);
    let check = Check::new(
        NAME,
        Level::Unusable,
        "there, but our scheduler was not loaded",
        error,
    );
    match has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON) {
        true => check,
        false => check.remedy("run as root"),
    }
}

/// The scheduler that is there; none in the state `disabled`.
fn attached(machine: &MachineFiles) -> Option<String> {
    let state = machine.text("/sys/kernel/sched_ext/state")?;
    (state != "disabled").then(|| {
        let name = machine.text("/sys/kernel/sched_ext/root/ops");
        name.unwrap_or_else(|| format!("of another process ({state})"))
    })
}

/// Functions of sched_ext whose prototype no program can match.
///
/// Since 7.1 many of them end in `aux`, which the kernel fills in by itself. Its build splits
/// such a function in two: one without `aux`, which programs are checked against, and the
/// whole one, named `..._impl`. Where that was left out `aux` is still there.
fn broken_functions(btf: &Path) -> Result<Vec<String>, String> {
    let types = Btf::from_path(btf).map_err(|error| {
        format!(
            "/sys/kernel/btf/vmlinux cannot be read ({error}), and programs are checked against it"
        )
    })?;
    let mut broken = Vec::new();
    for function in types.type_by_kind::<Func<'_>>() {
        let name = function.name().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| name.starts_with("scx_bpf_")) else {
            continue;
        };
        let Ok(prototype) = FuncProto::try_from(function.referenced_type()) else {
            continue;
        };
        let last = prototype.iter().last().and_then(|last| last.name);
        if !name.ends_with("_impl") && last.is_some_and(|last| last == "aux") {
            broken.push(name.to_owned());
        }
    }
    broken.sort();
    Ok(broken)
}
