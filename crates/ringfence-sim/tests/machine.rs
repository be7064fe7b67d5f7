//! The exact engine against closed forms and laws of conservation.

#[path = "common/board.rs"]
mod board;

use board::*;
use ringfence_scenario::model::{Access, Program};
use ringfence_scenario::platform::{MemorySystem, Platform};
use ringfence_sim::machine::{
    ExactMachine, Machine, Picoseconds, Stop, StreamId, Traffic, TrafficLimit,
};

const CYCLE_PS: Picoseconds = 1000;
const LOOKAHEAD_PS: Picoseconds = 1_000_000;
const MS: Picoseconds = 1_000_000_000;

/// The board with a changed memory system.
fn board_with(cores: u16, change: impl FnOnce(&mut MemorySystem)) -> Platform {
    let mut platform = board(cores);
    change(platform.memory.as_mut().unwrap());
    platform
}

/// The board without refresh, whose DRAM latencies are exact.
fn without_refresh(cores: u16, change: impl FnOnce(&mut MemorySystem)) -> Platform {
    board_with(cores, |memory| {
        memory.dram.timing.refi = 0;
        change(memory);
    })
}

/// Adds `programs`, each a task of one thread; their streams.
fn add_all<'a>(
    machine: &mut ExactMachine,
    programs: impl IntoIterator<Item = &'a Program>,
    endless: bool,
) -> Vec<StreamId> {
    let add = |(number, program): (usize, _)| {
        let name = format!("task {number}");
        machine.add_task(&name, program, 1, endless).unwrap()[0]
    };
    programs.into_iter().enumerate().map(add).collect()
}

/// Time of the second job of `program` on an otherwise idle board: caches warm.
fn warm_job(platform: &Platform, program: &Program) -> Picoseconds {
    let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS).unwrap();
    let stream = machine.add_task("task", program, 1, false).unwrap()[0];
    let warm = run_job(&mut machine, 0, stream, 0);
    run_job(&mut machine, 0, stream, warm) - warm
}

/// Runs `programs`, one a core and for ever, for `time`; accesses of each after half of it.
fn accesses(platform: &Platform, programs: &[Program], time: Picoseconds) -> Vec<u64> {
    let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS).unwrap();
    let streams = add_all(&mut machine, programs, true);
    for (core, &stream) in (0..).zip(&streams) {
        machine.start(core, stream, 0);
    }
    assert_eq!(machine.run_until(time / 2), Stop::Horizon);
    let before: Vec<u64> = streams
        .iter()
        .map(|&stream| machine.accesses(stream))
        .collect();
    assert_eq!(machine.run_until(time), Stop::Horizon);
    streams
        .iter()
        .zip(before)
        .map(|(&stream, before)| machine.accesses(stream) - before)
        .collect()
}

fn assert_near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "found {found}, expected {expected}"
    );
}

#[test]
fn a_chase_in_the_l1_takes_the_l1_latency_an_access() {
    // The job ends when its last access, a hit, is issued.
    let nodes = 256;
    let time = warm_job(&board(1), &lists(Access::Read, nodes * LINE_BYTES, 1, 1));
    assert_eq!(time, ((nodes - 1) * L1_CYCLES + 1) * CYCLE_PS);
}

#[test]
fn a_chase_in_the_llc_takes_the_llc_latency_an_access() {
    let nodes = 2048;
    let time = warm_job(&board(1), &lists(Access::Read, nodes * LINE_BYTES, 1, 1));
    assert_eq!(time, nodes * LLC_CYCLES * CYCLE_PS);
}

#[test]
fn the_first_access_takes_llc_link_and_dram() {
    let platform = without_refresh(1, |_| {});
    let mut machine = ExactMachine::new(&platform, 1, LOOKAHEAD_PS).unwrap();
    let stream = machine
        .add_task("task", &lists(Access::Read, LINE_BYTES, 1, 1), 1, false)
        .unwrap()[0];
    let arrival = L1_CYCLES * CYCLE_PS + LINK_PS / 2;
    let clocks = arrival.div_ceil(DRAM_CLOCK_PS) + 11 + 11 + 4;
    let expected = clocks * DRAM_CLOCK_PS + LINK_PS / 2 + (LLC_CYCLES - L1_CYCLES) * CYCLE_PS;
    assert_eq!(run_job(&mut machine, 0, stream, 0), expected);
}

#[test]
fn a_chase_in_dram_takes_between_a_row_hit_and_a_row_conflict() {
    let nodes = (8 << 20) / LINE_BYTES;
    let time = warm_job(
        &without_refresh(1, |_| {}),
        &lists(Access::Read, nodes * LINE_BYTES, 1, 1),
    );
    let fixed = LLC_CYCLES * CYCLE_PS + LINK_PS;
    let (hit, conflict) = (11 + 4, 11 + 11 + 11 + 4);
    assert!(time > nodes * (fixed + hit * DRAM_CLOCK_PS));
    assert!(time < nodes * (fixed + (conflict + 1) * DRAM_CLOCK_PS));
}

#[test]
fn parallel_lists_overlap_up_to_the_outstanding_misses() {
    // Little's law: accesses in flight = rate x latency.
    for (parallel, in_flight) in [(1, 1.0), (3, 3.0), (6, 6.0), (12, 6.0)] {
        let platform = board_with(1, |memory| memory.llc.bank_service_cycles = 0);
        let found = accesses(
            &platform,
            &[lists(Access::Read, 128 << 10, parallel, 1)],
            MS,
        )[0];
        let cycles = (MS / 2 / CYCLE_PS) as f64;
        assert_near(found as f64, in_flight * cycles / LLC_CYCLES as f64, 0.002);
    }
}

#[test]
fn stores_overlap_up_to_the_store_buffer() {
    let platform = board_with(1, |memory| memory.llc.bank_service_cycles = 0);
    let found = accesses(&platform, &[bandwidth(Access::Write, 128 << 10, 1)], MS)[0];
    let cycles = (MS / 2 / CYCLE_PS) as f64;
    assert_near(found as f64, 4.0 * cycles / LLC_CYCLES as f64, 0.002);
}

#[test]
fn one_bank_serves_one_access_in_its_service_time_and_all_cores_alike() {
    let platform = board_with(4, |memory| {
        // A way of the L1 is smaller than a page: no walk hits, wherever its pages lie.
        memory.l1.size_bytes = 8 << 10;
        memory.llc.bank_functions = Vec::new();
        memory.llc.bank_service_cycles = 8;
    });
    let found = accesses(
        &platform,
        &vec![bandwidth(Access::Read, 64 << 10, 1); 4],
        MS,
    );
    let total: u64 = found.iter().sum();
    assert_near(total as f64, (MS / 2 / CYCLE_PS / 8) as f64, 0.001);
    assert_equal_service(&found);
}

#[test]
fn llc_registers_bound_the_misses_in_flight() {
    let platform = without_refresh(4, |memory| memory.llc.mshrs = 2);
    let found = accesses(
        &platform,
        &vec![lists(Access::Read, 8 << 20, 6, 1); 4],
        4 * MS,
    );
    let total = found.iter().sum::<u64>() as f64;
    // A register is in use for the link and the DRAM; two reads share eight banks.
    let latency = |clocks: u64| (LINK_PS + clocks * DRAM_CLOCK_PS) as f64;
    let most = 2.0 * 2.0 * MS as f64 / latency(11 + 4);
    let least = 2.0 * 2.0 * MS as f64 / latency(28 + 11 + 11 + 11 + 4 + 1);
    assert!(
        total < most && total > least,
        "{total} accesses, expected {least} to {most}"
    );
    assert_equal_service(&found);
}

fn assert_equal_service(found: &[u64]) {
    let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
    for &accesses in found {
        assert!(
            (accesses as f64 / mean - 1.0).abs() < 0.02,
            "unequal service: {found:?}"
        );
    }
}

#[test]
fn equal_cores_get_equal_service() {
    for program in [
        bandwidth(Access::Read, 4 << 20, 1),
        bandwidth(Access::Write, 4 << 20, 1),
        lists(Access::Read, 4 << 20, 6, 1),
        lists(Access::Write, 4 << 20, 6, 1),
    ] {
        assert_equal_service(&accesses(&board(4), &vec![program; 4], 10 * MS));
    }
}

/// The traffic of a mixed set of finite jobs, when each ended, and what the DRAM did.
#[derive(Debug, PartialEq)]
struct Outcome {
    ends: Vec<(u16, Picoseconds)>,
    traffic: Vec<Traffic>,
    reads: u64,
    writes: u64,
    written: u64,
    line_visits: u64,
}

fn mixed_jobs(seed: u64, lookahead: Picoseconds) -> Outcome {
    let platform = board_with(4, |memory| {
        memory.dram.channels = 2;
        memory.llc.mshrs = 6;
    });
    let mut machine = ExactMachine::new(&platform, seed, lookahead).unwrap();
    let programs = [
        lists(Access::Write, 1 << 20, 6, 2),
        bandwidth(Access::Read, 1 << 20, 4),
        bandwidth(Access::Write, 2 << 20, 3),
        lists(Access::Read, 256 << 10, 1, 2),
    ];
    let streams = add_all(&mut machine, &programs, false);
    for (core, &stream) in (0..).zip(&streams) {
        machine.start(core, stream, 100 * Picoseconds::from(core));
    }
    let mut ends = Vec::new();
    while ends.len() < programs.len() {
        match machine.run_until(Picoseconds::MAX) {
            Stop::Ended { core, time } => ends.push((core, time)),
            other => panic!("{other:?}"),
        }
    }
    // Long enough to write back all that waits.
    machine.run_until(ends[3].1 + MS);
    let counts = machine.channel_counts();
    Outcome {
        ends,
        traffic: (0..4).map(|core| machine.traffic(core).total()).collect(),
        reads: counts.iter().map(|channel| channel.reads).sum(),
        writes: counts.iter().map(|channel| channel.writes).sum(),
        written: counts.iter().map(|channel| channel.written).sum(),
        line_visits: streams.iter().map(|&stream| machine.accesses(stream)).sum(),
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_done_twice() {
    let outcome = mixed_jobs(1, LOOKAHEAD_PS);
    let sum = |count: fn(&Traffic) -> u64| outcome.traffic.iter().map(count).sum::<u64>();
    assert_eq!(
        outcome.line_visits,
        ((2 + 4 + 6) << 20 | 512 << 10) / LINE_BYTES
    );
    assert_eq!(sum(|traffic| traffic.read_lines), outcome.reads);
    assert_eq!(sum(|traffic| traffic.write_lines), outcome.writes);
    assert_eq!(outcome.writes, outcome.written);
    // Working sets bigger than the LLC: every line of a walk is fetched in every pass.
    assert_eq!(outcome.traffic[2].read_lines, (6 << 20) / LINE_BYTES);
    // A walk that writes causes as many write-backs as fetches, but for what the caches hold at the end.
    assert!(outcome.writes > (6 << 20) / LINE_BYTES - (512 << 10) / LINE_BYTES);
}

#[test]
fn the_same_seed_gives_the_same_run_whatever_the_lookahead() {
    let reference = mixed_jobs(7, 2_000_000);
    for lookahead in [0, 1, 100_000, 2_000_000, 50_000_000] {
        assert_eq!(mixed_jobs(7, lookahead), reference);
    }
    assert_ne!(mixed_jobs(8, 2_000_000).ends, reference.ends);
}

/// Time of a job of task `tau2`, cold, on a board that has all of `names` in its memory.
fn job_of_tau2(seed: u64, names: &[&str]) -> Picoseconds {
    let mut machine = ExactMachine::new(&board(1), seed, LOOKAHEAD_PS).unwrap();
    let mut tau2 = None;
    for &name in names {
        let program = lists(Access::Write, 256 << 10, 3, 2);
        let stream = machine.add_task(name, &program, 1, false).unwrap()[0];
        tau2 = tau2.or((name == "tau2").then_some(stream));
    }
    run_job(&mut machine, 0, tau2.unwrap(), 0)
}

#[test]
fn a_task_takes_as_long_whoever_else_has_memory() {
    let alone = job_of_tau2(1, &["tau2"]);
    assert_eq!(job_of_tau2(1, &["tau2", "tau1"]), alone);
    // With these names and seed no page is taken twice.
    assert_eq!(job_of_tau2(1, &["tau_mem", "tau1", "tau2"]), alone);
    assert_ne!(job_of_tau2(2, &["tau2"]), alone);
}

/// Interrupts core 0 every 20 us and restarts it 5 us later; what core 1 sees of it.
fn interrupted_run(lookahead: Picoseconds) -> (Vec<Picoseconds>, Vec<Traffic>) {
    let mut machine = ExactMachine::new(&board(2), 3, lookahead).unwrap();
    let programs = [
        bandwidth(Access::Write, 4 << 20, 1),
        lists(Access::Read, 64 << 10, 3, 1),
    ];
    let streams = add_all(&mut machine, &programs, true);
    machine.start(0, streams[0], 0);
    machine.start(1, streams[1], 0);
    let mut stops = Vec::new();
    for period in 1..100 {
        let asked = period * 20_000_000;
        machine.interrupt(0, asked);
        let Stop::Interrupted { core: 0, time } = machine.run_until(Picoseconds::MAX) else {
            panic!("the interrupt was not taken");
        };
        assert!(
            time >= asked && time < asked + 1_000_000,
            "asked for {asked}, taken at {time}"
        );
        stops.push(time);
        machine.start(0, streams[0], time + 5_000_000);
    }
    (
        stops,
        (0..2).map(|core| machine.traffic(core).total()).collect(),
    )
}

#[test]
fn interrupts_beyond_the_lookahead_are_exact() {
    assert_eq!(interrupted_run(1_000), interrupted_run(10_000_000));
}

/// Interrupts core 0 at every horizon, 7 us apart, as a timer's handler does;
/// when each interrupt was taken, and what both cores did meanwhile.
fn interrupted_at_horizons(
    program: &Program,
    lookahead: Picoseconds,
) -> (Vec<Picoseconds>, Vec<Traffic>) {
    let mut machine = ExactMachine::new(&board(2), 3, lookahead).unwrap();
    let other = bandwidth(Access::Write, 4 << 20, 1);
    let streams = add_all(&mut machine, [program, &other], true);
    machine.start(0, streams[0], 0);
    machine.start(1, streams[1], 0);
    let mut taken = Vec::new();
    for period in 1..100 {
        let horizon = period * 7_000_001;
        assert_eq!(machine.run_until(horizon), Stop::Horizon);
        machine.interrupt(0, horizon);
        let Stop::Interrupted { core: 0, time } = machine.run_until(Picoseconds::MAX) else {
            panic!("the interrupt was not taken");
        };
        taken.push(time - horizon);
        machine.start(0, streams[0], time);
    }
    (
        taken,
        (0..2).map(|core| machine.traffic(core).total()).collect(),
    )
}

#[test]
fn an_interrupt_at_the_horizon_is_taken_at_the_next_instruction_whatever_the_lookahead() {
    let issue_ps = CYCLE_PS;
    for (program, longest) in [
        (bandwidth(Access::Read, 4096, 1), issue_ps),
        (lists(Access::Read, 4096, 1, 1), L1_CYCLES * CYCLE_PS),
        (lists(Access::Write, 4 << 20, 6, 1), 2_000_000),
    ] {
        let (taken, traffic) = interrupted_at_horizons(&program, 1);
        // The first interrupts find caches cold and misses on their way.
        assert!(
            taken[10..].iter().all(|&late| late < longest),
            "taken late by {taken:?} ps, expected less than {longest}"
        );
        for lookahead in [1_000_000, 50_000_000] {
            let other = interrupted_at_horizons(&program, lookahead);
            assert_eq!(other, (taken.clone(), traffic.clone()));
        }
    }
}

#[test]
fn horizons_leave_no_trace() {
    let end = MS / 5;
    let run = |step: Picoseconds| {
        let mut machine = ExactMachine::new(&board(4), 5, LOOKAHEAD_PS).unwrap();
        let programs = [
            lists(Access::Write, 1 << 20, 6, 1),
            bandwidth(Access::Read, 1 << 20, 1),
            bandwidth(Access::Write, 2 << 20, 1),
            lists(Access::Read, 16 << 10, 1, 1),
        ];
        let streams = add_all(&mut machine, &programs, true);
        for (core, &stream) in (0..).zip(&streams) {
            machine.start(core, stream, 0);
        }
        let mut horizon = 0;
        while horizon < end {
            horizon = (horizon + step).min(end);
            assert_eq!(machine.run_until(horizon), Stop::Horizon);
        }
        let accesses: Vec<u64> = streams
            .iter()
            .map(|&stream| machine.accesses(stream))
            .collect();
        let traffic: Vec<Traffic> = (0..4).map(|core| machine.traffic(core).total()).collect();
        (accesses, traffic, machine.channel_counts())
    };
    let reference = run(end);
    for step in [1_000, 2_500, 33_333, 10_000_001] {
        assert_eq!(run(step), reference, "a horizon every {step} ps");
    }
}

#[test]
fn computation_is_interrupted_on_time() {
    let mut machine = ExactMachine::new(&board(1), 1, LOOKAHEAD_PS).unwrap();
    let program = Program::Phases(vec![ringfence_scenario::model::Phase {
        compute_cycles: 1_000_000,
        read_bytes: 0,
        write_bytes: 0,
        working_set_bytes: 64,
        pattern: ringfence_scenario::model::Pattern::Sequential,
    }]);
    let stream = machine.add_task("task", &program, 1, false).unwrap()[0];
    machine.start(0, stream, 0);
    machine.interrupt(0, 300_000_500);
    assert_eq!(
        machine.run_until(Picoseconds::MAX),
        Stop::Interrupted {
            core: 0,
            time: 300_000_500
        }
    );
    machine.start(0, stream, 400_000_000);
    let left = 1_000_000_000 - 300_000_500;
    assert_eq!(machine.run_until(400_000_000), Stop::Horizon);
    assert_eq!(
        machine.run_until(Picoseconds::MAX),
        Stop::Ended {
            core: 0,
            time: 400_000_000 + left
        }
    );
}

#[test]
fn a_traffic_limit_is_reported_once_when_it_is_reached() {
    let mut machine = ExactMachine::new(&board(1), 1, LOOKAHEAD_PS).unwrap();
    let stream = machine
        .add_task("task", &bandwidth(Access::Read, 4 << 20, 1), 1, true)
        .unwrap()[0];
    machine.start(0, stream, 0);
    machine.set_traffic_limit(
        0,
        TrafficLimit {
            read_lines: 1000,
            write_lines: u64::MAX,
        },
    );
    let Stop::LimitReached { core: 0, time } = machine.run_until(Picoseconds::MAX) else {
        panic!("the limit was not reported");
    };
    let read_lines = machine.traffic(0).best_effort.read_lines;
    assert!((1000..=1001).contains(&read_lines));
    assert_eq!(machine.run_until(time + MS), Stop::Horizon);
    // A limit that is already reached is reported at once.
    machine.set_traffic_limit(
        0,
        TrafficLimit {
            read_lines: 1000,
            write_lines: u64::MAX,
        },
    );
    let Stop::LimitReached {
        core: 0,
        time: again,
    } = machine.run_until(Picoseconds::MAX)
    else {
        panic!("the limit was not reported");
    };
    assert_eq!(again, time + MS + CYCLE_PS);
}

#[test]
fn stores_are_charged_to_whoever_issued_them() {
    let mut machine = ExactMachine::new(&board(1), 1, LOOKAHEAD_PS).unwrap();
    let stores = bandwidth(Access::Write, 4 << 20, 1);
    let best_effort = machine.add_task("stores", &stores, 1, true).unwrap()[0];
    let l1_hits = bandwidth(Access::Read, LINE_BYTES, 1_000_000);
    let real_time = machine.add_task("hits", &l1_hits, 1, false).unwrap()[0];
    machine.begin_job(real_time, 0);
    let (mut now, mut late) = (0, 0);
    for turn in 1..200 {
        machine.start(0, best_effort, now);
        machine.interrupt(0, now + 3_000_000 + 1_000 * turn);
        let Stop::Interrupted { time, .. } = machine.run_until(Picoseconds::MAX) else {
            panic!("the best-effort stream was not interrupted");
        };
        let before = machine.traffic(0);
        machine.start(0, real_time, time);
        machine.interrupt(0, time + 3_000_000);
        let Stop::Interrupted { time, .. } = machine.run_until(Picoseconds::MAX) else {
            panic!("the real-time stream was not interrupted");
        };
        let after = machine.traffic(0);
        late += after.best_effort.read_lines - before.best_effort.read_lines;
        late += after.best_effort.write_lines - before.best_effort.write_lines;
        now = time;
    }
    assert!(late > 0, "no store was still on its way at any switch");
    machine.run_until(now + MS);
    let traffic = machine.traffic(0);
    // One cold miss; it may push a dirty line out of the L1 and another one out of the LLC.
    assert_eq!(traffic.real_time.read_lines, 1);
    assert!(traffic.real_time.write_lines <= 2);
    // Each store of the walk fetches its line: none is lost and none is charged twice.
    assert_eq!(
        traffic.best_effort.read_lines,
        machine.accesses(best_effort)
    );
    let counts = &machine.channel_counts()[0];
    assert_eq!(traffic.total().read_lines, counts.reads);
    assert_eq!(traffic.total().write_lines, counts.writes);
}

#[test]
fn platforms_and_programs_that_do_not_fit_are_refused() {
    let error = |platform: &Platform| ExactMachine::new(platform, 1, 1).unwrap_err().to_string();
    let mut no_memory = board(1);
    no_memory.memory = None;
    assert!(error(&no_memory).contains("no caches and DRAM"));
    assert!(
        error(&board_with(1, |memory| memory.l1.size_bytes = 48 << 10)).contains("power of two")
    );
    assert!(
        error(&board_with(1, |memory| memory.dram.controller.write_high = 1000))
            .contains("write_high")
    );
    assert!(
        error(&board_with(1, |memory| memory.llc.latency_cycles = 1))
            .contains("llc.latency_cycles")
    );
    let mut machine = ExactMachine::new(&board(1), 1, 1).unwrap();
    let refused = machine
        .add_task("task", &bandwidth(Access::Read, 2 << 30, 1), 1, true)
        .unwrap_err();
    assert!(refused.to_string().contains("free"), "{refused}");
}
