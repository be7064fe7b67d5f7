//! Lending in the plainest way: all periods are remembered, and each event has an owner.

use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct ReferenceVcpu {
    /// None before its first.
    period: Option<u64>,
    /// What it used of its share in each of its periods; None: all that there was.
    used: BTreeMap<u64, Option<u64>>,
    pub borrowed: u64,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Reference {
    /// What can be borrowed for each period that somebody has given something for.
    pools: BTreeMap<u64, u64>,
    pub vcpus: Vec<ReferenceVcpu>,
}

impl Reference {
    pub fn new(vcpus: usize) -> Self {
        Self {
            pools: BTreeMap::new(),
            vcpus: vec![ReferenceVcpu::default(); vcpus],
        }
    }

    pub fn pool(&self, period: u64) -> u64 {
        match self.pools.last_key_value() {
            Some((&latest, &events)) if latest == period => events,
            _ => 0,
        }
    }

    pub fn begin(&mut self, vcpu: usize, period: u64, left: u64, lends: bool) -> u64 {
        let of = &mut self.vcpus[vcpu];
        if of.period.is_some_and(|now| period <= now) || period == u64::MAX {
            return 0;
        }
        let last = period
            .checked_sub(1)
            .filter(|last| of.period == Some(*last));
        let used = last.and_then(|last| of.used[&last]);
        of.period = Some(period);
        of.used.insert(period, (left > 0).then_some(0));
        of.borrowed = 0;
        let is_late = self.pools.keys().any(|&latest| latest > period);
        let gift = match used {
            Some(used) if lends && !is_late => left.saturating_sub(2 * used + 1),
            _ => 0,
        };
        if gift > 0 {
            *self.pools.entry(period).or_default() += gift;
        }
        gift
    }

    pub fn used(&mut self, vcpu: usize, events: u64, left: u64) -> u64 {
        let of = &mut self.vcpus[vcpu];
        let mut charged = 0;
        for _ in 0..events {
            match of.borrowed {
                0 => charged += 1,
                _ => of.borrowed -= 1,
            }
        }
        if let Some(period) = of.period {
            let used = of.used.get_mut(&period).unwrap();
            *used = used.filter(|_| charged < left).map(|used| used + charged);
        }
        charged
    }

    pub fn borrow(&mut self, vcpu: usize, most: u64) -> u64 {
        let of = &mut self.vcpus[vcpu];
        let (Some(period), Some(mut pool)) = (of.period, self.pools.last_entry()) else {
            return 0;
        };
        if *pool.key() != period {
            return 0;
        }
        let taken = most.min(*pool.get());
        *pool.get_mut() -= taken;
        of.borrowed += taken;
        taken
    }
}
