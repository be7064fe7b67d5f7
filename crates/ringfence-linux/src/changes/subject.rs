//! What can be changed, how it can be, and how people read it.

use std::path::{Component, Path, PathBuf};

use ringfence_workloads::cpu;
use serde::{Deserialize, Serialize};

use crate::class::Class;
use crate::thread::Thread;

/// A hierarchy of groups that threads are in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub mount: PathBuf,
    /// Whose groups they are.
    pub kind: HierarchyKind,
}

/// Kinds of hierarchies.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HierarchyKind {
    /// Control groups, version 1, of a controller such as `freezer`.
    CgroupV1(String),
    /// Control groups, version 2.
    CgroupV2,
    /// Groups of the resource control file system.
    Resctrl,
}

/// One thing of the machine that can be changed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The value in a file of the kernel's, without the blanks around it. Of a file that puts
    /// brackets around one of several words it is that word.
    Value(PathBuf),
    /// Whether there is a group: a folder of a hierarchy. Whoever is still in one that is
    /// removed goes to its parent.
    Group(PathBuf),
    /// Whether the threads of a cgroup are frozen, by its folder.
    Freezer(PathBuf),
    /// The share that a resctrl group has of one resource, such as `L3`, in one of its domains,
    /// without leading zeros.
    Share {
        /// Folder of the group.
        group: PathBuf,
        /// Name of the resource, as in the file `schemata`.
        resource: String,
        /// Number of the domain.
        domain: u32,
    },
    /// The group of a hierarchy that a thread is in.
    ThreadGroup(Thread, Hierarchy),
    /// The same for all threads of a process together, which is named by its first.
    ProcessGroup(Thread, Hierarchy),
    /// Scheduling class of a thread.
    Class(Thread),
    /// CPUs that a thread may run on.
    Affinity(Thread),
}

/// How a subject is, or is to be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Of [`Subject::Value`] and [`Subject::Share`]: the text.
    Text(String),
    /// Of [`Subject::Group`].
    Exists(bool),
    /// Of [`Subject::Freezer`]; also while the kernel is still at it.
    Frozen(bool),
    /// Of [`Subject::ThreadGroup`] and [`Subject::ProcessGroup`]: path of the group from the
    /// mount, `/` for the topmost.
    Group(PathBuf),
    /// Of [`Subject::Class`].
    Class(Class),
    /// Of [`Subject::Affinity`], ascending.
    Cpus(Vec<u16>),
}

impl State {
    /// Whether a subject that is to be so is, where it was found to be `found`.
    pub fn holds(&self, found: &Self) -> bool {
        match (self, found) {
            (Self::Class(wanted), Self::Class(found)) => wanted.holds(found),
            _ => self == found,
        }
    }
}

impl Subject {
    /// Why the subject cannot be, or cannot be in this state; `None` if it can.
    pub fn refuses(&self, state: &State) -> Option<&'static str> {
        let paths: &[&Path] = match self {
            Self::Value(path) | Self::Group(path) | Self::Freezer(path) => &[path],
            Self::Share { group, .. } => &[group],
            Self::ThreadGroup(_, hierarchy) | Self::ProcessGroup(_, hierarchy) => {
                &[&hierarchy.mount]
            }
            Self::Class(_) | Self::Affinity(_) => &[],
        };
        if !paths.iter().all(|path| is_plain(path)) {
            return Some("its path is not absolute, or goes up");
        }
        let fits = match (self, state) {
            // The kernel takes a line; more of them are more than one value.
            (Self::Value(_) | Self::Share { .. }, State::Text(text)) => !text.contains('\n'),
            (Self::Group(_), State::Exists(_))
            | (Self::Freezer(_), State::Frozen(_))
            | (Self::Class(_), State::Class(_)) => true,
            (Self::ThreadGroup(..), State::Group(path)) => is_plain(path),
            (Self::ProcessGroup(_, hierarchy), State::Group(path)) => {
                is_plain(path) && hierarchy.kind != HierarchyKind::Resctrl
            }
            (Self::Affinity(_), State::Cpus(cpus)) => !cpus.is_empty(),
            _ => false,
        };
        (!fits).then_some("it cannot be put into the state that it is to have, or has now")
    }

    /// What is done where the subject comes `from` a state, if that is known, `to` another.
    pub fn describe(&self, from: Option<&State>, to: &State) -> String {
        let was = from.map_or_else(String::new, |from| format!(" (was {})", text(from)));
        let to_text = text(to);
        match (self, to) {
            (Self::Value(file), _) => format!("write {to_text} to {}{was}", file.display()),
            (Self::Group(folder), State::Exists(true)) => {
                format!("make the group {}", folder.display())
            }
            (Self::Group(folder), _) => format!("remove the group {}", folder.display()),
            (Self::Freezer(folder), State::Frozen(true)) => format!("freeze {}", folder.display()),
            (Self::Freezer(folder), _) => format!("thaw {}", folder.display()),
            (
                Self::Share {
                    group,
                    resource,
                    domain,
                },
                _,
            ) => {
                let file = group.join("schemata");
                format!(
                    "write {resource}:{domain}={to_text} to {}{was}",
                    file.display()
                )
            }
            (Self::ThreadGroup(thread, hierarchy), _) => {
                let mount = hierarchy.mount.display();
                format!("move {thread} to {to_text} of {mount}{was}")
            }
            (Self::ProcessGroup(process, hierarchy), _) => {
                let mount = hierarchy.mount.display();
                format!("move process {} to {to_text} of {mount}{was}", process.tid)
            }
            (Self::Class(thread), _) => format!("put {thread} into class {to_text}{was}"),
            (Self::Affinity(thread), _) => format!("let {thread} run on {to_text}{was}"),
        }
    }
}

fn text(state: &State) -> String {
    match state {
        State::Text(text) => format!("'{text}'"),
        State::Exists(true) => "there".into(),
        State::Exists(false) => "not there".into(),
        State::Frozen(true) => "frozen".into(),
        State::Frozen(false) => "thawed".into(),
        State::Group(path) => path.display().to_string(),
        State::Class(class) => class.to_string(),
        State::Cpus(cpus) => format!("CPUs {}", cpu::write_list(cpus)),
    }
}

/// Absolute, and without a way up: what a mistake in a journal must not lead out of.
fn is_plain(path: &Path) -> bool {
    path.is_absolute()
        && path
            .components()
            .all(|part| matches!(part, Component::RootDir | Component::Normal(_)))
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text(self))
    }
}
