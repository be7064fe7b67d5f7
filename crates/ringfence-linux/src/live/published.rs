//! The file that says what is enforced and where to look.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use ringfence_scenario::model::{Case, Gang, Scenario, ShareLimit};
use serde::{Deserialize, Serialize};

use super::board::{Board, Shape};
use super::snapshot::Mode;
use crate::changes::lock::{LockError, make_folder};
use crate::run::in_kernel::is_regulated;
use crate::scheduler::MapIds;
use crate::thread::Thread;

/// Name of the file, in ringfence's folder.
pub(super) const NAME: &str = "live.json";
/// Version of the file and of what it points to; others are refused.
pub(super) const FORMAT: u32 = 2;

/// What is enforced.
#[derive(Clone, Copy)]
pub struct Subject<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Its case.
    pub case: &'a Case,
    /// Gangs of the case, in its order.
    pub gangs: &'a [&'a Gang],
}

/// What does not change while it is enforced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    pub(super) format: u32,
    /// The process that enforces; when it ends, nothing of this holds any more.
    pub(super) process: Thread,
    pub(super) mode: Mode,
    pub(super) scenario: String,
    pub(super) case: String,
    pub(super) since_unix_ms: u64,
    pub(super) partitions: Vec<PublishedPartition>,
    pub(super) gangs: Vec<PublishedGang>,
    /// Of best-effort work's budgets; `None` if there are none.
    pub(super) period_ns: Option<u64>,
    pub(super) board: PathBuf,
    pub(super) shape: Shape,
    /// Of the scheduler in the kernel, if it is the one that decides.
    pub(super) maps: Option<MapIds>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedPartition {
    pub(super) name: String,
    pub(super) cpus: Vec<u16>,
    pub(super) share: Option<PublishedShare>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedShare {
    pub(super) limit_ns: u64,
    pub(super) window_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PublishedGang {
    pub(super) name: String,
    /// Index of its partition.
    pub(super) partition: usize,
    pub(super) priority: u8,
}

impl Subject<'_> {
    /// What its board has to hold.
    pub fn shape(&self) -> Shape {
        Shape {
            partitions: self.scenario.partitions.len() as u16,
            cpus: self.scenario.platform.cores,
            gangs: self.gangs.len() as u16,
        }
    }

    fn published(&self, board: &Board, maps: Option<MapIds>) -> Published {
        let share = match self.scenario.share {
            ShareLimit::Off => None,
            ShareLimit::Limited {
                limit_ns,
                window_ns,
            } => Some(PublishedShare {
                limit_ns,
                window_ns,
            }),
        };
        let partitions = self.scenario.partitions.iter();
        let partitions = partitions.map(|partition| PublishedPartition {
            name: partition.name.clone(),
            cpus: partition.cores.clone(),
            share,
        });
        let gangs = self.gangs.iter().map(|gang| PublishedGang {
            name: gang.name.clone(),
            partition: gang.partition,
            priority: gang.priority,
        });
        Published {
            format: FORMAT,
            process: Thread::this_process(),
            mode: match maps {
                Some(_) => Mode::SchedExt,
                None => Mode::Portable,
            },
            scenario: self.scenario.name.clone(),
            case: self.case.name.clone(),
            since_unix_ms: unix_ms(),
            partitions: partitions.collect(),
            gangs: gangs.collect(),
            period_ns: is_regulated(self.case, self.gangs)
                .then_some(self.scenario.regulation.period_ns),
            board: board.path(),
            shape: board.shape(),
            maps,
        }
    }
}

/// Now, in milliseconds since 1970.
pub(super) fn unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as u64)
}

/// Others can see what is enforced, until this is dropped.
#[derive(Debug)]
pub struct Publication {
    path: PathBuf,
    text: String,
    /// The file points to it.
    _board: Arc<Board>,
}

impl Publication {
    /// Says in `folder` what is enforced, in place of whoever said so before: by the scheduler
    /// that has `maps`, or by the agent that writes the board.
    ///
    /// # Errors
    /// The folder cannot be trusted or used.
    pub fn publish(
        folder: &Path,
        subject: &Subject<'_>,
        board: &Arc<Board>,
        maps: Option<MapIds>,
    ) -> Result<Self, LockError> {
        make_folder(folder)?;
        let path = folder.join(NAME);
        let failed = |error| LockError::File {
            path: path.clone(),
            error,
        };
        let published = subject.published(board, maps);
        let text =
            serde_json::to_string_pretty(&published).map_err(|error| failed(error.into()))?;
        // Others see the whole file or none.
        let partial = path.with_extension("part");
        fs::write(&partial, &text).map_err(failed)?;
        fs::rename(&partial, &path).map_err(failed)?;
        Ok(Self {
            path,
            text,
            _board: Arc::clone(board),
        })
    }
}

impl Drop for Publication {
    fn drop(&mut self) {
        // Somebody else may have come since.
        if fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
