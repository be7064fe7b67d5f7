//! The operating-system model on the exact machine: random programs, and a
//! verdict that finds nothing, in one partition and in two that share the
//! regulator, with a share limit and without. What a run claims (how fast cores are handed
//! over, how far a budget is exceeded) must bound what it does.

mod common;

use common::{case, cases, outcome};
use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_analysis::verdict::{ClaimKind, Outcome};
use ringfence_scenario::load_platform;
use ringfence_scenario::model::*;

const US: u64 = 1000;
const CORES: u16 = 4;

fn access() -> impl Strategy<Value = Access> {
    prop_oneof![Just(Access::Read), Just(Access::Write)]
}

fn phase() -> impl Strategy<Value = Phase> {
    (
        0_u64..20_000,
        0_u64..400,
        1_u64..400,
        1_u64..4000,
        any::<bool>(),
    )
        .prop_map(|(compute_cycles, read, write, working_set, random)| Phase {
            compute_cycles,
            read_bytes: read * 64,
            write_bytes: write * 64,
            working_set_bytes: working_set * 64,
            pattern: match random {
                true => Pattern::Random,
                false => Pattern::Sequential,
            },
        })
}

fn program() -> impl Strategy<Value = Program> {
    prop_oneof![
        (access(), 8_u64..20_000, 1_u32..3).prop_map(|(access, lines, passes)| {
            Program::Bandwidth(Bandwidth {
                access,
                working_set_bytes: lines * 64,
                passes,
            })
        }),
        (access(), 64_u64..20_000, 1_u8..12).prop_map(|(access, lines, lists)| {
            Program::LinkedLists(LinkedLists {
                access,
                working_set_bytes: lines * 64,
                lists,
                bank: None,
                passes: 1,
            })
        }),
        (0_u8..4, 0_u8..4, 8_u64..4000, 1_u64..80, 0_u32..200).prop_map(
            |(reads, writes, lines, stride, compute_cycles)| {
                Program::Streams(Streams {
                    reads,
                    writes: writes.max(u8::from(reads == 0)),
                    array_bytes: lines * 64,
                    stride_bytes: stride.min(lines) * 64,
                    compute_cycles,
                    passes: 1,
                })
            }
        ),
        (1_u64..200, 1_u64..12_800, 1_u64..200).prop_map(|(lines, change, read)| {
            Program::Strided(Strided {
                working_set_bytes: lines * 64,
                change_stride_bytes: change.min(lines * 64),
                read_stride_bytes: read.min(lines * 64),
                compute_cycles: 2,
                passes: 1,
            })
        }),
        vec(phase(), 1..4).prop_map(Program::Phases),
    ]
}

fn tolerance() -> impl Strategy<Value = Tolerance> {
    let rate = || proptest::option::of(0_u64..1_000_000_000);
    (rate(), rate()).prop_map(|(read, write)| Tolerance {
        read_bytes_per_second: read,
        write_bytes_per_second: write,
    })
}

fn task(name: String, cores: Vec<u16>) -> impl Strategy<Value = Task> {
    let count = cores.len();
    (
        1..=count as u16,
        0..count,
        300 * US..2000 * US,
        0..300 * US,
        program(),
    )
        .prop_map(move |(threads, first, period_ns, offset_ns, program)| {
            let mut cores = cores.clone();
            cores.rotate_left(first);
            Task {
                name: name.clone(),
                period_ns,
                deadline_ns: period_ns,
                offset_ns,
                threads,
                cores,
                program,
                overrun: Overrun::Skip,
                known: Known::default(),
            }
        })
}

/// One task or two, which then share the gang's priority.
fn gang(index: usize, partitions: Vec<Partition>) -> impl Strategy<Value = Gang> {
    (0..partitions.len(), 1_u8..4, tolerance(), 1_usize..3).prop_flat_map(
        move |(partition, priority, tolerance, tasks)| {
            let cores = &partitions[partition].cores;
            let tasks: Vec<_> = (0..tasks)
                .map(|number| task(format!("gang{index}/{number}"), cores.clone()))
                .collect();
            tasks.prop_map(move |tasks| Gang {
                name: format!("gang{index}"),
                partition,
                priority,
                tolerance,
                class_of_service: None,
                tasks,
            })
        },
    )
}

/// All cores in one partition, or in two that share the regulator.
fn partitions() -> impl Strategy<Value = Vec<Partition>> {
    prop_oneof![Just(CORES), 1..CORES].prop_map(|middle| {
        [0..middle, middle..CORES]
            .into_iter()
            .filter(|cores| !cores.is_empty())
            .map(|cores| Partition {
                name: format!("from-{}", cores.start),
                cores: cores.collect(),
            })
            .collect()
    })
}

fn share() -> impl Strategy<Value = ShareLimit> {
    prop_oneof![
        Just(ShareLimit::Off),
        (100 * US..900 * US).prop_map(|limit_ns| ShareLimit::Limited {
            limit_ns,
            window_ns: 1000 * US,
        })
    ]
}

fn best_effort(index: usize) -> impl Strategy<Value = BestEffort> {
    (1_u16..4, any::<bool>(), program()).prop_map(move |(threads, pinned, program)| BestEffort {
        name: format!("work{index}"),
        threads,
        cores: (0..CORES).collect(),
        pinned,
        class_of_service: None,
        program,
    })
}

fn scenario() -> impl Strategy<Value = Scenario> {
    let counts = (1_usize..4, 1_usize..3);
    let settings = (20 * US..500 * US, any::<u64>(), share());
    (counts, partitions(), settings).prop_flat_map(
        |((gangs, works), partitions, (period_ns, seed, share))| {
            let gangs: Vec<_> = (0..gangs).map(|g| gang(g, partitions.clone())).collect();
            let works: Vec<_> = (0..works).map(best_effort).collect();
            (gangs, works).prop_map(move |(gangs, best_effort)| {
                let case = |name: &str, scheduling| Case {
                    name: name.into(),
                    scheduling,
                    regulation: true,
                    cache_allocation: false,
                    interference: true,
                    gangs: (0..gangs.len()).collect(),
                    best_effort: (0..best_effort.len()).collect(),
                    vms: Vec::new(),
                    reservations: false,
                };
                Scenario {
                    name: "random".into(),
                    description: String::new(),
                    platform: load_platform("raspberry-pi-3").unwrap(),
                    duration_ns: 3000 * US,
                    seed,
                    regulation: Regulation { period_ns },
                    share,
                    partitions: partitions.clone(),
                    classes_of_service: Vec::new(),
                    vms: Vec::new(),
                    channels: Vec::new(),
                    reservations_bytes_per_second: None,
                    cases: vec![
                        case("fixed-priority", Scheduling::FixedPriority),
                        case("gang", Scheduling::Gang),
                    ],
                    gangs,
                    best_effort,
                    observe: Observe {
                        counters_every_ns: period_ns,
                    },
                }
            })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(16) })]

    #[test]
    fn the_verdict_finds_no_breach(scenario in scenario()) {
        let runs = cases(&scenario, None);
        for name in ["fixed-priority", "gang"] {
            for claim in [
                ClaimKind::CompleteRecord,
                ClaimKind::OneGangAtATime,
                ClaimKind::WorkConservation,
                ClaimKind::Budgets,
                ClaimKind::Throttling,
            ] {
                let (outcome, evidence) = outcome(case(&runs, name), claim);
                prop_assert!(
                    matches!(outcome, Outcome::Pass | Outcome::NotClaimed),
                    "{name}: {claim:?} {outcome:?} {evidence}"
                );
            }
        }
    }
}
