//! A second regulator, written from the rules and in the plainest way: every
//! event is handled on its own, and nothing is remembered that can be asked.

use std::collections::{BTreeMap, BTreeSet};

use ringfence_policy::regulator::{Budget, Charge, Domain};

/// One direction of one core.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Ledger {
    spent: u64,
    owed: u64,
}

impl Ledger {
    fn event(&mut self, limit: u64) {
        if self.spent < limit {
            self.spent += 1;
        } else {
            self.owed += 1;
        }
    }

    /// Each event owed takes the place of one that could have been caused.
    fn pay(&mut self, limit: u64) {
        while self.owed > 0 && self.spent < limit {
            self.owed -= 1;
            self.spent += 1;
        }
    }

    fn left(&self, limit: u64) -> u64 {
        match limit {
            u64::MAX => u64::MAX,
            _ => limit.saturating_sub(self.spent),
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Core {
    reads: Ledger,
    writes: Ledger,
}

/// The domain of the reference model.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reference {
    cores: BTreeMap<u16, Core>,
    throttled: BTreeSet<u16>,
    gangs: BTreeMap<u8, Budget>,
}

impl Reference {
    pub fn new(cpus: &[u16]) -> Self {
        Self {
            cores: cpus.iter().map(|&cpu| (cpu, Core::default())).collect(),
            throttled: BTreeSet::new(),
            gangs: BTreeMap::new(),
        }
    }

    pub fn threshold(&self) -> Option<Budget> {
        Some(Budget {
            reads: self.gangs.values().map(|gang| gang.reads).min()?,
            writes: self.gangs.values().map(|gang| gang.writes).min()?,
        })
    }

    pub fn remaining(&self, cpu: u16) -> Budget {
        let Some(limit) = self.threshold() else {
            return Budget::UNLIMITED;
        };
        if self.throttled.contains(&cpu) {
            return Budget {
                reads: 0,
                writes: 0,
            };
        }
        Budget {
            reads: self.cores[&cpu].reads.left(limit.reads),
            writes: self.cores[&cpu].writes.left(limit.writes),
        }
    }

    pub fn debt(&self, cpu: u16) -> Budget {
        Budget {
            reads: self.cores[&cpu].reads.owed,
            writes: self.cores[&cpu].writes.owed,
        }
    }

    pub fn is_throttled(&self, cpu: u16) -> bool {
        self.throttled.contains(&cpu)
    }

    fn is_out_of_budget(&self, cpu: u16, limit: Budget) -> bool {
        let core = &self.cores[&cpu];
        core.reads.left(limit.reads) == 0 || core.writes.left(limit.writes) == 0
    }

    pub fn gang_running(&mut self, partition: u8, tolerance: Budget) -> BTreeSet<u16> {
        self.gangs.insert(partition, tolerance);
        let before = self.throttled.clone();
        if let Some(limit) = self.threshold() {
            for core in self.cores.values_mut() {
                core.reads.pay(limit.reads);
                core.writes.pay(limit.writes);
            }
            let cpus = self.cores.keys().copied();
            let out = cpus.filter(|&cpu| self.is_out_of_budget(cpu, limit));
            self.throttled = &before | &out.collect();
        }
        &self.throttled - &before
    }

    pub fn gang_stopped(&mut self, partition: u8) -> BTreeSet<u16> {
        self.gangs.remove(&partition);
        match self.gangs.is_empty() {
            true => std::mem::take(&mut self.throttled),
            false => BTreeSet::new(),
        }
    }

    pub fn charge(&mut self, cpu: u16, reads: u64, writes: u64) -> Charge {
        let Some(limit) = self.threshold() else {
            return Charge::Continue;
        };
        if let Some(core) = self.cores.get_mut(&cpu) {
            // What was owed before a looser gang took over comes first.
            core.reads.pay(limit.reads);
            core.writes.pay(limit.writes);
            (0..reads).for_each(|_| core.reads.event(limit.reads));
            (0..writes).for_each(|_| core.writes.event(limit.writes));
        }
        if self.is_out_of_budget(cpu, limit) {
            self.throttled.insert(cpu);
        }
        match self.throttled.contains(&cpu) {
            true => Charge::Throttle,
            false => Charge::Continue,
        }
    }

    pub fn refill(&mut self) -> BTreeSet<u16> {
        let limit = self.threshold();
        // With no gang there is no budget, and so nothing to pay with.
        let paying = limit.unwrap_or(Budget {
            reads: 0,
            writes: 0,
        });
        for core in self.cores.values_mut() {
            core.reads.spent = 0;
            core.reads.pay(paying.reads);
            core.writes.spent = 0;
            core.writes.pay(paying.writes);
        }
        let before = self.throttled.clone();
        if let Some(limit) = limit {
            self.throttled = before
                .iter()
                .copied()
                .filter(|&cpu| self.is_out_of_budget(cpu, limit))
                .collect();
        }
        &before - &self.throttled
    }

    /// Everything that can be asked of `domain` answers as it does here.
    pub fn agrees_with(&self, domain: &Domain) -> bool {
        domain.threshold() == self.threshold()
            && self.cores.keys().all(|&cpu| {
                domain.is_throttled(cpu) == self.is_throttled(cpu)
                    && domain.remaining(cpu) == self.remaining(cpu)
                    && domain.debt(cpu) == self.debt(cpu)
            })
    }
}
