//! A snapshot for tests, with something of everything.

use ringfence_linux::live::Snapshot;
use ringfence_linux::live::snapshot::{
    BestEffort, Budget, Cpu, Gang, GangState, Mode, Partition, Resource, Share, VERSION,
};

/// Two partitions; one of them has a virtual gang, and no gang ever runs on CPU 3.
pub fn snapshot() -> Snapshot {
    Snapshot {
        version: VERSION,
        time_unix_ms: 1_700_003_725_999,
        since_unix_ms: 1_700_000_000_000,
        process: 4711,
        mode: Mode::SchedExt,
        scenario: "car".into(),
        case: "rt-gang".into(),
        partitions: vec![
            Partition {
                name: "front".into(),
                cpus: vec![0, 1],
                active_gangs: vec!["steering".into(), "braking".into()],
                blocked_gangs: vec!["slam".into()],
                share: Some(Share {
                    used_ns: 312_400_000,
                    limit_ns: 950_000_000,
                    window_ns: 1_000_000_000,
                    is_exhausted: false,
                }),
            },
            Partition {
                name: "rear".into(),
                cpus: vec![2],
                active_gangs: vec![],
                blocked_gangs: vec!["planning".into()],
                share: Some(Share {
                    used_ns: 950_100_000,
                    limit_ns: 950_000_000,
                    window_ns: 1_000_000_000,
                    is_exhausted: true,
                }),
            },
        ],
        cpus: vec![
            cpu(
                0,
                Some("front"),
                &["steering", "braking"],
                Some((true, 12, Some(100_000))),
            ),
            cpu(
                1,
                Some("front"),
                &["steering", "braking"],
                Some((false, 0, Some(100_000))),
            ),
            cpu(2, Some("rear"), &[], Some((false, 3, None))),
            cpu(3, None, &[], None),
        ],
        gangs: vec![
            gang("steering", "front", 30, GangState::Active, Some((1200, 2))),
            gang("braking", "front", 30, GangState::Active, Some((600, 0))),
            gang("slam", "front", 10, GangState::Blocked, None),
            gang("planning", "rear", 20, GangState::Blocked, Some((5, 0))),
        ],
    }
}

fn cpu(
    cpu: u16,
    partition: Option<&str>,
    held_by: &[&str],
    best_effort: Option<(bool, u64, Option<u64>)>,
) -> Cpu {
    Cpu {
        cpu,
        partition: partition.map(str::to_owned),
        held_by: held_by.iter().map(|name| (*name).to_owned()).collect(),
        best_effort: best_effort.map(|(is_throttled, times_throttled, budget)| BestEffort {
            is_throttled,
            times_throttled,
            period_ns: 1_000_000,
            budgets: vec![Budget {
                of: Resource::TimeNs,
                used: budget.map(|_| 100_000 / (u64::from(cpu) + 1)),
                budget,
            }],
        }),
    }
}

fn gang(
    name: &str,
    partition: &str,
    priority: u8,
    state: GangState,
    counted: Option<(u64, u64)>,
) -> Gang {
    let (jobs, deadline_misses) = counted.unzip();
    Gang {
        name: name.into(),
        partition: partition.into(),
        priority,
        state,
        active_ns: u64::from(priority) * 1_234_000_000,
        jobs,
        deadline_misses,
    }
}
