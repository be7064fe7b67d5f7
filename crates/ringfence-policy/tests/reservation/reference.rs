//! A second reservation, written from the rules and in the plainest way: every budget
//! that was ever set is remembered, every event is handled on its own.

use std::collections::{BTreeMap, BTreeSet};

use ringfence_policy::reservation::{Reservation, ReservationError, Verdict};

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Vcpu {
    /// None before its first.
    period: Option<u64>,
    spent: u64,
    owed: u64,
}

/// The VM of the reference model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    weights: Vec<u32>,
    /// By the period from which each is in force; the first is in force from 0 on.
    budgets: BTreeMap<u64, u64>,
    /// Periods of changes that are still to be known: none before the first of these.
    known: BTreeSet<u64>,
    vcpus: Vec<Vcpu>,
}

impl Reference {
    pub fn new(budget: u64, weights: &[u32]) -> Self {
        Self {
            weights: weights.to_vec(),
            budgets: [(0, budget)].into(),
            known: [0].into(),
            vcpus: vec![Vcpu::default(); weights.len()],
        }
    }

    fn latest(&self) -> Option<u64> {
        self.vcpus.iter().filter_map(|vcpu| vcpu.period).max()
    }

    /// The earliest period that can still begin: two budgets are remembered.
    fn first(&self) -> u64 {
        *self.known.first().unwrap()
    }

    pub fn budget(&self, period: u64) -> u64 {
        *self.budgets.range(..=period).next_back().unwrap().1
    }

    /// Each vCPU's part lies between two marks on the budget, each rounded down.
    pub fn share_in(&self, vcpu: usize, period: u64) -> u64 {
        let sum = |weights: &[u32]| weights.iter().copied().map(u128::from).sum::<u128>();
        let budget = u128::from(self.budget(period));
        let mark = |end: usize| budget * sum(&self.weights[..end]) / sum(&self.weights);
        u64::try_from(mark(vcpu + 1) - mark(vcpu)).unwrap()
    }

    pub fn share(&self, vcpu: usize) -> u64 {
        let period = self.vcpus[vcpu].period;
        period.map_or(0, |period| self.share_in(vcpu, period))
    }

    /// The period behind the one that the vCPU is in, if it can begin and has the same share.
    pub fn next_alike(&self, vcpu: usize) -> Option<u64> {
        let next = self.vcpus.get(vcpu)?.period?.checked_add(1)?;
        let can_begin = self.first() <= next && next < u64::MAX;
        (can_begin && self.share_in(vcpu, next) == self.share(vcpu)).then_some(next)
    }

    pub fn change(&mut self, period: u64, budget: u64) -> Result<(), ReservationError> {
        if budget == u64::MAX {
            return Err(ReservationError::BadBudget);
        }
        if period == u64::MAX || self.latest().is_some_and(|latest| period <= latest) {
            return Err(ReservationError::BadPeriod);
        }
        let latest_change = *self.known.last().unwrap();
        let waits = latest_change > 0 && self.latest().is_none_or(|latest| latest < latest_change);
        if waits && period > latest_change {
            return Err(ReservationError::Pending);
        }
        if waits {
            self.known.remove(&latest_change);
        } else {
            self.known = [latest_change].into();
        }
        self.known.insert(period);
        self.budgets.split_off(&period);
        self.budgets.insert(period, budget);
        Ok(())
    }

    fn verdict(&self, vcpu: usize) -> Verdict {
        match self.vcpus[vcpu].spent < self.share(vcpu) {
            true => Verdict::Run,
            false => Verdict::Throttle,
        }
    }

    pub fn refill(&mut self, vcpu: usize, period: u64) -> Result<Verdict, ReservationError> {
        if vcpu >= self.vcpus.len() {
            return Err(ReservationError::BadVcpu);
        }
        let again = self.vcpus[vcpu].period.is_some_and(|now| period <= now);
        if again || period < self.first() || period == u64::MAX {
            return Err(ReservationError::BadPeriod);
        }
        self.vcpus[vcpu].period = Some(period);
        self.vcpus[vcpu].spent = 0;
        let owed = std::mem::take(&mut self.vcpus[vcpu].owed);
        self.charge(vcpu, owed)
    }

    pub fn charge(&mut self, vcpu: usize, events: u64) -> Result<Verdict, ReservationError> {
        if vcpu >= self.vcpus.len() {
            return Err(ReservationError::BadVcpu);
        }
        let share = self.share(vcpu);
        let core = &mut self.vcpus[vcpu];
        for _ in 0..events {
            match core.spent < share {
                true => core.spent += 1,
                false => core.owed += 1,
            }
        }
        Ok(self.verdict(vcpu))
    }

    /// Everything that can be asked of `vm` answers as it does here.
    pub fn agrees_with(&self, vm: &Reservation) -> bool {
        (0..self.vcpus.len()).all(|vcpu| {
            let number = u32::try_from(vcpu).unwrap();
            vm.share(number) == Ok(self.share(vcpu))
                && vm.remaining(number) == Ok(self.share(vcpu) - self.vcpus[vcpu].spent)
                && vm.debt(number) == Ok(self.vcpus[vcpu].owed)
        })
    }
}
