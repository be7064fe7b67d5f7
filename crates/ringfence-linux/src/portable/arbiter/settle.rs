//! What is to be done, after all that was told: who is stopped, and who goes on.

use ringfence_policy::gang::Decision;

use super::super::members::{Member, Place};
use super::{Action, Arbiter, Gang, Hold, Seat};

impl Arbiter {
    /// Decides, at `now_ns`, and answers what is to be done, in this order.
    pub fn settle(&mut self, now_ns: u64) -> Vec<Action> {
        let mut actions = Vec::new();
        for partition in 0..self.seats.len() {
            self.check_share(partition, now_ns);
            self.take_back(partition, now_ns, &mut actions);
            self.hold_back(partition, now_ns, &mut actions);
            self.give(partition, now_ns, &mut actions);
        }
        actions
    }

    fn check_share(&mut self, partition: usize, now_ns: u64) {
        let seat = &mut self.seats[partition];
        let Some(due_ns) = seat
            .policy
            .next_timer_ns()
            .filter(|&due_ns| due_ns <= now_ns)
        else {
            return;
        };
        seat.policy.timer(now_ns);
        seat.free_ns = due_ns;
    }

    /// Whether the policy lets a gang run.
    fn may_run(&self, gang: &Gang) -> bool {
        let policy = &self.seats[gang.partition].policy;
        policy.active_priority() == Some(gang.priority) && !policy.is_share_exhausted()
    }

    /// Takes the CPUs from the gang that has them and may not run any more, once it is off
    /// them.
    fn take_back(&mut self, partition: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let Some(index) = self.running(partition) else {
            return;
        };
        let gang = self.gangs[index].gang.clone();
        if self.may_run(&gang) && self.gangs[index].hold == Hold::None {
            return;
        }
        if self.gangs[index].runnable > 0 {
            self.stop(index, now_ns, actions);
        }
        self.look_whether_stopped(index);
        if !self.is_stopping(index) {
            for &cpu in &gang.cpus {
                self.seats[partition].policy.stopping(cpu, now_ns);
            }
            self.gangs[index].is_locked = false;
        }
    }

    /// Gives the CPUs to the highest gang, if nobody has them. If it was stopped it goes on only
    /// when all others are off their CPUs.
    fn give(&mut self, partition: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let policy = &mut self.seats[partition].policy;
        let Some(priority) = policy.active_priority() else {
            return;
        };
        let index = self
            .gang(partition, priority)
            .expect("the policy knows no other");
        let is_other = |member: &&Member| {
            member.gang != index && self.gangs[member.gang].gang.partition == partition
        };
        let mut others = self.members.values().filter(is_other);
        let is_stopped = self.gangs[index].hold != Hold::None;
        if is_stopped && others.any(|member| self.may_be_on(member)) {
            return;
        }
        let Seat { policy, free_ns } = &mut self.seats[partition];
        let state = &mut self.gangs[index];
        if state.is_locked {
            return;
        }
        // One that was not stopped runs since it woke.
        let since_ns = match state.hold {
            Hold::None => state.asked_ns.max(*free_ns),
            _ => now_ns,
        };
        for &cpu in &state.gang.cpus {
            if policy.decide(cpu, priority) == Decision::Block {
                return;
            }
            policy.running(cpu, priority, since_ns);
        }
        state.is_locked = true;
        if state.hold != Hold::None {
            state.hold = Hold::None;
            actions.push(Action::Go(index));
        }
    }

    /// Stops who must not run, and lets those go on that have nothing to do: they could not
    /// be seen to wake. While the share limit is used up nobody may begin.
    fn hold_back(&mut self, partition: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let policy = &self.seats[partition].policy;
        let (active, is_exhausted) = (policy.active_priority(), policy.is_share_exhausted());
        for index in 0..self.gangs.len() {
            let state = &self.gangs[index];
            if state.gang.partition != partition {
                continue;
            }
            let is_lower = active.is_some_and(|active| state.gang.priority < active);
            if is_exhausted || is_lower && state.runnable > 0 {
                self.stop(index, now_ns, actions);
                self.look_whether_stopped(index);
            } else if state.hold != Hold::None && state.runnable == 0 {
                self.gangs[index].hold = Hold::None;
                actions.push(Action::Go(index));
            }
        }
    }

    fn stop(&mut self, index: usize, now_ns: u64, actions: &mut Vec<Action>) {
        let state = &mut self.gangs[index];
        if state.hold == Hold::None {
            state.hold = Hold::Stopping(now_ns);
            actions.push(Action::Stop(index));
        }
    }

    fn look_whether_stopped(&mut self, index: usize) {
        if let Hold::Stopping(since_ns) = self.gangs[index].hold
            && self
                .members
                .of(index)
                .all(|(_, member)| !self.may_be_on(member))
        {
            self.gangs[index].hold = Hold::Stopped(since_ns);
        }
    }

    /// Whether a member may be on a CPU. One that has woken is not while a member of a higher
    /// gang has the only CPU that it may use.
    pub(super) fn may_be_on(&self, member: &Member) -> bool {
        match member.place {
            Place::Off => false,
            Place::On(..) => true,
            Place::Woken(_) => !self.members.values().any(|other| {
                let (its, others) = (&self.gangs[member.gang], &self.gangs[other.gang]);
                let is_higher = others.gang.priority > its.gang.priority;
                let has_the_cpu = other.is_runnable && others.hold == Hold::None;
                let same_cpu = member.pinned_to.is_some() && member.pinned_to == other.pinned_to;
                is_higher && has_the_cpu && same_cpu
            }),
        }
    }
}
