//! Who keeps gangs apart: the kernel by sched_ext, or an agent in user space.

use std::fmt;

use super::CaseError;
use crate::doctor::check::Level;
use crate::doctor::machine_files::MachineFiles;
use crate::doctor::{self, usable_freezers};

/// Who keeps gangs apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// The scheduler of `bpf/`, in the kernel.
    SchedExt,
    /// The agent of [`crate::portable`].
    Portable,
}

/// Which of them is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wanted {
    /// The kernel if it can, else the agent.
    Any,
    /// This one, or nothing is run.
    Only(Mode),
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SchedExt => "sched_ext",
            Self::Portable => "portable",
        })
    }
}

impl Wanted {
    /// Which one it is on this machine, where both are tried as `ringfence doctor` does.
    ///
    /// # Errors
    /// [`CaseError::Unsupported`]: this machine cannot do what is wanted.
    pub fn choose(self) -> Result<Mode, CaseError> {
        let in_kernel = || match doctor::sched_ext() {
            check if check.state == Level::Usable => Ok(Mode::SchedExt),
            check => Err(check.found),
        };
        let portable = || match usable_freezers(&MachineFiles::below("/")).is_empty() {
            false => Ok(Mode::Portable),
            true => Err("no freezer of control groups that can be written"),
        };
        let unsupported = |text: String| CaseError::Unsupported(text);
        match self {
            Self::Only(Mode::SchedExt) => in_kernel().map_err(|found| {
                unsupported(format!(
                    "gang scheduling by the kernel needs sched_ext (CONFIG_SCHED_CLASS_EXT, from Linux 6.12 \
                     on), found: {found}; --gang-scheduler portable needs only a freezer"
                ))
            }),
            Self::Only(Mode::Portable) => portable().map_err(|found| {
                unsupported(format!(
                    "gang scheduling in portable mode needs a freezer, found {found}; `ringfence doctor` \
                     says how to get one"
                ))
            }),
            Self::Any => in_kernel().or_else(|of_kernel| {
                portable().map_err(|found| {
                    unsupported(format!(
                        "gang scheduling needs a kernel with sched_ext or a freezer, found {found}, and of \
                         sched_ext: {of_kernel}; `ringfence doctor` says what this machine can do"
                    ))
                })
            }),
        }
    }
}
