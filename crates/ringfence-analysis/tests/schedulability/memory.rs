//! No simulated response exceeds its bound on boards with caches and DRAM: preemptions
//! that cost caches, regulated memory hogs, dirty caches when a job begins.
//!
//! `RINGFENCE_MEMORY_SETS=100 cargo test --release -p ringfence-analysis --test
//! schedulability -- memory --nocapture` draws as many sets.

use ringfence_scenario::load_platform;
use ringfence_scenario::model::*;

use crate::bound::{Reached, longest_ns};
use crate::generate::{MS, Random};
use crate::simulate::first_case;

/// Sets in a run of all tests.
const TASK_SETS: u64 = 8;

const KIB: u64 = 1024;

#[test]
fn simulated_responses_stay_below_their_bounds_on_boards() {
    let sets =
        std::env::var("RINGFENCE_MEMORY_SETS").map_or(TASK_SETS, |sets| sets.parse().unwrap());
    let mut reached = Reached::default();
    for seed in 0..sets {
        let mut scenario = scenario(seed);
        know_execution_times(&mut scenario);
        reached.check(seed, &scenario);
    }
    reached.judge();
}

fn scenario(seed: u64) -> Scenario {
    let random = &mut Random::new(seed);
    let board = random.pick(&["raspberry-pi-3", "jetson-nano"]);
    let gangs: Vec<Gang> = (1..=random.within(1, 4) as u8)
        .map(|priority| gang(random, priority))
        .collect();
    let best_effort: Vec<BestEffort> = (0..random.within(0, 3))
        .map(|index| hog(random, index))
        .collect();
    Scenario {
        name: format!("board-{seed}"),
        description: String::new(),
        platform: load_platform(board).unwrap(),
        duration_ns: 40 * MS,
        seed,
        regulation: Regulation { period_ns: MS },
        share: ShareLimit::Off,
        partitions: vec![Partition {
            name: "all".into(),
            cores: (0..4).collect(),
        }],
        classes_of_service: Vec::new(),
        vms: Vec::new(),
        channels: Vec::new(),
        reservations_bytes_per_second: None,
        cases: vec![Case {
            name: "gang".into(),
            scheduling: Scheduling::Gang,
            regulation: true,
            cache_allocation: false,
            interference: true,
            gangs: (0..gangs.len()).collect(),
            best_effort: (0..best_effort.len()).collect(),
            vms: Vec::new(),
            reservations: false,
        }],
        gangs,
        best_effort,
        observe: Observe {
            counters_every_ns: 10 * MS,
        },
    }
}

fn gang(random: &mut Random, priority: u8) -> Gang {
    let rate = random.pick(&[0, 0, 2_000_000, 10_000_000]);
    let period_ns = random.pick(&[5 * MS, 10 * MS, 20 * MS]);
    let first = random.within(0, 4) as u16;
    let threads = random.within(1, 5 - u64::from(first)) as u16;
    let phases: Vec<Phase> = (0..random.within(1, 3)).map(|_| phase(random)).collect();
    Gang {
        name: format!("task-{priority}"),
        partition: 0,
        priority,
        tolerance: match rate {
            0 => Tolerance::NONE,
            rate => Tolerance {
                read_bytes_per_second: Some(rate),
                write_bytes_per_second: Some(rate),
            },
        },
        class_of_service: None,
        tasks: vec![Task {
            name: format!("task-{priority}"),
            period_ns,
            deadline_ns: period_ns,
            offset_ns: random.within(0, period_ns),
            threads,
            cores: (first..first + threads).collect(),
            known: Known {
                llc_accesses: Some(phases.iter().map(accesses).sum()),
                ..Known::default()
            },
            program: Program::Phases(phases),
            overrun: Overrun::Queue,
        }],
    }
}

/// A walk over a region, once or several times. In order, so that every job does the same.
fn phase(random: &mut Random) -> Phase {
    let working_set_bytes = random.pick(&[4, 32, 64, 128, 384]) * KIB;
    let bytes = working_set_bytes * random.within(1, 3);
    let written = random.pick(&[0, bytes / 2, bytes]);
    Phase {
        compute_cycles: random.within(0, 200_000),
        read_bytes: bytes - written,
        write_bytes: written,
        working_set_bytes,
        pattern: Pattern::Sequential,
    }
}

/// Each line asked for and given back dirty.
fn accesses(phase: &Phase) -> u64 {
    2 * (phase.read_bytes + phase.write_bytes).div_ceil(64)
}

fn hog(random: &mut Random, index: u64) -> BestEffort {
    BestEffort {
        name: format!("hog-{index}"),
        threads: random.within(1, 4) as u16,
        cores: (0..4).collect(),
        pinned: random.one_in(2),
        class_of_service: None,
        program: Program::Bandwidth(Bandwidth {
            access: random.pick(&[Access::Read, Access::Write]),
            working_set_bytes: random.pick(&[64, 256, 4096]) * KIB,
            passes: 1,
        }),
    }
}

/// The longest of each task alone, whose first job finds its caches cold, counts as its worst.
fn know_execution_times(scenario: &mut Scenario) {
    for index in 0..scenario.gangs.len() {
        let mut alone = scenario.clone();
        alone.cases[0].gangs = vec![index];
        alone.cases[0].best_effort.clear();
        let task = &mut scenario.gangs[index].tasks[0];
        task.known.wcet_ns = Some(longest_ns(&first_case(&alone), &task.name));
    }
}
