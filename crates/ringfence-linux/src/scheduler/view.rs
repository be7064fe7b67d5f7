//! What the scheduler does now, read from outside out of its maps (bpf/state.h,
//! bpf/regulation.h): each value whole, under the lock that is in it.

use libbpf_rs::{MapCore, MapFlags, MapHandle};
use ringfence_policy::gang::ShareUse;
use serde::{Deserialize, Serialize};

use super::skeleton::types;
use super::{Error, MAX_CPUS};
use crate::live::snapshot::{Budget, Resource};
use crate::live::state::{CpuState, State};
use crate::live::{PartitionState, Priorities};

/// By what the kernel finds the maps for who may look: root. They are gone with the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MapIds {
    partitions: u32,
    domains: u32,
}

impl MapIds {
    pub(super) fn of(partitions: &impl MapCore, domains: &impl MapCore) -> Result<Self, Error> {
        Ok(Self {
            partitions: partitions.info()?.info.id,
            domains: domains.info()?.info.id,
        })
    }

    /// What so many partitions and CPUs do now.
    ///
    /// # Errors
    /// The scheduler is gone, is of another version, or this process may not look.
    pub fn state(&self, partitions: usize, cpus: u16) -> Result<State, Error> {
        let map = MapHandle::from_map_id(self.partitions).map_err(Error::Maps)?;
        let partitions = (0..partitions as u32)
            .map(|index| lookup::<types::partition>(&map, index))
            .collect::<Result<Vec<_>, _>>()?;
        let map = MapHandle::from_map_id(self.domains).map_err(Error::Maps)?;
        let domain: types::domain = lookup(&map, 0)?;
        Ok(State {
            cpus: (0..cpus)
                .map(|cpu| cpu_state(cpu.into(), &partitions, &domain))
                .collect(),
            partitions: partitions.iter().map(partition_state).collect(),
        })
    }
}

/// Numbers alone, so that any bytes are one.
trait Numbers: Copy {}
impl Numbers for types::partition {}
impl Numbers for types::domain {}

fn lookup<T: Numbers>(map: &MapHandle, index: u32) -> Result<T, Error> {
    let found = map.lookup(&index.to_ne_bytes(), MapFlags::LOCK);
    let found = found.map_err(Error::Maps)?;
    let found = found.filter(|bytes| bytes.len() >= size_of::<T>());
    let bytes = found.ok_or(Error::OtherVersion)?;
    // SAFETY: there are as many bytes, and any are numbers.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}

fn partition_state(partition: &types::partition) -> PartitionState {
    let gang = &partition.gang;
    let mut runnable = Priorities::default();
    for (priority, &threads) in (0_u8..).zip(&gang.runnable) {
        if threads > 0 {
            runnable.insert(priority);
        }
    }
    PartitionState {
        holder: gang.locked_priority,
        runnable,
        share: ShareUse {
            window_start_ns: gang.share.window_start_ns,
            seen_ns: gang.share.seen_ns,
            used_ns: gang.share.used_ns,
        },
        is_exhausted: gang.share.exhausted_until_ns > 0,
    }
}

fn cpu_state(cpu: usize, partitions: &[types::partition], domain: &types::domain) -> CpuState {
    let holds = |partition: &&types::partition| contains(&partition.gang.locked, cpu);
    let held = partitions.iter().find(holds);
    let held = held.map_or(0, |partition| partition.gang.locked_priority);
    let regulator = &domain.regulator;
    let core = regulator.core.get(cpu).filter(|core| core.in_domain == 1);
    let Some(core) = core.filter(|_| domain.configured == 1) else {
        return CpuState {
            held,
            ..CpuState::default()
        };
    };
    let budget = |of, used, budget: u64| Budget {
        of,
        used: Some(used),
        budget: Some(budget).filter(|&budget| regulator.regulated == 1 && budget != u64::MAX),
    };
    let (reads, writes) = (core.reads.used, core.writes.used);
    let threshold = regulator.threshold;
    let budgets = match domain.by_time {
        1 => vec![budget(Resource::TimeNs, reads, threshold.reads)],
        _ => vec![
            budget(Resource::ReadEvents, reads, threshold.reads),
            budget(Resource::WriteEvents, writes, threshold.writes),
        ],
    };
    CpuState {
        held,
        is_throttled: Some(core.throttled == 1),
        budgets,
    }
}

fn contains(set: &types::rf_cpu_set, cpu: usize) -> bool {
    cpu < MAX_CPUS && set.word[cpu / 64] >> (cpu % 64) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_partition_and_a_domain_hold_is_told() {
        let mut partition = types::partition::default();
        partition.gang.locked.word[0] = 0b110;
        partition.gang.locked_priority = 30;
        partition.gang.runnable[30] = 2;
        partition.gang.runnable[7] = 1;
        partition.gang.share.used_ns = 5;
        partition.gang.share.exhausted_until_ns = 9;
        let state = partition_state(&partition);
        assert_eq!((state.holder, state.share.used_ns), (30, 5));
        assert!(state.is_exhausted);
        let runnable: Vec<u8> = (0..=99).filter(|&p| state.runnable.contains(p)).collect();
        assert_eq!(runnable, [7, 30]);

        let mut domain = types::domain::default();
        let of = |cpu, domain: &types::domain| cpu_state(cpu, &[partition], domain);
        assert_eq!((of(0, &domain).held, of(2, &domain).held), (0, 30));
        assert_eq!(of(2, &domain).is_throttled, None);
        (domain.configured, domain.by_time) = (1, 1);
        domain.regulator.core[2].in_domain = 1;
        domain.regulator.core[2].reads.used = 11;
        domain.regulator.core[2].throttled = 1;
        domain.regulator.threshold.reads = 10;
        let budget = |budget| Budget {
            of: Resource::TimeNs,
            used: Some(11),
            budget,
        };
        // No gang runs: nothing is limited.
        assert_eq!(of(2, &domain).budgets, [budget(None)]);
        domain.regulator.regulated = 1;
        assert_eq!(of(2, &domain).budgets, [budget(Some(10))]);
        assert_eq!(of(2, &domain).is_throttled, Some(true));
        assert_eq!(of(1, &domain).is_throttled, None);
        domain.by_time = 0;
        assert_eq!(of(2, &domain).budgets.len(), 2);
    }
}
