//! The file that says which gangs are scheduled, and by whom.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ringfence_scenario::model::{Case, Gang, Scenario};
use serde::{Deserialize, Serialize};

use crate::scheduler::Membership;
use crate::thread::Thread;

/// Name of the file, in ringfence's folder.
pub(super) const NAME: &str = "enforced.json";
/// Name of the memberships, in the kernel's BPF file system.
pub(super) const MEMBERS: &str = "ringfence-members";
/// Name of the control groups that belong to gangs, there.
pub(super) const GROUPS: &str = "ringfence-groups";
/// Version of the file; others are refused.
const FORMAT: u32 = 3;

/// What is enforced on this machine now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enforced {
    format: u32,
    /// The process that schedules; when it ends, the kernel takes all threads back.
    pub process: Thread,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of the case.
    pub case: String,
    /// The gangs that threads can be put into, in the scenario's order.
    pub gangs: Vec<EnforcedGang>,
    /// The map of memberships.
    pub members: PathBuf,
    /// The map of control groups that belong to gangs; `None` if the kernel does not tell who is
    /// put into one.
    pub groups: Option<PathBuf>,
}

/// A gang of [`Enforced`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnforcedGang {
    /// Name.
    pub name: String,
    /// Name of its partition.
    pub partition: String,
    /// Number of that partition.
    pub partition_number: u32,
    /// CPUs of that partition, ascending: members run there and nowhere else.
    pub cpus: Vec<u16>,
    /// Priority, 1 to 99.
    pub priority: u32,
    /// The log in which its programs tell of their jobs.
    pub jobs: PathBuf,
}

/// Why nothing is found.
#[derive(Debug, thiserror::Error)]
pub enum FindError {
    /// There is no such file, or the process that wrote it is gone.
    #[error("no gangs are scheduled on this machine now; `ringfence enforce SCENARIO` does that")]
    Nothing,
    /// The file cannot be read.
    #[error("{path}: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file says something else than expected.
    #[error(
        "{path}: found {found}, expected what this version of ringfence writes; end `ringfence enforce` and start it anew"
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
    },
    /// No gang has the name.
    #[error("found no gang `{name}` in scenario `{scenario}`, expected one of: {known}")]
    NoSuchGang {
        /// What was asked for.
        name: String,
        /// Name of the scenario.
        scenario: String,
        /// The names that there are.
        known: String,
    },
}

impl Enforced {
    pub(super) fn of(
        scenario: &Scenario,
        case: &Case,
        gangs: &[&Gang],
        jobs: &[PathBuf],
        members: &Path,
        groups: Option<&Path>,
    ) -> Self {
        let gangs = gangs.iter().zip(jobs).map(|(gang, jobs)| {
            let partition = &scenario.partitions[gang.partition];
            EnforcedGang {
                name: gang.name.clone(),
                partition: partition.name.clone(),
                partition_number: gang.partition as u32,
                cpus: partition.cores.clone(),
                priority: gang.priority.into(),
                jobs: jobs.clone(),
            }
        });
        Self {
            format: FORMAT,
            process: Thread::this_process(),
            scenario: scenario.name.clone(),
            case: case.name.clone(),
            gangs: gangs.collect(),
            members: members.to_owned(),
            groups: groups.map(Path::to_owned),
        }
    }

    /// Others see the whole file or none.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let partial = path.with_extension("part");
        let mut file = fs::File::create(&partial)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        fs::rename(&partial, path)
    }

    /// What is enforced on this machine, as `folder` says.
    ///
    /// # Errors
    /// Nothing is, or the file cannot be read.
    pub fn find(folder: &Path) -> Result<Self, FindError> {
        let path = folder.join(NAME);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(FindError::Nothing);
            }
            Err(error) => return Err(FindError::File { path, error }),
            Ok(text) => text,
        };
        let content = |found: String| FindError::Content {
            path: path.clone(),
            found,
        };
        let found: Self =
            serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
        if found.format != FORMAT {
            return Err(content(format!("format {}", found.format)));
        }
        match found.process.lives_below(Path::new("/")) {
            true => Ok(found),
            false => Err(FindError::Nothing),
        }
    }

    /// The gang of that name.
    ///
    /// # Errors
    /// [`FindError::NoSuchGang`].
    pub fn gang(&self, name: &str) -> Result<&EnforcedGang, FindError> {
        let found = self.gangs.iter().find(|gang| gang.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.gangs.iter().map(|gang| gang.name.as_str()).collect();
            FindError::NoSuchGang {
                name: name.to_owned(),
                scenario: self.scenario.clone(),
                known: known.join(", "),
            }
        })
    }
}

impl EnforcedGang {
    /// What makes a thread a member.
    pub fn membership(&self) -> Membership {
        Membership {
            partition: self.partition_number,
            priority: self.priority,
        }
    }
}
