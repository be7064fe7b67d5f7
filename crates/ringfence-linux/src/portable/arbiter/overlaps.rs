//! How long members of a lower gang were on CPUs beside a runnable higher one. Where what was
//! seen leaves it open, the longer time counts.

use std::ops::Range;

use super::super::members::{Member, Place};
use super::{Arbiter, Gang, HIGHERS};

impl Arbiter {
    /// A thread of `gang` ran at some time in between: beside whoever of a lower gang did.
    pub(super) fn passed_unseen(&mut self, gang: usize, from_ns: u64, to_ns: u64) {
        let Gang {
            partition,
            priority,
            ..
        } = self.gangs[gang].gang;
        for index in 0..self.gangs.len() {
            let Gang {
                partition: its,
                priority: lower,
                ..
            } = self.gangs[index].gang;
            if its == partition && lower < priority {
                self.overlapped_before(index, from_ns..to_ns);
            }
        }
    }

    /// A thread of `gang` was on a CPU at these times, as is known only now: higher ones may have
    /// come and gone meanwhile.
    pub(super) fn was_beside(&mut self, gang: usize, times_ns: Range<u64>) {
        let state = &self.gangs[gang];
        for &(from_ns, to_ns) in &state.highers_ns {
            let (from_ns, to_ns) = (from_ns.max(times_ns.start), to_ns.min(times_ns.end));
            self.hand_overs
                .overlapped(state.gang.partition, from_ns, to_ns);
        }
    }

    /// A higher gang was runnable at these times, as is known only now: threads of a lower one
    /// may have come and gone meanwhile.
    pub(super) fn overlapped_before(&mut self, lower: usize, times_ns: Range<u64>) {
        let partition = self.gangs[lower].gang.partition;
        for (_, member) in self.members.of(lower) {
            let still = on_since_ns(member).map(|since_ns| (since_ns, times_ns.end));
            for (from_ns, to_ns) in member.stays_ns.iter().copied().chain(still) {
                let (from_ns, to_ns) = (from_ns.max(times_ns.start), to_ns.min(times_ns.end));
                self.hand_overs.overlapped(partition, from_ns, to_ns);
            }
        }
    }

    /// It is on no CPU from `now_ns` on: the end of an overlap, if a higher gang is runnable.
    pub(super) fn leave(&mut self, tid: i32, now_ns: u64) {
        let Some(member) = self.members.get(tid) else {
            return;
        };
        let (gang, place) = (member.gang, member.place);
        member.place = Place::Off;
        member.ready_ns = None;
        let state = &self.gangs[gang];
        let since_ns = match place {
            Place::Off => return,
            Place::On(_, since_ns) => since_ns,
            Place::Woken(since_ns) => since_ns,
        };
        if let Some(higher_ns) = state.higher_ns {
            let from_ns = since_ns.max(higher_ns);
            self.hand_overs
                .overlapped(state.gang.partition, from_ns, now_ns);
        }
        if let Some(member) = self.members.get(tid) {
            member.stayed(since_ns, now_ns);
        }
    }

    /// The last runnable thread of a gang is about to be so no more: those below may become the
    /// highest ones, and what they overlapped is over.
    pub(super) fn gives_way(&mut self, gang: usize, now_ns: u64) {
        let partition = self.gangs[gang].gang.partition;
        let others = self.gangs.iter().enumerate().filter(|&(index, state)| {
            index != gang && state.gang.partition == partition && state.runnable > 0
        });
        let highest = others.map(|(_, state)| state.gang.priority).max();
        for index in 0..self.gangs.len() {
            let state = &self.gangs[index];
            let Some(higher_ns) = state.higher_ns.filter(|_| {
                state.gang.partition == partition && Some(state.gang.priority) >= highest
            }) else {
                continue;
            };
            let on = self.members.of(index).map(|(_, member)| member);
            let on = on.filter(|member| self.may_be_on(member));
            if let Some(on_ns) = on.filter_map(on_since_ns).min() {
                let from_ns = on_ns.max(higher_ns);
                self.hand_overs.overlapped(partition, from_ns, now_ns);
            }
            let state = &mut self.gangs[index];
            state.higher_ns = None;
            state.highest_ns = now_ns;
            if state.highers_ns.len() == HIGHERS {
                state.highers_ns.pop_front();
            }
            state.highers_ns.push_back((higher_ns, now_ns));
        }
        self.seats[partition].free_ns = now_ns;
    }
}

/// Since when a member is on a CPU, or may be.
fn on_since_ns(member: &Member) -> Option<u64> {
    match member.place {
        Place::Off => None,
        Place::On(_, since_ns) | Place::Woken(since_ns) => Some(since_ns),
    }
}
