//! vCPUs with a reservation each, which lend and borrow as a hypervisor has them do, beside
//! the reference; and what each was promised.

use std::collections::BTreeMap;

use ringfence_policy::lending::{Pool, Vcpu};
use ringfence_policy::reservation::{Reservation, Split};

use crate::reference::Reference;

/// How a vCPU takes part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Part {
    pub share: u64,
    pub lends: bool,
    /// Events that it borrows at once; 0: never.
    pub borrows: u64,
}

/// What a vCPU could use of a period, and used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Account {
    /// Of its share: less its debt, and less what it gave.
    pub own: u64,
    pub gave: u64,
    pub borrowed: u64,
    pub used: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Machine {
    parts: Vec<Part>,
    pool: Pool,
    vcpus: Vec<Vcpu>,
    reservations: Vec<Reservation>,
    reference: Reference,
    /// Of each vCPU: the period that it is in.
    pub periods: Vec<Option<u64>>,
    /// Of each vCPU and period.
    pub accounts: BTreeMap<(usize, u64), Account>,
    /// The policy answered as the reference did, always.
    pub agrees: bool,
}

impl Machine {
    pub fn new(parts: &[Part]) -> Self {
        let reservation = |part: &Part| Reservation::new(part.share, Split::Balanced(1)).unwrap();
        Self {
            parts: parts.to_vec(),
            pool: Pool::new(),
            vcpus: vec![Vcpu::new(); parts.len()],
            reservations: parts.iter().map(reservation).collect(),
            reference: Reference::new(parts.len()),
            periods: vec![None; parts.len()],
            accounts: BTreeMap::new(),
            agrees: true,
        }
    }

    fn left(&self, vcpu: usize) -> u64 {
        self.reservations[vcpu].remaining(0).unwrap()
    }

    pub fn debt(&self, vcpu: usize) -> u64 {
        self.reservations[vcpu].debt(0).unwrap()
    }

    /// What its counter is armed for.
    pub fn may_use(&self, vcpu: usize) -> u64 {
        self.left(vcpu) + self.vcpus[vcpu].borrowed()
    }

    pub fn begin(&mut self, vcpu: usize, period: u64) {
        if self.reservations[vcpu].refill(0, period).is_err() {
            return;
        }
        let (part, left) = (self.parts[vcpu], self.left(vcpu));
        let gave = self.vcpus[vcpu].begin(&mut self.pool, period, left, part.lends);
        let expected = self.reference.begin(vcpu, period, left, part.lends);
        self.reservations[vcpu].charge(0, gave).unwrap();
        self.periods[vcpu] = Some(period);
        let account = Account {
            own: left - gave,
            gave,
            ..Account::default()
        };
        self.accounts.insert((vcpu, period), account);
        self.check(gave == expected, vcpu);
    }

    /// Its core has caused events, and now borrows if nothing is left.
    pub fn uses(&mut self, vcpu: usize, events: u64) {
        let left = self.left(vcpu);
        let charged = self.vcpus[vcpu].used(events, left);
        let expected = self.reference.used(vcpu, events, left);
        self.reservations[vcpu].charge(0, charged).unwrap();
        self.check(charged == expected, vcpu);
        let borrows = self.parts[vcpu].borrows;
        let mut taken = 0;
        if self.may_use(vcpu) == 0 && borrows > 0 {
            taken = self.vcpus[vcpu].borrow(&mut self.pool, borrows);
            let expected = self.reference.borrow(vcpu, borrows);
            self.check(taken == expected, vcpu);
        }
        if let Some(period) = self.periods[vcpu] {
            let account = self.accounts.get_mut(&(vcpu, period)).unwrap();
            account.used += events;
            account.borrowed += taken;
        }
    }

    fn check(&mut self, same: bool, vcpu: usize) {
        let borrowed = self.reference.vcpus[vcpu].borrowed;
        let pools = self.periods.iter().flatten();
        let mut pools =
            pools.map(|&period| self.pool.events(period) == self.reference.pool(period));
        self.agrees &= same && pools.all(|same| same) && borrowed == self.vcpus[vcpu].borrowed();
    }

    fn of_period(&self, period: u64) -> impl Iterator<Item = (usize, &Account)> {
        let accounts = self.accounts.iter();
        accounts.filter_map(move |(&(vcpu, of), account)| (of == period).then_some((vcpu, account)))
    }

    fn all_periods(&self) -> impl Iterator<Item = u64> {
        self.accounts.keys().map(|&(_, period)| period)
    }

    /// In each period all that vCPUs may use is together at most the sum of their shares.
    pub fn within_the_shares(&self) -> bool {
        self.all_periods().all(|period| {
            let may = self.of_period(period).map(|(_, of)| of.own + of.borrowed);
            let shares = self
                .of_period(period)
                .map(|(vcpu, _)| self.parts[vcpu].share);
            may.sum::<u64>() <= shares.sum()
        })
    }

    /// What was borrowed in a period was given for it.
    pub fn nothing_is_made(&self) -> bool {
        self.all_periods().all(|period| {
            let gave = self.of_period(period).map(|(_, of)| of.gave).sum::<u64>();
            let borrowed = self
                .of_period(period)
                .map(|(_, of)| of.borrowed)
                .sum::<u64>();
            borrowed + self.pool.events(period) <= gave
        })
    }

    /// Who does not lend gives nothing; who lends keeps an event; who ran short or has not
    /// been there in the period before gives nothing.
    pub fn guarantees_are_kept(&self) -> bool {
        self.accounts.iter().all(|(&(vcpu, period), of)| {
            let before = period.checked_sub(1);
            let before = before.and_then(|before| self.accounts.get(&(vcpu, before)));
            // What it used up, or had been left nothing of by its debt.
            let was_idle = before.is_some_and(|before| before.used < before.own);
            of.gave == 0 || (self.parts[vcpu].lends && of.own > 0 && was_idle)
        })
    }
}
