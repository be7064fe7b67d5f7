//! Gang scheduling on any kernel: real-time classes and the freezer of control groups.
//!
//! An agent above all gangs carries the policy core. It sees through BPF tracepoints, or hears
//! from the threads themselves, who wakes and who sleeps, freezes the gangs that must not run and thaws the one that may.
//! Nothing keeps a gang that wakes from running until the agent has seen it: how long gangs
//! overlapped is measured in every run.

mod above;
mod agent;
mod arbiter;
mod event_queue;
mod freezer;
mod guard;
mod hand_over;
mod members;
mod news;
mod rt_throttling;
#[cfg(test)]
mod tests;
mod throttle;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, PipeWriter};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use libbpf_rs::MapHandle;
use ringfence_policy::CpuSet;
use ringfence_policy::gang::{GangError, ShareLimit};
use ringfence_policy::regulator::{Budget, Domain, RegulatorError};

use above::Above;
pub use agent::Held;
use agent::{Agent, Equipment, Order, Regulation};
use arbiter::Arbiter;
pub use arbiter::Gang;
use freezer::Group;
pub use freezer::{Freezer, Version};
use guard::Guard;
pub use guard::watch;
pub use hand_over::{HandOvers, Summary};
use news::{Source, Word};
use throttle::{Throttle, Told};

use crate::changes::live::Live;
use crate::changes::lock::{LockError, default_folder};
use crate::changes::rehearsal::Rehearsal;
use crate::changes::{BeginError, ChangeError, Changes, Stage};
use crate::live::Board;
use crate::recorder::MemberMaps;
use crate::scheduler::Event;
use crate::sys;

/// Real-time priority of the lowest gang in SCHED_FIFO: the throttle threads are below.
const LOWEST_FIFO: usize = 2;
/// Priorities for gangs, up to those of the recording thread, the guard and the agent.
const FIFO_PRIORITIES: usize = 97 - LOWEST_FIFO;

/// Why gangs cannot be kept apart in this way.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No freezer.
    #[error(
        "found no freezer of control groups that can be written, expected one of version 1 or 2; \
         `ringfence doctor` says how to get it"
    )]
    NoFreezer,
    /// More priorities than the kernel has.
    #[error(
        "found gangs of {0} different priorities, expected at most {FIFO_PRIORITIES} in portable mode"
    )]
    Priorities(usize),
    /// Another run, or one that crashed.
    #[error(transparent)]
    Begin(#[from] BeginError),
    /// The groups cannot be made.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// The policy refuses the partitions.
    #[error(transparent)]
    Policy(#[from] GangError),
    /// No cores to regulate.
    #[error(transparent)]
    Regulator(#[from] RegulatorError),
    /// Members cannot be followed.
    #[error("what members of gangs do cannot be followed: {0}")]
    Members(#[from] libbpf_rs::Error),
    /// The record would prove nothing.
    #[error(
        "{0} events of portable mode were lost, so the record would prove nothing: whoever records \
         had no CPU for too long; use longer periods, or leave it one"
    )]
    Lost(u64),
    /// A system call failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What the system says.
        source: io::Error,
    },
}

/// What is to be enforced.
pub struct Setup<'a> {
    /// CPUs and share limit of each partition.
    pub partitions: Vec<(CpuSet, ShareLimit)>,
    /// The gangs: one for each priority of a partition.
    pub gangs: Vec<Gang>,
    /// When windows and periods begin, in nanoseconds of CLOCK_MONOTONIC.
    pub origin_ns: u64,
    /// How best-effort work is throttled; `None` is not at all.
    pub duty_cycle: Option<DutyCycle>,
    /// By what the kernel lets members be followed; without it, they say what they do by
    /// [`Portable::said`].
    pub members: Option<MemberMaps>,
    /// The command of the guard; see [`watch`].
    pub guard: &'a [OsString],
    /// Where others see what it does.
    pub board: Arc<Board>,
}

/// Shares of time for best-effort work.
pub struct DutyCycle {
    /// The cores.
    pub cores: Vec<u16>,
    /// The period, in nanoseconds.
    pub period_ns: u64,
    /// What each gang tolerates, in nanoseconds of each period; `u64::MAX` is all.
    pub allowed_ns: Vec<u64>,
}

/// Keeps gangs apart until it is dropped.
pub struct Portable {
    gangs: Vec<Gang>,
    fifo: Vec<i32>,
    version: Version,
    remark: Option<String>,
    agent: Agent,
    throttle: Option<Throttle>,
    groups: Arc<Vec<Group>>,
    members: Option<MemberMaps>,
    /// To the agent, which ends before it.
    words: Option<PipeWriter>,
    // After the agent, which still thaws; before the guard, which would undo what is left.
    _changes: Changes,
    _guard: Guard,
    _above: Above,
}

/// What was found out when all was over.
#[derive(Debug, Default)]
pub struct Outcome {
    /// How long hand-overs took.
    pub hand_overs: HandOvers,
    /// Who was kept from running, and when.
    pub held: Vec<Held>,
    /// What was throttled and decided at last.
    pub events: Vec<Event>,
}

/// What [`Portable::start`] would change on this machine for so many gangs, a line each, in order.
///
/// # Errors
/// This machine does not allow it.
pub fn rehearse(gangs: usize) -> Result<Vec<String>, Error> {
    let freezer = Freezer::all().into_iter().next().ok_or(Error::NoFreezer)?;
    let mut rehearsal = Rehearsal::on(Live::default());
    let remark = change_machine(&freezer, gangs, &mut rehearsal)?;
    Ok(rehearsal.actions().into_iter().chain(remark).collect())
}

/// Changes what is not of this process; a remark on what could not be.
fn change_machine(
    freezer: &Freezer,
    gangs: usize,
    stage: &mut impl Stage,
) -> Result<Option<String>, Error> {
    let remark = rt_throttling::lift(stage)?;
    for gang in 0..gangs {
        freezer.make(&group_name(gang), stage)?;
    }
    Ok(remark)
}

fn group_name(gang: usize) -> String {
    format!("ringfence-gang-{gang}")
}

impl Portable {
    /// Starts the agent; nobody is a member yet.
    ///
    /// # Errors
    /// This machine or its state does not allow it; nothing is left behind.
    pub fn start(setup: Setup<'_>) -> Result<Self, Error> {
        let fifo = fifo_priorities(&setup.gangs)?;
        let freezer = Freezer::all().into_iter().next().ok_or(Error::NoFreezer)?;
        let folder = default_folder().map_err(|error: LockError| Error::Begin(error.into()))?;
        let mut changes = Changes::begin(&folder, "ringfence run", Live::default())?;
        let guard = Guard::start(setup.guard, &folder)
            .map_err(|source| system("starting the guard process", source))?;
        let remark = change_machine(&freezer, setup.gangs.len(), &mut changes)?;
        let groups = (0..setup.gangs.len()).map(|gang| freezer.open(&group_name(gang)));
        let groups = Arc::new(groups.collect::<Result<Vec<_>, _>>()?);
        let above = Above::rise()
            .map_err(|source| system("putting this thread above all gangs (SCHED_FIFO)", source))?;
        let sequence = Arc::new(AtomicU64::new(1));
        let told = Told {
            sequence: Arc::clone(&sequence),
            board: Arc::clone(&setup.board),
        };
        let start = |duty_cycle| throttle(duty_cycle, setup.origin_ns, told);
        let started = setup.duty_cycle.map(start).transpose()?;
        let (throttle, regulation) = started.unzip();
        let (source, words) = match &setup.members {
            Some(members) => (Source::Told(MapHandle::try_from(&members.events)?), None),
            None => {
                let pipe = io::pipe().map_err(|source| system("making a pipe", source))?;
                (Source::Said(pipe.0), Some(pipe.1))
            }
        };
        let agent = Agent::start(Equipment {
            arbiter: Arbiter::new(&setup.partitions, setup.gangs.clone(), setup.origin_ns)?,
            groups: Arc::clone(&groups),
            source,
            regulation,
            sequence,
            board: setup.board,
            partitions: setup.partitions.len(),
        })
        .map_err(|source| system("starting the agent (SCHED_FIFO)", source))?;
        Ok(Self {
            gangs: setup.gangs,
            fifo,
            version: freezer.version(),
            remark,
            agent,
            throttle,
            groups,
            members: setup.members,
            words,
            _changes: changes,
            _guard: guard,
            _above: above,
        })
    }

    /// Makes a thread a member of the gang of `priority` in `partition`: its process can be
    /// frozen from now on, and the thread is a real-time one.
    ///
    /// # Errors
    /// It is gone, there is no such gang, or it is not allowed.
    pub fn join(
        &mut self,
        (process, tid): (i32, i32),
        (partition, priority): (usize, u8),
    ) -> Result<(), Error> {
        let is_it = |gang: &Gang| gang.partition == partition && gang.priority == priority;
        let gang = self.gangs.iter().position(is_it);
        let gang =
            gang.ok_or_else(|| system("finding the gang", io::ErrorKind::NotFound.into()))?;
        let failed = |what: &str, source| system(&format!("{what} thread {tid}"), source);
        self.groups[gang]
            .add(process)
            .map_err(|source| failed("moving to the group of its gang the process of", source))?;
        sys::set_class(tid, libc::SCHED_FIFO, self.fifo[gang])
            .map_err(|source| failed("making a real-time one (SCHED_FIFO) of", source))?;
        if let Some(members) = &self.members {
            members.follow(tid)?;
        }
        let cpus = sys::affinity(tid).map_err(|source| failed("asking for the CPUs of", source))?;
        let order = Order {
            process,
            tid,
            gang,
            pinned_to: Some(cpus)
                .filter(|cpus| cpus.len() == 1)
                .map(|cpus| cpus[0]),
        };
        let joined = self.agent.join(order);
        joined.map_err(|source| failed("following", source))
    }

    /// A thread says at `time_ns` that it has work, or that it goes to sleep. Nothing where the
    /// kernel tells it.
    ///
    /// # Errors
    /// The agent has ended, so gangs run side by side.
    pub fn said(&self, tid: i32, has_work: bool, time_ns: u64) -> Result<(), Error> {
        let word = Word {
            time_ns,
            tid,
            has_work,
        };
        let said = self
            .words
            .as_ref()
            .map_or(Ok(()), |words| word.write(words));
        said.map_err(|source| system("telling the agent", source))
    }

    /// What it did since it was last asked, slightly out of order.
    ///
    /// # Errors
    /// The agent has ended, so gangs run side by side; or events were lost.
    pub fn events(&mut self) -> Result<Vec<Event>, Error> {
        if !self.agent.lives() {
            self.end()?;
            let source = io::Error::other("it has ended before its time");
            return Err(system("the agent", source));
        }
        self.told()
    }

    /// Lets all gangs go on, and says what was measured. Nothing is enforced any more.
    ///
    /// # Errors
    /// The agent had ended before, or events were lost.
    pub fn end(&mut self) -> Result<Outcome, Error> {
        let Some(ended) = self.agent.end() else {
            return Ok(Outcome::default());
        };
        let report = ended.map_err(|source| system("the agent", source))?;
        Ok(Outcome {
            hand_overs: report.hand_overs,
            held: report.held,
            events: self.told()?,
        })
    }

    /// Version of the freezer that it uses.
    pub fn version(&self) -> Version {
        self.version
    }

    /// What it could not have of this machine, and what follows from that.
    pub fn remark(&self) -> Option<&str> {
        self.remark.as_deref()
    }

    fn told(&mut self) -> Result<Vec<Event>, Error> {
        let mut told: Vec<Event> = self.agent.events().collect();
        let mut lost = self.agent.lost();
        if let Some(throttle) = &mut self.throttle {
            told.extend(throttle.events());
            lost += throttle.lost();
        }
        match lost {
            0 => Ok(told),
            lost => Err(Error::Lost(lost)),
        }
    }
}

fn system(what: &str, source: io::Error) -> Error {
    Error::System {
        what: what.to_owned(),
        source,
    }
}

fn throttle(
    duty_cycle: DutyCycle,
    origin_ns: u64,
    told: Told,
) -> Result<(Throttle, Regulation), Error> {
    let DutyCycle {
        cores,
        period_ns,
        allowed_ns,
    } = duty_cycle;
    let mut domain = CpuSet::new();
    cores.iter().for_each(|&core| domain.insert(core));
    let throttle = Throttle::start(&cores, period_ns, origin_ns, told)
        .map_err(|source| system("starting a throttle thread (SCHED_FIFO)", source))?;
    let budget = |reads| Budget {
        reads,
        writes: u64::MAX,
    };
    let regulation = Regulation {
        domain: Domain::new(&domain)?,
        tolerances: allowed_ns.into_iter().map(budget).collect(),
        level: throttle.level(),
    };
    Ok((throttle, regulation))
}

/// Real-time priorities of gangs, in the order of their own.
fn fifo_priorities(gangs: &[Gang]) -> Result<Vec<i32>, Error> {
    let all: BTreeSet<u8> = gangs.iter().map(|gang| gang.priority).collect();
    if all.len() > FIFO_PRIORITIES {
        return Err(Error::Priorities(all.len()));
    }
    let fifo = |gang: &Gang| LOWEST_FIFO + all.range(..gang.priority).count();
    Ok(gangs.iter().map(|gang| fifo(gang) as i32).collect())
}
