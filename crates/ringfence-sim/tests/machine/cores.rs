//! Cores out of order, with few registers, with a prefetcher.

use std::path::Path;

use ringfence_scenario::model::{Access, Program, Trace};
use ringfence_scenario::platform::{MemorySystem, Platform, PrefetchLevel, Prefetcher};
use ringfence_sim::machine::{ExactMachine, Machine};
use ringfence_trace::{Kind, Metadata, Writer};

use crate::board::*;
use crate::support::*;

fn out_of_order(instructions: u32) -> impl FnOnce(&mut MemorySystem) {
    move |memory| {
        memory.core.reorder_window = Some(instructions);
        memory.llc.bank_service_cycles = 0;
    }
}

/// Accesses in flight of a core whose accesses all hit the LLC, by Little's law.
fn in_flight(platform: &Platform, program: Program) -> f64 {
    let cycles = (MS / 2 / CYCLE_PS) as f64;
    accesses(platform, &[program], MS)[0] as f64 * LLC_CYCLES as f64 / cycles
}

#[test]
fn a_chase_takes_as_long_out_of_order() {
    // The last access was dispatched long before it issues, and ends the job as it does.
    for (nodes, cycles) in [(256, 255 * L1_CYCLES), (2048, 2048 * LLC_CYCLES)] {
        let program = lists(Access::Read, nodes * LINE_BYTES, 1, 1);
        let time = warm_job(&board_with(1, out_of_order(128)), &program);
        assert_eq!(time, cycles * CYCLE_PS);
    }
}

#[test]
fn the_window_bounds_the_loads_in_flight() {
    // One instruction a cycle: as many loads as the window has instructions.
    for (window, loads) in [(1, 1.0), (2, 2.0), (4, 4.0), (6, 6.0), (100, 6.0)] {
        let platform = board_with(1, out_of_order(window));
        let found = in_flight(&platform, bandwidth(Access::Read, 128 << 10, 1));
        assert_near(found, loads, 0.002);
    }
}

#[test]
fn chains_in_the_window_overlap_and_wait_for_their_own() {
    for (parallel, window, loads) in [(3, 64, 3.0), (12, 64, 6.0), (12, 4, 4.0)] {
        let platform = board_with(1, out_of_order(window));
        let found = in_flight(&platform, lists(Access::Read, 128 << 10, parallel, 1));
        assert_near(found, loads, 0.002);
    }
}

#[test]
fn a_window_of_less_than_a_picosecond_is_program_order() {
    let chase = |change: fn(&mut MemorySystem)| {
        let platform = board_with(1, change);
        accesses(&platform, &[bandwidth(Access::Read, 128 << 10, 1)], MS)[0]
    };
    let least = chase(|memory| {
        memory.core.reorder_window = Some(1);
        memory.core.cycles_per_instruction_milli = 0;
    });
    assert_eq!(least, chase(|memory| memory.core.outstanding_misses = 1));
}

#[test]
fn prefetches_into_the_llc_take_no_register_of_the_l1() {
    let found = |mshrs, prefetcher| {
        let platform = board_with(1, |memory| {
            memory.l1.mshrs = mshrs;
            memory.core.prefetcher = prefetcher;
        });
        accesses(&platform, &[bandwidth(Access::Read, 8 << 20, 1)], MS)[0]
    };
    let prefetcher = Prefetcher {
        streams: 1,
        distance_lines: 4,
        outstanding: 4,
        fills: PrefetchLevel::Llc,
    };
    let (without, with) = (found(1, None), found(1, Some(prefetcher)));
    assert!(
        with > without * 3 / 2,
        "{with} accesses, {without} without a prefetcher"
    );
}

/// A trace of loads, a page apart, without other instructions.
fn trace_of_loads(path: &Path, loads: u64) -> Program {
    let metadata = Metadata {
        program: "test".into(),
        arguments: Vec::new(),
        isa: "none".into(),
        compilers: Vec::new(),
        program_sha256: String::new(),
        recorder: "test".into(),
        address_granularity_bytes: 1,
        marked_jobs: true,
        instruction_lines: false,
    };
    let mut writer = Writer::new(std::fs::File::create(path).unwrap(), &metadata).unwrap();
    for load in 0..loads {
        let access = ringfence_trace::Access {
            address: load * 4096,
            instructions_before: 0,
            size: 4,
            kind: Kind::Load,
        };
        writer.access(access).unwrap();
    }
    writer.end_job(0).unwrap();
    writer.finish().unwrap();
    Program::Trace(Trace {
        path: path.to_owned(),
        job: None,
    })
}

#[test]
fn a_replay_overlaps_its_misses_only_out_of_order() {
    let folder = tempfile::tempdir().unwrap();
    // All in one set of an L1 of eight ways: every load misses it.
    let loads = 60;
    let program = trace_of_loads(&folder.path().join("loads.rftrace"), loads);
    let change = |memory: &mut MemorySystem| {
        memory.l1.ways = 8;
        memory.l1.size_bytes = 8 * 64 * 4;
        memory.llc.bank_service_cycles = 0;
    };
    let in_order = warm_job(&board_with(1, change), &program);
    assert_eq!(in_order, loads * LLC_CYCLES * CYCLE_PS);
    let window = |instructions| {
        let platform = board_with(1, |memory| {
            change(memory);
            memory.core.reorder_window = Some(instructions);
        });
        warm_job(&platform, &program)
    };
    // Six at a time, issued a cycle apart; two at a time.
    assert_eq!(window(64), (loads / 6 * LLC_CYCLES + 5) * CYCLE_PS);
    assert_eq!(window(2), (loads / 2 * LLC_CYCLES + 1) * CYCLE_PS);
}

#[test]
fn registers_of_the_l1_bound_all_misses_together() {
    for mshrs in [1, 2, 5] {
        let platform = board_with(1, |memory| {
            memory.l1.mshrs = mshrs;
            memory.llc.bank_service_cycles = 0;
        });
        for access in [Access::Read, Access::Write] {
            let most = if access == Access::Read { 6 } else { 4 };
            let found = in_flight(&platform, bandwidth(access, 128 << 10, 1));
            assert_near(found, mshrs.min(most).into(), 0.002);
        }
    }
}

fn with_prefetcher(fills: PrefetchLevel, distance_lines: u32) -> impl Fn(&mut MemorySystem) {
    move |memory| {
        memory.core.outstanding_misses = 1;
        memory.llc.bank_service_cycles = 0;
        memory.core.prefetcher = (distance_lines > 0).then_some(Prefetcher {
            streams: 4,
            distance_lines,
            outstanding: distance_lines,
            fills,
        });
    }
}

#[test]
fn a_prefetcher_hides_the_latency_of_walks_and_not_of_chases() {
    let rate = |fills, distance, program: &Program| {
        let platform = board_with(1, with_prefetcher(fills, distance));
        accesses(&platform, std::slice::from_ref(program), 4 * MS)[0] as f64
    };
    let walk = bandwidth(Access::Read, 8 << 20, 1);
    let chase = lists(Access::Read, 8 << 20, 1, 1);
    for fills in [PrefetchLevel::L1, PrefetchLevel::Llc] {
        // Without it one line is on its way, with it at most four more.
        let gain = rate(fills, 4, &walk) / rate(fills, 0, &walk);
        assert!((2.0..=5.0).contains(&gain), "{fills:?}: {gain}");
        assert_near(rate(fills, 4, &chase), rate(fills, 0, &chase), 0.01);
    }
}

#[test]
fn a_walk_from_the_llc_is_as_fast_as_its_prefetches_overlap() {
    let platform = board_with(1, with_prefetcher(PrefetchLevel::L1, 3));
    let found = in_flight(&platform, bandwidth(Access::Read, 128 << 10, 1));
    // Four lines a latency, but for the two misses that begin each page.
    assert!((3.0..=4.0).contains(&found), "{found} in flight");
}

#[test]
fn no_core_computes_before_it_has_the_instructions() {
    const CYCLES: u64 = 100;
    const FETCHES: u64 = 5000;
    let program = fetches(FETCHES, 64 << 10, CYCLES);
    for window in [None, Some(128)] {
        let platform = board_with(1, |memory| {
            memory.l1.size_bytes = 1 << 10;
            memory.core.reorder_window = window;
        });
        let mut machine = ExactMachine::new(&platform, 1, LOOKAHEAD_PS).unwrap();
        let stream = machine.add_task("task", &program, 1, false, None).unwrap()[0];
        let warm = run_job(&mut machine, 0, stream, 0);
        let before = machine.traffic(0).real_time.llc_accesses;
        let time = run_job(&mut machine, 0, stream, warm) - warm;
        let misses = machine.traffic(0).real_time.llc_accesses - before;
        assert!(misses > FETCHES * 9 / 10);
        let hits = FETCHES - misses;
        let cycles = CYCLES * FETCHES + misses * LLC_CYCLES + hits;
        assert_near(time as f64, (cycles * CYCLE_PS) as f64, 0.0002);
    }
}
