//! Groups of processes that the kernel stops and lets go on: the freezer of control groups,
//! version 1 or 2.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::changes::subject::{Hierarchy, HierarchyKind, State, Subject};
use crate::changes::{ChangeError, Stage};
use crate::doctor::machine_files::MachineFiles;
use crate::doctor::usable_freezers;

/// A hierarchy of groups that can be frozen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freezer {
    mount: PathBuf,
    version: Version,
}

/// Versions of control groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// The hierarchy of the controller `freezer`.
    V1,
    /// The unified hierarchy, from Linux 5.2 on.
    V2,
}

impl Freezer {
    /// Those of this machine in which we may make groups, the one that is used first:
    /// version 2, whose frozen processes can still be killed.
    pub fn all() -> Vec<Self> {
        let mut all: Vec<Self> = usable_freezers(&MachineFiles::below("/"))
            .into_iter()
            .map(|Hierarchy { mount, kind }| Self {
                mount,
                version: match kind {
                    HierarchyKind::CgroupV2 => Version::V2,
                    _ => Version::V1,
                },
            })
            .collect();
        all.sort_by_key(|freezer| freezer.version == Version::V1);
        all
    }

    /// Its version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Makes a group through `stage`, which undoes it: thawed first, then removed.
    ///
    /// # Errors
    /// It is there already, or cannot be made.
    pub fn make(&self, name: &str, stage: &mut impl Stage) -> Result<(), ChangeError> {
        let folder = self.mount.join(name);
        stage.change(Subject::Group(folder.clone()), State::Exists(true))?;
        stage.take_over(Subject::Freezer(folder))
    }

    /// A group that was [made](Self::make).
    ///
    /// # Errors
    /// It cannot be written to.
    pub fn open(&self, name: &str) -> Result<Group, ChangeError> {
        let folder = self.mount.join(name);
        let (file, frozen, thawed) = match self.version {
            Version::V1 => ("freezer.state", "FROZEN", "THAWED"),
            Version::V2 => ("cgroup.freeze", "1", "0"),
        };
        let path = folder.join(file);
        let switch = OpenOptions::new().write(true).open(&path);
        let switch = switch.map_err(|error| ChangeError::Refused {
            what: format!("open {}", path.display()),
            error,
        })?;
        Ok(Group {
            folder,
            switch,
            frozen,
            thawed,
        })
    }
}

/// A group whose processes can be stopped.
#[derive(Debug)]
pub struct Group {
    folder: PathBuf,
    switch: File,
    frozen: &'static str,
    thawed: &'static str,
}

impl Group {
    /// Tells the kernel to stop all threads in it, or to let them go on. They stop as soon as
    /// they leave the kernel.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set_frozen(&self, frozen: bool) -> io::Result<()> {
        let word = match frozen {
            true => self.frozen,
            false => self.thawed,
        };
        self.switch.write_all_at(word.as_bytes(), 0)
    }

    /// Takes a process in, with all its threads and children to come.
    ///
    /// # Errors
    /// There is no such process, or the kernel refuses.
    pub fn add(&self, process: i32) -> io::Result<()> {
        let file = OpenOptions::new()
            .write(true)
            .open(self.folder.join("cgroup.procs"))?;
        file.write_all_at(process.to_string().as_bytes(), 0)
    }
}
