//! Scenarios without memory: programs that take a fixed time.

use ringfence_scenario::model::*;
use ringfence_scenario::platform::{OsCosts, Platform};

pub const US: u64 = 1000;
pub const DURATION_NS: u64 = 5_000 * US;

/// A program that takes `time_ns` alone.
pub fn compute(time_ns: u64, slowed_by: Vec<(String, u32)>) -> Program {
    Program::Compute(Compute { time_ns, slowed_by })
}

/// Both kinds of scheduling, without and with regulation.
pub fn assemble(
    os: OsCosts,
    partitions: Vec<Partition>,
    share: ShareLimit,
    gangs: Vec<Gang>,
    best_effort: Vec<BestEffort>,
) -> Scenario {
    let case = |name: &str, scheduling, regulation| Case {
        name: name.into(),
        scheduling,
        regulation,
        cache_allocation: false,
        interference: true,
        gangs: (0..gangs.len()).collect(),
        best_effort: (0..best_effort.len()).collect(),
        vms: Vec::new(),
        reservations: false,
    };
    let cases = vec![
        case("fixed-priority", Scheduling::FixedPriority, false),
        case("fixed-priority-regulated", Scheduling::FixedPriority, true),
        case("gang", Scheduling::Gang, false),
        case("gang-regulated", Scheduling::Gang, true),
    ];
    Scenario {
        name: "random".into(),
        description: String::new(),
        platform: Platform {
            name: "cores".into(),
            description: String::new(),
            cores: partitions.iter().map(|p| p.cores.len() as u16).sum(),
            frequency_hz: 1_000_000_000,
            os,
            hypervisor: None,
            stated_page_colours: None,
            memory: None,
        },
        duration_ns: DURATION_NS,
        seed: 1,
        regulation: Regulation {
            period_ns: 200 * US,
        },
        share,
        partitions,

        classes_of_service: Vec::new(),
        vms: Vec::new(),
        channels: Vec::new(),
        reservations_bytes_per_second: None,
        gangs,
        best_effort,
        cases,
        observe: Observe {
            counters_every_ns: 250 * US,
        },
    }
}
