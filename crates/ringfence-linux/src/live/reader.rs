//! The side of who looks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ringfence_workloads::clock;

use super::board::{self, Contents};
use super::published::{FORMAT, NAME, Published, PublishedGang, unix_ms};
use super::snapshot::{
    BestEffort, Budget, Cpu, Gang, GangState, Partition, Resource, Share, Snapshot, VERSION,
};
use super::state::{CpuState, PartitionState, State};
use crate::scheduler;

/// Why nothing is seen.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// Nobody enforces.
    #[error(
        "nothing is enforced on this machine now, as far as this user can see; `ringfence enforce SCENARIO` and \
         `ringfence run --target linux SCENARIO` do that, and root sees it"
    )]
    Nothing,
    /// Something cannot be read.
    #[error("{path}: {error}; what root enforces only root can see")]
    File {
        /// What.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The file says something else than expected.
    #[error(
        "{path}: found {found}, expected what this version of ringfence writes; start what enforces anew, or look with its version"
    )]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
    },
    /// The scheduler's maps cannot be read.
    #[error(transparent)]
    Scheduler(#[from] scheduler::Error),
    /// It is written faster than it can be read.
    #[error("what is enforced changes too fast to be seen; look again")]
    Unsteady,
}

/// What is enforced on this machine now, as `folder` says.
///
/// # Errors
/// Nothing is, or it cannot be seen.
pub fn find(folder: &Path) -> Result<Snapshot, LiveError> {
    let published = published(folder)?;
    match look(&published) {
        // Whatever failed: it has just ended.
        Err(_) if !lives(&published) => Err(LiveError::Nothing),
        result => result,
    }
}

fn lives(published: &Published) -> bool {
    published.process.lives_below(Path::new("/"))
}

fn published(folder: &Path) -> Result<Published, LiveError> {
    let path = folder.join(NAME);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(LiveError::Nothing),
        Err(error) => return Err(LiveError::File { path, error }),
        Ok(text) => text,
    };
    let content = |found: String| LiveError::Content {
        path: path.clone(),
        found,
    };
    let found: serde_json::Value =
        serde_json::from_str(&text).map_err(|error| content(error.to_string()))?;
    // First the version: another one has other fields.
    if found["format"] != FORMAT {
        return Err(content(format!("format {}", found["format"])));
    }
    let published: Published =
        serde_json::from_value(found).map_err(|error| content(error.to_string()))?;
    match lives(&published) {
        true => Ok(published),
        false => Err(LiveError::Nothing),
    }
}

fn look(published: &Published) -> Result<Snapshot, LiveError> {
    let contents = board::read(&published.board, published.shape)
        .map_err(|error| LiveError::File {
            path: published.board.clone(),
            error,
        })?
        .ok_or(LiveError::Unsteady)?;
    let state = match &published.maps {
        Some(maps) => maps.state(published.partitions.len(), published.shape.cpus)?,
        None => of_agent(published, &contents),
    };
    let view = View {
        published,
        contents: &contents,
        state: &state,
        now_ns: clock::now_ns(),
    };
    Ok(view.snapshot())
}

/// What the agent of portable mode has written. It takes time from best-effort work and does
/// not count how much of the rest that used.
fn of_agent(published: &Published, contents: &Contents) -> State {
    let cpus = contents.cpus.iter().map(|cpu| CpuState {
        held: cpu.held,
        is_throttled: published.period_ns.map(|_| cpu.is_throttled),
        budgets: vec![Budget {
            of: Resource::TimeNs,
            used: None,
            budget: contents.allowed_ns,
        }],
    });
    State {
        partitions: contents.partitions.clone(),
        cpus: cpus.collect(),
    }
}

/// What a snapshot is made of.
struct View<'a> {
    published: &'a Published,
    contents: &'a Contents,
    state: &'a State,
    now_ns: u64,
}

impl View<'_> {
    fn snapshot(&self) -> Snapshot {
        let published = self.published;
        Snapshot {
            version: VERSION,
            time_unix_ms: unix_ms(),
            since_unix_ms: published.since_unix_ms,
            process: published.process.tid,
            mode: published.mode,
            scenario: published.scenario.clone(),
            case: published.case.clone(),
            partitions: (0..published.partitions.len())
                .map(|index| self.partition(index))
                .collect(),
            cpus: (0..published.shape.cpus).map(|cpu| self.cpu(cpu)).collect(),
            gangs: (0..published.gangs.len())
                .map(|index| self.gang(index))
                .collect(),
        }
    }

    fn partition(&self, index: usize) -> Partition {
        let published = &self.published.partitions[index];
        let state = self.partition_state(index);
        let share = published.share.map(|share| Share {
            used_ns: state.share_used_ns(share.window_ns, self.now_ns),
            limit_ns: share.limit_ns,
            window_ns: share.window_ns,
            is_exhausted: state.is_exhausted,
        });
        Partition {
            name: published.name.clone(),
            cpus: published.cpus.clone(),
            active_gangs: self.gangs_in(index, GangState::Active),
            blocked_gangs: self.gangs_in(index, GangState::Blocked),
            share,
        }
    }

    fn partition_state(&self, index: usize) -> PartitionState {
        let states = &self.state.partitions;
        states.get(index).copied().unwrap_or_default()
    }

    fn gangs_in(&self, partition: usize, state: GangState) -> Vec<String> {
        let is_it =
            |gang: &&PublishedGang| gang.partition == partition && self.gang_state(gang) == state;
        let gangs = self.published.gangs.iter().filter(is_it);
        gangs.map(|gang| gang.name.clone()).collect()
    }

    fn gang_state(&self, gang: &PublishedGang) -> GangState {
        let state = self.partition_state(gang.partition);
        if state.holder == gang.priority {
            GangState::Active
        } else if state.runnable.contains(gang.priority) {
            GangState::Blocked
        } else {
            GangState::Sleeping
        }
    }

    fn cpu(&self, cpu: u16) -> Cpu {
        let index = usize::from(cpu);
        let partitions = &self.published.partitions;
        let partition = partitions.iter().position(|it| it.cpus.contains(&cpu));
        let state = self.state.cpus.get(index).cloned().unwrap_or_default();
        let holds = |gang: &&PublishedGang| {
            Some(gang.partition) == partition && gang.priority == state.held
        };
        let best_effort = self.published.period_ns.zip(state.is_throttled);
        let times_throttled = self
            .contents
            .cpus
            .get(index)
            .map_or(0, |it| it.times_throttled);
        Cpu {
            cpu,
            partition: partition.map(|partition| partitions[partition].name.clone()),
            held_by: self
                .published
                .gangs
                .iter()
                .filter(holds)
                .map(|gang| gang.name.clone())
                .collect(),
            best_effort: best_effort.map(|(period_ns, is_throttled)| BestEffort {
                is_throttled,
                times_throttled,
                period_ns,
                budgets: state.budgets,
            }),
        }
    }

    fn gang(&self, index: usize) -> Gang {
        let gang = &self.published.gangs[index];
        let counted = self.contents.gangs.get(index).copied().unwrap_or_default();
        let told = |number| counted.jobs_are_told.then_some(number);
        Gang {
            name: gang.name.clone(),
            partition: self
                .published
                .partitions
                .get(gang.partition)
                .map(|partition| partition.name.clone())
                .unwrap_or_default(),
            priority: gang.priority,
            state: self.gang_state(gang),
            active_ns: counted.active_ns,
            jobs: told(counted.jobs),
            deadline_misses: told(counted.misses),
        }
    }
}
