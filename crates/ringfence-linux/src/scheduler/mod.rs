//! The sched_ext scheduler: loads it, tells it of partitions and gangs, attaches it.
//!
//! The kernel takes all threads back when a [`Scheduler`] is dropped, and when the
//! process that has it ends in any way.

use std::collections::BTreeSet;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::Path;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, OpenObject, ProgramInput, ProgramMut};

use crate::counters::CpuCounters;
use crate::ring::Ring;
use crate::sys;

mod error;
mod events;
mod groups;
mod members;
mod view;

pub use error::Error;
pub use events::{Event, What};
pub use groups::SharedGroups;
pub use members::{Entry, Groups, Members, SharedMap};
pub use view::MapIds;

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/gang_scheduler.skel.rs"));
}
use skeleton::{GangSchedulerSkel, GangSchedulerSkelBuilder, types};

/// CPUs that a machine may have, as the BPF programs were built.
pub const MAX_CPUS: usize = 64 * size_of::<types::rf_cpu_set>() / size_of::<u64>();

/// Which gang a thread is of.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Membership {
    /// Number of the partition.
    pub partition: u32,
    /// Priority of the gang, 1 to 99; 0 is none.
    pub priority: u32,
}

/// At most `limit_ns` of real-time work in each `window_ns` of a partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Nanoseconds allowed; less than the window.
    pub limit_ns: u64,
    /// Length of a window in nanoseconds.
    pub window_ns: u64,
    /// When the first window begins, in nanoseconds of CLOCK_MONOTONIC; not in the future.
    pub origin_ns: u64,
}

/// A thread that has waited this long for a CPU has an instant there, a quarter of what the
/// kernel's RCU waits for a reader before it ends the scheduler: a late one still comes in time.
pub const INSTANT_AFTER_NS: u64 = 5_000_000_000;

/// What a gang accepts that best-effort work of each CPU uses in a period, see [`Use`];
/// `u64::MAX` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tolerance {
    /// Events of the counter of reads.
    pub reads: u64,
    /// Events of the counter of writes.
    pub writes: u64,
}

impl Tolerance {
    /// Accepts everything.
    pub const UNLIMITED: Self = Self {
        reads: u64::MAX,
        writes: u64::MAX,
    };
}

/// How best-effort work is regulated.
#[derive(Clone, Copy)]
pub struct Regulation<'a> {
    /// CPUs that are held to the tolerances of gangs.
    pub cpus: &'a [u16],
    /// Nanoseconds from one refill to the next; at least 1000.
    pub period_ns: u64,
    /// Periods from one report of use to the next; 0: none.
    pub sample_every: u64,
    /// What a budget is of.
    pub by: Use<'a>,
}

/// What best-effort work has budgets of.
#[derive(Clone, Copy)]
pub enum Use<'a> {
    /// Events that are counted.
    Events {
        /// Counts reads, or the one thing that is counted.
        reads: &'a CpuCounters,
        /// Counts writes.
        writes: Option<&'a CpuCounters>,
    },
    /// Nanoseconds, in [`Tolerance::reads`]; where traffic cannot be counted.
    Time,
}

/// What the scheduler counted since it was loaded, over all CPUs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Members that started without their gang's lock; 0 unless something is wrong.
    pub refused_starts: u64,
    /// Events that the policy refused; 0 unless something is wrong.
    pub policy_errors: u64,
}

/// Why the kernel took all threads back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExitNote {
    /// The kernel's reason, such as "unregistered from user space".
    pub reason: String,
    /// Its details; may be empty.
    pub message: String,
}

/// The loaded scheduler.
pub struct Scheduler {
    // Dropped in this order: first the scheduler, then what it needs.
    attached: Vec<Link>,
    skeleton: GangSchedulerSkel<'static>,
    cpus: usize,
    /// Partition and priority of each gang that was added.
    gangs: BTreeSet<(u32, u32)>,
}

/// Whether this kernel chooses a thread of sched_ext only when no higher class has work, or when it
/// takes a share of the time from such work (`ext_server`, since 7.0), so that none waits chosen
/// behind it. From 6.19 on, which deprecates `cpu_release`; this function came with that.
fn chooses_after_higher_classes() -> bool {
    const SINCE: &str = "scx_bpf_reenqueue_local___v2";
    Btf::from_vmlinux().is_ok_and(|types| types.type_by_name::<Func<'_>>(SINCE).is_some())
}

impl Scheduler {
    /// Loads the scheduler, without partitions and not attached.
    ///
    /// # Errors
    /// The kernel has no sched_ext, or refuses the programs.
    pub fn load() -> Result<Self, Error> {
        // libbpf's object stays where it is while anything refers to it; a process loads few.
        let place: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let mut opened = GangSchedulerSkelBuilder::default().open(place)?;
        let cpus = libbpf_rs::num_possible_cpus()?;
        if cpus > MAX_CPUS {
            return Err(Error::TooManyCpus { cpus });
        }
        let constants = opened.maps.rodata_data.as_mut();
        let constants = constants.expect("the scheduler has constants");
        constants.cpu_count = cpus as u32;
        constants.instant_after_ns = INSTANT_AFTER_NS;
        let chooses_after_higher_classes = chooses_after_higher_classes();
        constants.asked_before_higher_classes = u32::from(!chooses_after_higher_classes);
        groups::choose(&mut opened.progs);
        if chooses_after_higher_classes {
            opened.struct_ops.gang_scheduler_mut().cpu_release = std::ptr::null_mut();
            opened.progs.gang_cpu_release.set_autoload(false);
        }
        let skeleton = opened.load()?;
        Ok(Self {
            attached: Vec::new(),
            skeleton,
            cpus,
            gangs: BTreeSet::new(),
        })
    }

    /// Adds the partition `index` of `cpus`; before [`Self::attach`]. This process becomes
    /// the agent: those of its threads that are no members are never throttled.
    ///
    /// # Errors
    /// It exists, has no CPU or one of another partition, or the share is no less than its
    /// window or begins in the future.
    pub fn add_partition(
        &mut self,
        index: u32,
        cpus: &[u16],
        share: Option<Share>,
    ) -> Result<(), Error> {
        let mut new = types::new_partition {
            index,
            cpus: self.cpu_set(cpus)?,
            ..Default::default()
        };
        if let Some(share) = share {
            new.limit_ns = share.limit_ns;
            new.window_ns = share.window_ns;
            new.origin_ns = share.origin_ns;
        }
        let what = format!("partition {index} of CPUs {cpus:?}");
        tell(&mut self.skeleton.progs.add_partition, &mut new, what)
    }

    /// Makes room for gangs of `priority` in a partition; after [`Self::attach`]. Again is
    /// no error.
    ///
    /// # Errors
    /// There is no such partition, or the priority is not 1 to 99.
    pub fn add_priority(
        &mut self,
        partition: u32,
        priority: u32,
        tolerance: Tolerance,
    ) -> Result<(), Error> {
        let what = format!("priority {priority} in partition {partition}");
        let mut new = types::new_priority {
            partition,
            priority,
            tolerance: types::rf_budget {
                reads: tolerance.reads,
                writes: tolerance.writes,
            },
        };
        tell(&mut self.skeleton.progs.add_priority, &mut new, what)?;
        self.gangs.insert((partition, priority));
        Ok(())
    }

    /// Regulates best-effort work of `cpus`, refilling its budgets every `period_ns`; before
    /// or after [`Self::attach`], once. The counters count no more when the scheduler is
    /// dropped.
    ///
    /// # Errors
    /// It is regulated already, there is no CPU, or the period is below 1 us. Nothing is
    /// regulated then.
    pub fn regulate(&mut self, regulation: Regulation<'_>) -> Result<(), Error> {
        let mut new = types::new_domain {
            cpus: self.cpu_set(regulation.cpus)?,
            period_ns: regulation.period_ns,
            by_time: matches!(regulation.by, Use::Time).into(),
            sample_every: regulation.sample_every,
        };
        let (reads, writes) = match regulation.by {
            Use::Events { reads, writes } => (Some(reads), writes),
            Use::Time => (None, None),
        };
        let programs = &mut self.skeleton.progs;
        let maps = &self.skeleton.maps;
        let mut links = Vec::new();
        for (counters, map, program) in [
            (reads, &maps.read_counters, &mut programs.on_read_quantum),
            (writes, &maps.write_counters, &mut programs.on_write_quantum),
        ] {
            for (cpu, fd) in counters.into_iter().flat_map(CpuCounters::descriptors) {
                let key = u32::from(cpu).to_ne_bytes();
                map.update(&key, &fd.as_raw_fd().to_ne_bytes(), MapFlags::ANY)?;
                // The link closes the descriptor that it is given.
                let own = fd.try_clone_to_owned().map_err(Error::Counter)?;
                links.push(program.attach_perf_event(own.into_raw_fd())?);
            }
        }
        let what = format!("regulation every {} ns", regulation.period_ns);
        tell(&mut programs.add_domain, &mut new, what)?;
        self.attached.extend(links);
        Ok(())
    }

    /// Hands all threads of the normal class to the scheduler.
    ///
    /// # Errors
    /// Another sched_ext scheduler is there, or the kernel refuses.
    pub fn attach(&mut self) -> Result<(), Error> {
        let switches = self.skeleton.progs.on_switch.attach()?;
        let scheduler = self.skeleton.maps.gang_scheduler.attach_struct_ops()?;
        // The scheduler goes first when they are dropped.
        self.attached.splice(0..0, [scheduler, switches]);
        Ok(())
    }

    /// Makes the thread `tid` a member of a gang, or of none with priority 0; what it forks
    /// from now on is, too. It leaves whatever scheduling class it had for the normal one.
    ///
    /// # Errors
    /// There is no such thread or gang, or its class may not be changed; then it is a member
    /// of what it was before.
    pub fn join(&self, tid: i32, member: Membership) -> Result<(), Error> {
        if member.priority > 0 && !self.gangs.contains(&(member.partition, member.priority)) {
            return Err(Error::NoSuchGang { member });
        }
        let entry = Entry {
            member,
            group: None,
        };
        members::join(&self.skeleton.maps.memberships, tid, &entry)
    }

    /// Lets other processes make threads members, by [`Members`], as long as the result is there.
    /// `path` is in a BPF file system, and nothing is there yet.
    ///
    /// # Errors
    /// The name cannot be made.
    pub fn share_members(&mut self, path: &Path) -> Result<SharedMap, Error> {
        SharedMap::share(&mut self.skeleton.maps.memberships, path)
    }

    /// Lets other processes give control groups to gangs, by [`Groups`], as long as the result is
    /// there; once. `path` is in a BPF file system, and nothing is there yet. `None` if this kernel
    /// does not tell who is put into a group.
    ///
    /// # Errors
    /// The kernel refuses, or the name cannot be made.
    pub fn share_groups(&mut self, path: &Path) -> Result<Option<SharedGroups>, Error> {
        let programs = &self.skeleton.progs;
        let programs = [&programs.on_move, &programs.on_clone, &programs.on_removal];
        if !programs.iter().all(|program| program.autoload()) {
            return Ok(None);
        }
        for program in programs {
            self.attached.push(program.attach()?);
        }
        SharedGroups::share(&mut self.skeleton.maps, path).map(Some)
    }

    /// By what others read what it does; see [`MapIds::state`].
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn map_ids(&self) -> Result<MapIds, Error> {
        let maps = &self.skeleton.maps;
        MapIds::of(&maps.partitions, &maps.domains)
    }

    /// Reads what the scheduler says that it did; slightly out of the order of time. Each
    /// event comes to one reader.
    ///
    /// # Errors
    /// The buffer cannot be mapped.
    pub fn events(&self) -> Result<Ring<Event>, Error> {
        Ok(Ring::of(&self.skeleton.maps.events, events::parse)?)
    }

    /// Events that found no room.
    pub fn lost_events(&self) -> u64 {
        let data = self.skeleton.maps.bss_data.as_ref();
        data.map_or(0, |data| sys::read_shared(&data.lost_events))
    }

    /// What was counted.
    ///
    /// # Errors
    /// The map cannot be read.
    pub fn counters(&self) -> Result<Counters, Error> {
        let mut sum = Counters::default();
        let key = 0_u32.to_ne_bytes();
        let values = self
            .skeleton
            .maps
            .counters
            .lookup_percpu(&key, MapFlags::ANY)?;
        for value in values.unwrap_or_default() {
            let field = |index: usize| {
                let bytes = value[index * 8..index * 8 + 8].try_into();
                u64::from_ne_bytes(bytes.expect("eight bytes"))
            };
            sum.refused_starts += field(0);
            sum.policy_errors += field(1);
        }
        Ok(sum)
    }

    /// Why the kernel took all threads back; `None` while it has not.
    pub fn exit_note(&self) -> Option<ExitNote> {
        let data = self.skeleton.maps.bss_data.as_ref()?;
        let note = sys::read_shared(&data.exit_note);
        (note.kind != 0).then(|| ExitNote {
            reason: text(&note.reason),
            message: text(&note.message),
        })
    }

    fn cpu_set(&self, cpus: &[u16]) -> Result<types::rf_cpu_set, Error> {
        let mut set = types::rf_cpu_set::default();
        for &cpu in cpus {
            if usize::from(cpu) >= self.cpus {
                let last = self.cpus - 1;
                return Err(Error::NoSuchCpu { cpu, last });
            }
            set.word[usize::from(cpu / 64)] |= 1 << (cpu % 64);
        }
        Ok(set)
    }
}

fn text(bytes: &[i8]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| byte.cast_unsigned()).collect();
    let end = bytes.iter().position(|&byte| byte == 0);
    String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]).into_owned()
}

/// Runs one of the programs that the scheduler is told things by.
fn tell<T>(program: &mut ProgramMut<'_>, context: &mut T, what: String) -> Result<(), Error> {
    let size = size_of::<T>();
    // SAFETY: these structures are plain numbers without padding, as C has them.
    let bytes = unsafe { std::slice::from_raw_parts_mut(std::ptr::from_mut(context).cast(), size) };
    let output = program.test_run(ProgramInput {
        context_in: Some(bytes),
        ..Default::default()
    })?;
    match output.return_value.cast_signed() {
        0 => Ok(()),
        error => Err(Error::Told {
            what,
            error: io::Error::from_raw_os_error(-error),
        }),
    }
}
