//! The last-level cache alone under a closed loop: closed forms and bounds.

use proptest::prelude::*;
use ringfence_scenario::platform::{Platform, Replacement};
use ringfence_sim::bench::{Bottleneck, LlcBench, LlcLoad, LlcPattern, MAX_MEMORY_CYCLES, llc};

use crate::board::{LLC_CYCLES, board};

const READS: u64 = 20_000;
/// Enough for any working set here to be walked a few times.
const WARM_UP: u64 = 200_000;
const BANKS: u64 = 4;
const SERVICE_CYCLES: u64 = 2;
const MEMORY_CYCLES: u64 = 100;
/// Twice the cache.
const TOO_MUCH_BYTES: u64 = 1 << 20;

/// Four requestors with eight reads each in half of the cache; a cycle is a nanosecond.
fn load(pattern: LlcPattern) -> LlcLoad {
    LlcLoad {
        pattern,
        requestors: 4,
        outstanding: 8,
        write_percent: 0,
        working_set_bytes: 256 << 10,
        memory_cycles: MEMORY_CYCLES,
        seed: 1,
    }
}

fn run(load: &LlcLoad) -> LlcBench {
    llc(&board(4), load, WARM_UP, READS).unwrap()
}

#[test]
fn one_bank_gives_a_line_a_service_time_and_no_more() {
    let figures = run(&load(LlcPattern::OneBank));
    assert_eq!(figures.simulated_ns, (READS * SERVICE_CYCLES) as f64);
    assert_eq!(figures.cap_set_by, Bottleneck::Banks);
    assert_eq!(figures.achieved_bytes_per_s, figures.cap_bytes_per_s);
    let share = figures.achieved_bytes_per_s / figures.peak_bytes_per_s;
    assert_eq!(share, 1.0 / BANKS as f64);
    // Each waits for all the others: reads in flight by service time.
    assert_eq!(figures.mean_latency_ns, (32 * SERVICE_CYCLES) as f64);
}

#[test]
fn hits_spread_over_all_banks_reach_the_peak() {
    // The peak is two lines a cycle, and a hit takes 20: 40 reads in flight.
    let few = run(&load(LlcPattern::Sequential));
    assert_eq!(few.cap_set_by, Bottleneck::ReadsInFlight);
    assert_eq!(few.simulated_ns, (READS * LLC_CYCLES / 32) as f64);
    let figures = run(&LlcLoad {
        outstanding: 16,
        ..load(LlcPattern::Sequential)
    });
    assert_eq!(figures.hits, READS);
    let banks_in_turn = (READS * SERVICE_CYCLES / BANKS) as f64;
    assert_eq!(figures.simulated_ns, banks_in_turn);
    assert_eq!(figures.achieved_bytes_per_s, figures.peak_bytes_per_s);
}

#[test]
fn one_read_in_flight_takes_the_latency_of_the_cache_or_of_both() {
    let one = LlcLoad {
        requestors: 1,
        outstanding: 1,
        ..load(LlcPattern::Sequential)
    };
    let hits = run(&one);
    assert_eq!(hits.simulated_ns, (READS * LLC_CYCLES) as f64);
    let misses = run(&LlcLoad {
        working_set_bytes: TOO_MUCH_BYTES,
        ..one
    });
    assert_eq!(misses.misses, READS);
    let each = LLC_CYCLES + MEMORY_CYCLES;
    assert_eq!(misses.simulated_ns, (READS * each) as f64);
    assert_eq!(misses.requestors[0].max_ns, each as f64);
    for figures in [hits, misses] {
        assert_eq!(figures.cap_set_by, Bottleneck::ReadsInFlight);
        assert_eq!(figures.achieved_bytes_per_s, figures.cap_bytes_per_s);
    }
}

/// Misses of the load with so many registers, over all banks or in one.
fn with_registers(mshrs: u32, pattern: LlcPattern) -> LlcBench {
    let mut platform = board(4);
    platform.memory.as_mut().unwrap().llc.mshrs = mshrs;
    let load = LlcLoad {
        working_set_bytes: TOO_MUCH_BYTES,
        ..load(pattern)
    };
    llc(&platform, &load, WARM_UP, READS).unwrap()
}

#[test]
fn registers_bound_the_misses() {
    for mshrs in [1, 2, 4] {
        let figures = with_registers(mshrs, LlcPattern::Sequential);
        assert_eq!(figures.cap_set_by, Bottleneck::MissRegisters);
        let cap = f64::from(mshrs) * 64.0 / MEMORY_CYCLES as f64 * 1e9;
        assert_eq!(figures.cap_bytes_per_s, cap);
        // At worst each waits until its bank has taken in the line before.
        let least = MEMORY_CYCLES as f64 / (MEMORY_CYCLES + SERVICE_CYCLES) as f64;
        let share = figures.achieved_bytes_per_s / cap;
        assert!(
            share <= 1.0 && share >= least * 0.999,
            "{mshrs} registers: {share}"
        );
    }
    let figures = with_registers(1, LlcPattern::Sequential);
    assert_eq!(figures.simulated_ns, (READS * MEMORY_CYCLES) as f64);
    // In one bank the next miss waits until the line that came has been put in its place.
    let figures = with_registers(1, LlcPattern::OneBank);
    let each = MEMORY_CYCLES + SERVICE_CYCLES;
    assert_eq!(figures.simulated_ns, (READS * each) as f64);
}

#[test]
fn write_backs_are_as_many_as_asked_for_and_reach_memory_when_the_cache_is_too_small() {
    for write_percent in [0, 20, 50] {
        let load = LlcLoad {
            write_percent,
            ..load(LlcPattern::Sequential)
        };
        let asked_for = READS * u64::from(write_percent) / u64::from(100 - write_percent);
        let hits = run(&load);
        assert!(hits.write_backs.abs_diff(asked_for) <= 32);
        assert_eq!(hits.evictions, 0);
        let misses = run(&LlcLoad {
            working_set_bytes: TOO_MUCH_BYTES,
            ..load
        });
        assert!(misses.evictions.abs_diff(asked_for) <= 64, "{misses:?}");
    }
}

fn any_load() -> impl Strategy<Value = LlcLoad> {
    let pattern = prop_oneof![
        Just(LlcPattern::Sequential),
        Just(LlcPattern::Random),
        Just(LlcPattern::OneBank)
    ];
    (
        pattern,
        1_u32..9,
        1_u32..13,
        0_u32..=50,
        16_u64..2048,
        1_u64..300,
        any::<u64>(),
    )
        .prop_map(
            |(pattern, requestors, outstanding, write_percent, kib, memory_cycles, seed)| LlcLoad {
                pattern,
                requestors,
                outstanding,
                write_percent,
                working_set_bytes: kib << 10,
                memory_cycles,
                seed,
            },
        )
}

fn any_platform() -> impl Strategy<Value = Platform> {
    (
        1_u32..20,
        1_u32..20,
        1_u32..20,
        any::<bool>(),
        any::<bool>(),
    )
        .prop_map(
            |(mshrs, mshrs_per_bank, write_back_buffer, random, hashed)| {
                let mut platform = board(4);
                let llc = &mut platform.memory.as_mut().unwrap().llc;
                llc.mshrs = mshrs;
                llc.mshrs_per_bank = mshrs_per_bank;
                llc.write_back_buffer = write_back_buffer;
                if random {
                    llc.replacement = Replacement::Random;
                }
                if hashed {
                    llc.bank_functions = vec![1 << 6 | 1 << 9, 1 << 7 | 1 << 8, 1 << 4];
                }
                platform
            },
        )
}

/// What is simulated, without the wall times.
fn simulated(figures: LlcBench) -> LlcBench {
    LlcBench {
        wall_s: 0.0,
        requests_per_wall_s: 0.0,
        best_requests_per_wall_s: 0.0,
        walk_lines_per_s: 0.0,
        ratio_to_walk: 0.0,
        ..figures
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn nothing_exceeds_the_cap_and_every_read_is_counted_once(platform in any_platform(), load in any_load()) {
        let figures = llc(&platform, &load, 5000, READS).unwrap();
        prop_assert_eq!(figures.hits + figures.merged + figures.misses, READS);
        let counted: u64 = figures.requestors.iter().map(|requestor| requestor.reads).sum();
        prop_assert_eq!(counted, READS);
        // Reads in flight at the ends of what is counted may have been served outside it.
        let edges = f64::from(4 * load.requestors * load.outstanding) / READS as f64;
        prop_assert!(figures.achieved_bytes_per_s <= figures.cap_bytes_per_s * (1.0 + edges), "{figures:?}");
        prop_assert!(figures.cap_bytes_per_s <= figures.peak_bytes_per_s * (1.0 + edges));
        let least = figures.requestors.iter().map(|requestor| requestor.p50_ns);
        prop_assert!(least.fold(f64::MAX, f64::min) >= LLC_CYCLES as f64);
        let again = llc(&platform, &load, 5000, READS).unwrap();
        prop_assert_eq!(simulated(figures), simulated(again));
    }
}

#[test]
fn loads_that_cannot_be_are_refused() {
    let said = |change: fn(&mut LlcLoad)| {
        let mut load = load(LlcPattern::OneBank);
        change(&mut load);
        llc(&board(4), &load, 1, 1).unwrap_err().to_string()
    };
    for (change, expected) in [
        (
            (|load| load.requestors = 65) as fn(&mut LlcLoad),
            "number of requestors is 65, expected 1 to 64",
        ),
        (
            |load| load.outstanding = 0,
            "reads in flight of all requestors is 0, expected 1 to 65536",
        ),
        (
            |load| load.write_percent = 51,
            "write share in percent is 51, expected 0 to 50",
        ),
        (
            |load| load.working_set_bytes = 1 << 31,
            "working set in bytes is 2147483648, expected at most the platform's memory",
        ),
        (
            |load| load.working_set_bytes = 0,
            "working set in bytes is 0, expected at least 256: each requestor has lines of its own",
        ),
        (
            |load| load.working_set_bytes = 255,
            "working set in bytes is 255, expected at least 256: each requestor has lines of its own",
        ),
        (
            |load| load.working_set_bytes = 256,
            "lines of a requestor in bank 0 is 0, expected at least 1; enlarge the working set",
        ),
        (
            |load| load.memory_cycles = 0,
            "memory latency in cycles is 0, expected 1 to 1048576",
        ),
        (
            |_| (),
            "number of reads to count is 1, expected at least 3200: a hundred times the reads in flight, so that those at the edges do not count",
        ),
    ] {
        assert_eq!(said(change), expected);
    }
}

#[test]
fn the_longest_queues_are_measured_without_memory_for_each_cycle_of_them() {
    let mut platform = board(4);
    platform.memory.as_mut().unwrap().llc.mshrs = 1;
    let load = LlcLoad {
        outstanding: 64,
        working_set_bytes: TOO_MUCH_BYTES,
        memory_cycles: MAX_MEMORY_CYCLES,
        ..load(LlcPattern::Sequential)
    };
    let figures = llc(&platform, &load, 256, 25_600).unwrap();
    assert_eq!(figures.misses, 25_600);
    // All wait for one register.
    let queue_ns = (256 * MAX_MEMORY_CYCLES) as f64;
    for requestor in &figures.requestors {
        assert!(
            (requestor.max_ns / queue_ns - 1.0).abs() < 0.01,
            "{requestor:?}"
        );
    }
}
