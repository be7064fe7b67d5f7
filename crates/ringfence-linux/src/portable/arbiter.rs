//! Which gangs are stopped: the policy core, told what their threads do.
//!
//! It has no clock, thread or file: the agent gives it what happened and the time, and does
//! what it answers. A gang is stopped by freezing the group of its processes. What is frozen
//! does not say whether it would have work, so the policy counts a stopped gang as it was
//! when it was stopped; when it goes on, its threads are looked at.

mod overlaps;
mod said;
mod settle;
mod shown;

use std::collections::VecDeque;

use ringfence_policy::CpuSet;
use ringfence_policy::gang::{GangError, Partition, ShareLimit};

use super::hand_over::HandOvers;
use super::members::{Members, Place};
use crate::recorder::{ThreadEvent, What};

/// A gang: all threads of one priority in one partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gang {
    /// Index of its partition.
    pub partition: usize,
    /// 1 to 99; bigger is more important.
    pub priority: u8,
    /// CPUs that its threads use; at least one, of the partition.
    pub cpus: Vec<u16>,
}

/// What the agent is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Freeze the group of this gang.
    Stop(usize),
    /// Thaw it, look at its threads, and [settle](Arbiter::settle) again.
    Go(usize),
}

/// What keeps a gang from running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hold {
    /// Nothing.
    None,
    /// It was frozen at this time, and threads of it may still be on CPUs.
    Stopping(u64),
    /// It was frozen at this time, and is off all CPUs.
    Stopped(u64),
}

impl Hold {
    /// When the group was frozen; `None` if it is not.
    fn since_ns(self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Stopping(since_ns) | Self::Stopped(since_ns) => Some(since_ns),
        }
    }
}

/// Times that a higher gang can be runnable before it is seen that a lower one was on a CPU.
const HIGHERS: usize = 32;

#[derive(Debug, Clone)]
struct State {
    gang: Gang,
    hold: Hold,
    /// Whether it has its CPUs from the policy.
    is_locked: bool,
    runnable: usize,
    /// Since when a higher gang of the partition has been runnable.
    higher_ns: Option<u64>,
    /// Since when none has.
    highest_ns: u64,
    /// When higher ones were, the last few times.
    highers_ns: VecDeque<(u64, u64)>,
    /// Since when it has been runnable.
    asked_ns: u64,
}

#[derive(Debug, Clone)]
struct Seat {
    policy: Partition,
    /// When the gang before gave way, or the time of gangs was over.
    free_ns: u64,
}

/// Decides for all partitions.
#[derive(Debug, Clone)]
pub struct Arbiter {
    seats: Vec<Seat>,
    gangs: Vec<State>,
    members: Members,
    /// When a member left each CPU last.
    left_ns: Vec<u64>,
    hand_overs: HandOvers,
}

impl Arbiter {
    /// Nobody is a member yet. `partitions` have their CPUs and limit; windows of the limit
    /// begin at `origin_ns`.
    ///
    /// # Errors
    /// A partition without CPUs, or a limit that is none.
    pub fn new(
        partitions: &[(CpuSet, ShareLimit)],
        gangs: Vec<Gang>,
        origin_ns: u64,
    ) -> Result<Self, GangError> {
        let seat = |(cpus, share): &(CpuSet, ShareLimit)| {
            Ok(Seat {
                policy: Partition::new(cpus, *share, origin_ns)?,
                free_ns: origin_ns,
            })
        };
        let state = |gang| State {
            gang,
            hold: Hold::None,
            is_locked: false,
            runnable: 0,
            higher_ns: None,
            highest_ns: origin_ns,
            highers_ns: VecDeque::with_capacity(HIGHERS),
            asked_ns: origin_ns,
        };
        Ok(Self {
            seats: partitions.iter().map(seat).collect::<Result<_, _>>()?,
            gangs: gangs.into_iter().map(state).collect(),
            members: Members::default(),
            left_ns: vec![0; usize::from(CpuSet::MAX_CPUS)],
            hand_overs: HandOvers::default(),
        })
    }

    /// The gang of this priority in a partition.
    pub fn gang(&self, partition: usize, priority: u8) -> Option<usize> {
        let is_it =
            |state: &State| state.gang.partition == partition && state.gang.priority == priority;
        self.gangs.iter().position(is_it)
    }

    /// A thread becomes a member of `gang`; [look](Self::looked) at it then.
    pub fn join(&mut self, tid: i32, gang: usize, pinned_to: Option<u16>, now_ns: u64) {
        self.members.insert(tid, gang, pinned_to, now_ns);
    }

    /// Members of a gang.
    pub fn members(&self, gang: usize) -> Vec<i32> {
        self.members.of(gang).map(|(tid, _)| tid).collect()
    }

    /// Those of them that count as runnable.
    pub fn runnable_members(&self, gang: usize) -> Vec<i32> {
        let runnable = self
            .members
            .of(gang)
            .filter(|(_, member)| member.is_runnable);
        runnable.map(|(tid, _)| tid).collect()
    }

    /// Priority of a gang.
    pub fn priority(&self, gang: usize) -> u8 {
        self.gangs[gang].gang.priority
    }

    /// The gang that has the CPUs of a partition.
    pub fn running(&self, partition: usize) -> Option<usize> {
        let has_it = |state: &State| state.is_locked && state.gang.partition == partition;
        self.gangs.iter().position(has_it)
    }

    /// Whether the group of a gang is frozen.
    #[cfg(test)]
    pub fn is_stopped(&self, gang: usize) -> bool {
        self.gangs[gang].hold != Hold::None
    }

    /// Whether a gang was stopped and threads of it may still be on CPUs.
    pub fn is_stopping(&self, gang: usize) -> bool {
        matches!(self.gangs[gang].hold, Hold::Stopping(_))
    }

    /// What was measured so far.
    pub fn hand_overs(&self) -> &HandOvers {
        &self.hand_overs
    }

    /// When to [settle](Self::settle) although nothing happened.
    pub fn next_timer_ns(&self) -> Option<u64> {
        let timers = self.seats.iter().map(|seat| seat.policy.next_timer_ns());
        timers.flatten().min()
    }

    /// A thread did something.
    pub fn told(&mut self, event: &ThreadEvent) {
        let (tid, now_ns) = (event.tid, event.time_ns);
        let Some(member) = self.members.get(tid) else {
            return;
        };
        if now_ns < member.deaf_until_ns {
            return self.told_late(event);
        }
        match event.what {
            What::Woke => self.woke(tid, now_ns, now_ns),
            What::On => self.on(tid, event.cpu, now_ns),
            What::Preempted => self.off(tid, event.cpu, now_ns, true),
            What::Sleeps => self.off(tid, event.cpu, now_ns, false),
            What::Ended => {
                self.off(tid, event.cpu, now_ns, false);
                self.quiescent(tid, now_ns);
                self.members.remove(tid);
            }
        }
        if let Some(member) = self.members.get(tid) {
            member.known_ns = member.known_ns.max(now_ns);
        }
    }

    /// What a thread did before its gang went on: it was looked at since, so this tells only
    /// where it was.
    fn told_late(&mut self, event: &ThreadEvent) {
        let Some(member) = self.members.get(event.tid) else {
            return;
        };
        let went_on_ns = member.deaf_until_ns;
        match event.what {
            What::On => member.place = Place::On(event.cpu, event.time_ns),
            What::Preempted | What::Sleeps if member.place != Place::Off => {
                self.leave(event.tid, event.time_ns);
                let member = self.members.get(event.tid).expect("it was there");
                if member.is_runnable {
                    member.place = Place::Woken(went_on_ns);
                }
            }
            _ => {}
        }
    }

    /// What a look at a thread showed, which began at `now_ns`: whether it is runnable, or
    /// `None` if it has ended.
    pub fn looked(&mut self, tid: i32, runnable: Option<bool>, now_ns: u64) {
        let Some(member) = self.members.get(tid) else {
            return;
        };
        let (gang, known_ns) = (member.gang, member.known_ns);
        let was_runnable = member.is_runnable;
        let is_held = self.gangs[gang].hold != Hold::None;
        if let (Some(true), Place::On(_, since_ns)) = (runnable, member.place) {
            // That it had to leave the CPU may not have been told.
            member.place = Place::Woken(since_ns);
        }
        match runnable {
            Some(true) if !is_held && !was_runnable => self.woke(tid, known_ns, now_ns),
            Some(false) => {
                // Also if it did not count as runnable: that it left a CPU may not have been told.
                self.leave(tid, now_ns);
                // Otherwise it is frozen in the kernel, or sleeps.
                if !is_held {
                    self.quiescent(tid, now_ns);
                }
            }
            Some(true) => {}
            None => {
                self.leave(tid, now_ns);
                self.quiescent(tid, now_ns);
                self.members.remove(tid);
            }
        }
        // Who is runnable may be on a CPU since longer.
        if let (Some(false), Some(member)) = (runnable, self.members.get(tid)) {
            member.known_ns = member.known_ns.max(now_ns);
        }
    }

    /// The group of a gang was thawed at `now_ns`: what is older is no news of it.
    pub fn went_on(&mut self, gang: usize, now_ns: u64) {
        let free_ns = self.seats[self.gangs[gang].gang.partition].free_ns;
        for member in self.members.of_mut(gang) {
            member.deaf_until_ns = now_ns;
            member.known_ns = now_ns;
            if member.is_runnable && member.place == Place::Off {
                member.place = Place::Woken(now_ns);
                member.ready_ns = Some(free_ns);
            }
        }
    }

    /// Whether events of this time are of a gang that was not stopped then.
    fn is_live(&self, gang: usize, now_ns: u64) -> bool {
        self.gangs[gang]
            .hold
            .since_ns()
            .is_none_or(|since_ns| now_ns < since_ns)
    }

    /// A thread woke between `from_ns` and `now_ns`.
    fn woke(&mut self, tid: i32, from_ns: u64, now_ns: u64) {
        let Some(member) = self.members.get(tid) else {
            return;
        };
        let gang = member.gang;
        // Of a stopped gang it wakes to be frozen, which does not make it runnable.
        if !self.is_live(gang, now_ns) {
            return;
        }
        if from_ns < now_ns {
            self.was_beside(gang, from_ns..now_ns);
        }
        let member = self.members.get(tid).expect("it was there");
        if member.place == Place::Off {
            member.place = Place::Woken(from_ns);
        }
        member.ready_ns.get_or_insert(now_ns);
        if !member.is_runnable {
            member.is_runnable = true;
            self.runnable(gang, from_ns, now_ns);
        }
    }

    fn on(&mut self, tid: i32, cpu: u16, now_ns: u64) {
        self.woke(tid, now_ns, now_ns);
        let left_ns = self.left_ns[usize::from(cpu)];
        let Some(member) = self.members.get(tid) else {
            return;
        };
        member.place = Place::On(cpu, now_ns);
        let (gang, ready_ns) = (member.gang, member.ready_ns.take());
        let state = &self.gangs[gang];
        // Behind a higher gang, or on a CPU that another member had, it waits by right.
        if let (Some(ready_ns), None) = (ready_ns, state.higher_ns) {
            let from_ns = ready_ns.max(left_ns).max(state.highest_ns);
            self.hand_overs
                .waited(state.gang.partition, from_ns, now_ns);
        }
    }

    /// It has left a CPU.
    fn off(&mut self, tid: i32, cpu: u16, now_ns: u64, is_preempted: bool) {
        let Some(member) = self.members.get(tid) else {
            return;
        };
        let (gang, known_ns) = (member.gang, member.known_ns);
        let was_runnable = member.is_runnable;
        if member.place == Place::Off {
            // It was there without being seen to come.
            member.place = Place::Woken(known_ns);
            self.was_beside(gang, known_ns..now_ns);
            if self.is_live(gang, now_ns) && !was_runnable {
                self.passed_unseen(gang, known_ns, now_ns);
            }
        }
        self.leave(tid, now_ns);
        self.left_ns[usize::from(cpu)] = now_ns;
        if is_preempted {
            self.woke(tid, known_ns, now_ns);
            let member = self.members.get(tid).expect("it was there");
            member.place = Place::Off;
            member.ready_ns = Some(now_ns);
        } else if self.is_live(gang, now_ns) {
            self.quiescent(tid, now_ns);
        }
    }

    /// One more thread of `gang` is runnable, since `from_ns`, as is known at `now_ns`.
    fn runnable(&mut self, gang: usize, from_ns: u64, now_ns: u64) {
        let Gang {
            partition,
            priority,
            ..
        } = self.gangs[gang].gang;
        if self.gangs[gang].runnable == 0 {
            self.gangs[gang].asked_ns = from_ns;
        }
        self.gangs[gang].runnable += 1;
        self.seats[partition].policy.runnable(priority);
        for index in 0..self.gangs.len() {
            let state = &mut self.gangs[index];
            if state.gang.partition != partition || state.gang.priority >= priority {
                continue;
            }
            if state.higher_ns.is_none_or(|higher_ns| from_ns < higher_ns) {
                state.higher_ns = Some(from_ns);
                self.overlapped_before(index, from_ns..now_ns);
            }
        }
    }

    /// A thread is not runnable any more.
    fn quiescent(&mut self, tid: i32, now_ns: u64) {
        let Some(member) = self.members.get(tid).filter(|member| member.is_runnable) else {
            return;
        };
        let gang = member.gang;
        if self.gangs[gang].runnable == 1 {
            self.gives_way(gang, now_ns);
        }
        let member = self.members.get(tid).expect("it was there");
        member.is_runnable = false;
        member.ready_ns = None;
        let Gang {
            partition,
            priority,
            ..
        } = self.gangs[gang].gang;
        self.gangs[gang].runnable -= 1;
        self.seats[partition].policy.quiescent(priority);
    }
}
