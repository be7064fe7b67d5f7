//! Records who runs where: the kernel's own switches and wake-ups of watched processes.

use std::io;
use std::mem::MaybeUninit;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{Link, MapCore, MapFlags, MapHandle, OpenObject};

use crate::ring::{Ring, field};
use crate::sys;

#[allow(missing_docs, clippy::all, clippy::undocumented_unsafe_blocks)]
mod skeleton {
    include!(concat!(env!("OUT_DIR"), "/recorder.skel.rs"));
}
use skeleton::{RecorderSkel, RecorderSkelBuilder};

/// What a watched thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It has the CPU now.
    On,
    /// It left the CPU, and is still runnable.
    Preempted,
    /// It left the CPU to wait.
    Sleeps,
    /// It became runnable.
    Woke,
    /// It ended.
    Ended,
}

/// One thing that a watched thread did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadEvent {
    /// When, on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// What.
    pub what: What,
    /// Where; for a wake-up the CPU that woke it.
    pub cpu: u16,
    /// The thread.
    pub tid: i32,
    /// Its process.
    pub tgid: i32,
}

/// The recorder, on from when it is made until it is dropped.
pub struct Recorder {
    _attached: Vec<Link>,
    ring: Ring<ThreadEvent>,
    skeleton: RecorderSkel<'static>,
}

/// Maps by which an agent follows threads of watched processes.
#[derive(Debug)]
pub struct MemberMaps {
    threads: MapHandle,
    /// A ring of what they do, with the times that the record has. Who waits on it is woken
    /// at once.
    pub events: MapHandle,
}

impl MemberMaps {
    /// What this thread does is told from now on.
    ///
    /// # Errors
    /// Too many are followed.
    pub fn follow(&self, tid: i32) -> Result<(), libbpf_rs::Error> {
        self.threads.update(&tid.to_ne_bytes(), &[1], MapFlags::ANY)
    }
}

impl Recorder {
    /// Starts to record; nothing is watched yet. Before a scheduler is attached: threads that
    /// the kernel hands over to it are then seen to move.
    ///
    /// # Errors
    /// The kernel has no BTF or no BPF tracepoints, or does not allow them.
    pub fn start() -> Result<Self, libbpf_rs::Error> {
        // libbpf's object stays where it is while anything refers to it; a process loads few.
        let place: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let skeleton = RecorderSkelBuilder::default().open(place)?.load()?;
        let programs = &skeleton.progs;
        let attached = vec![
            programs.record_switch.attach()?,
            programs.record_wakeup.attach()?,
            programs.record_first_wakeup.attach()?,
            programs.record_fork.attach()?,
            programs.record_exit.attach()?,
            programs.record_free.attach()?,
        ];
        let ring = Ring::of(&skeleton.maps.thread_events, thread_event)?;
        Ok(Self {
            _attached: attached,
            ring,
            skeleton,
        })
    }

    /// Watches a process and what it forks from now on.
    ///
    /// # Errors
    /// Too many are watched.
    pub fn watch(&self, tgid: i32) -> Result<(), libbpf_rs::Error> {
        let watched = &self.skeleton.maps.watched;
        watched.update(&tgid.to_ne_bytes(), &[1], MapFlags::ANY)
    }

    /// What an agent follows members of gangs by.
    ///
    /// # Errors
    /// The system has no room for more files.
    pub fn members(&self) -> Result<MemberMaps, libbpf_rs::Error> {
        Ok(MemberMaps {
            threads: MapHandle::try_from(&self.skeleton.maps.members)?,
            events: MapHandle::try_from(&self.skeleton.maps.member_events)?,
        })
    }

    /// What happened since it was last asked, in the order of the kernel's buffer.
    ///
    /// # Errors
    /// The buffer cannot be read.
    pub fn drain(&mut self) -> io::Result<Vec<ThreadEvent>> {
        self.ring.drain()
    }

    /// Events that found no room, and processes that could not be watched; a record that
    /// lacks them proves nothing.
    pub fn lost(&self) -> u64 {
        let data = self.skeleton.maps.bss_data.as_ref();
        data.map_or(0, |data| {
            sys::read_shared(&data.lost_thread_events) + sys::read_shared(&data.lost_member_events)
        })
    }
}

pub(crate) fn thread_event(bytes: &[u8]) -> Option<ThreadEvent> {
    Some(ThreadEvent {
        time_ns: u64::from_ne_bytes(field(bytes, 0)?),
        what: match u32::from_ne_bytes(field(bytes, 8)?) {
            1 => What::On,
            2 => What::Preempted,
            3 => What::Sleeps,
            4 => What::Woke,
            5 => What::Ended,
            _ => return None,
        },
        cpu: u32::from_ne_bytes(field(bytes, 12)?).try_into().ok()?,
        tid: i32::from_ne_bytes(field(bytes, 16)?),
        tgid: i32::from_ne_bytes(field(bytes, 20)?),
    })
}
