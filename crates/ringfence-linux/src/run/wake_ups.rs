//! Who tells which threads are awake, and who ran where.

use std::fmt;

use super::{CaseError, Mode};
use crate::doctor::machine_files::MachineFiles;

/// Who tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WakeUps {
    /// The kernel, by BPF tracepoints: of each switch and wake-up.
    Tracepoints,
    /// The threads themselves, by the job API; those that do not are looked at each millisecond.
    /// Nobody tells who ran where.
    Jobs,
}

/// Which of them is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WantedWakeUps {
    /// The kernel if it can, else the threads.
    Any,
    /// This one, or nothing is run.
    Only(WakeUps),
}

impl fmt::Display for WakeUps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tracepoints => "wake-ups seen through BPF tracepoints",
            Self::Jobs => "wake-ups seen through the job API, and by a look each millisecond",
        })
    }
}

impl WantedWakeUps {
    /// Which one it is on this machine, where gangs are kept apart by `mode`.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`]: this machine cannot do what is wanted.
    pub fn choose(self, mode: Mode) -> Result<WakeUps, CaseError> {
        let machine = MachineFiles::below("/");
        let has_types = machine.has("/sys/kernel/btf/vmlinux");
        self.choose_on(mode, has_types, machine.version())
    }

    fn choose_on(
        self,
        mode: Mode,
        has_types: bool,
        version: Option<(u32, u32)>,
    ) -> Result<WakeUps, CaseError> {
        let untold = match version {
            Some(version) if version < RING_BUFFERS => {
                Some(format!("Linux {}.{}", version.0, version.1))
            }
            _ if !has_types => Some("no /sys/kernel/btf/vmlinux".to_owned()),
            _ => None,
        };
        let unsupported = |text: String| Err(CaseError::Unsupported(text));
        match (self, mode, untold) {
            (Self::Only(WakeUps::Jobs), Mode::SchedExt, _) => unsupported(
                "--wake-ups: found jobs with sched_ext, which sees wake-ups itself; leave it out, or use \
                 --gang-scheduler portable"
                    .into(),
            ),
            (Self::Only(WakeUps::Jobs), Mode::Portable, _)
            | (Self::Any, Mode::Portable, Some(_)) => Ok(WakeUps::Jobs),
            (_, _, None) => Ok(WakeUps::Tracepoints),
            (_, _, Some(found)) => unsupported(format!(
                "who runs where is told by BPF tracepoints, which need Linux 5.8 and the kernel's type \
                 information (CONFIG_DEBUG_INFO_BTF), found {found}; --gang-scheduler portable --wake-ups jobs \
                 needs neither, and records only what programs say of their jobs"
            )),
        }
    }
}

/// The first Linux that has them for BPF programs.
const RING_BUFFERS: (u32, u32) = (5, 8);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_asked_where_the_kernel_does_not_tell() {
        let choose = |wanted: WantedWakeUps, mode, has_types, version| {
            wanted.choose_on(mode, has_types, Some(version)).ok()
        };
        let (told, said) = (Some(WakeUps::Tracepoints), Some(WakeUps::Jobs));
        let only = WantedWakeUps::Only;
        for (wanted, mode, has_types, version, expected) in [
            (WantedWakeUps::Any, Mode::Portable, true, (5, 8), told),
            (WantedWakeUps::Any, Mode::Portable, true, (5, 7), said),
            (WantedWakeUps::Any, Mode::Portable, false, (6, 1), said),
            (WantedWakeUps::Any, Mode::SchedExt, true, (6, 16), told),
            (WantedWakeUps::Any, Mode::SchedExt, false, (6, 16), None),
            (only(WakeUps::Jobs), Mode::Portable, true, (6, 1), said),
            (only(WakeUps::Jobs), Mode::SchedExt, true, (6, 16), None),
            (
                only(WakeUps::Tracepoints),
                Mode::Portable,
                true,
                (4, 9),
                None,
            ),
            (
                only(WakeUps::Tracepoints),
                Mode::Portable,
                true,
                (6, 1),
                told,
            ),
        ] {
            assert_eq!(choose(wanted, mode, has_types, version), expected);
        }
        let error = only(WakeUps::Tracepoints).choose_on(Mode::Portable, false, None);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains("found no /sys/kernel/btf/vmlinux"),
            "{error}"
        );
    }
}
