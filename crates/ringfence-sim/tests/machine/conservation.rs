//! Nothing is lost, nothing is done twice, and the same run comes again.

use proptest::prelude::*;
use ringfence_scenario::model::{Access, Program};
use ringfence_scenario::platform::{Inclusion, MemorySystem};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, Traffic};

use crate::board::*;
use crate::support::*;

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

fn mixed_jobs(
    seed: u64,
    lookahead: Picoseconds,
    change: impl FnOnce(&mut MemorySystem),
) -> Outcome {
    let platform = board_with(4, |memory| {
        memory.dram.channels = 2;
        memory.llc.mshrs = 6;
        change(memory);
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
fn every_fetch_and_write_back_is_counted_once_and_reaches_the_dram() {
    for (name, change) in variants() {
        let outcome = mixed_jobs(1, LOOKAHEAD_PS, change);
        let sum = |count: fn(&Traffic) -> u64| outcome.traffic.iter().map(count).sum::<u64>();
        let line_visits = ((2 + 4 + 6) << 20 | 512 << 10) / LINE_BYTES;
        assert_eq!(outcome.line_visits, line_visits, "{name}");
        assert_eq!(sum(|traffic| traffic.read_lines), outcome.reads, "{name}");
        assert_eq!(sum(|traffic| traffic.write_lines), outcome.writes, "{name}");
        assert_eq!(outcome.writes, outcome.written, "{name}");
        // Working sets bigger than the LLC: every line of a walk is fetched in every pass.
        let walked = (6 << 20) / LINE_BYTES;
        assert!(outcome.traffic[2].read_lines >= walked, "{name}");
        // A walk that writes causes as many write-backs as fetches, but for
        // what the caches hold at the end.
        assert!(outcome.writes > walked - (512 << 10) / LINE_BYTES, "{name}");
    }
}

#[test]
fn a_walk_fetches_nothing_twice() {
    let outcome = mixed_jobs(1, LOOKAHEAD_PS, |_| {});
    assert_eq!(outcome.traffic[2].read_lines, (6 << 20) / LINE_BYTES);
}

#[test]
fn the_same_seed_gives_the_same_run_whatever_the_lookahead() {
    for (name, change) in variants() {
        let reference = mixed_jobs(7, 2_000_000, change);
        for lookahead in [0, 1, 100_000, 50_000_000] {
            assert_eq!(mixed_jobs(7, lookahead, change), reference, "{name}");
        }
        assert_ne!(mixed_jobs(8, 2_000_000, change).ends, reference.ends);
    }
}

/// What two cores do in 20 us: a program beside a walk.
fn two_cores(
    memory: impl FnOnce(&mut MemorySystem),
    program: Program,
    lookahead: Picoseconds,
) -> Vec<(u64, Traffic)> {
    let mut machine = ExactMachine::new(&board_with(2, memory), 1, lookahead).unwrap();
    let programs = [program, bandwidth(Access::Write, 1 << 20, 1)];
    let streams = add_all(&mut machine, &programs, true);
    for (core, &stream) in (0..).zip(&streams) {
        machine.start(core, stream, 0);
    }
    machine.run_until(MS / 50);
    let found = |(core, &stream)| (machine.accesses(stream), machine.traffic(core).total());
    (0..).zip(&streams).map(found).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_core_runs_too_far_ahead(
        nodes in 1u64..40,
        parallel in 1u8..16,
        write in any::<bool>(),
        window in prop::option::of(1u32..128),
        loads in 1u32..12,
        l1_ways in 1u32..17,
        inclusive in any::<bool>(),
        fetching in any::<bool>(),
    ) {
        let change = |memory: &mut MemorySystem| {
            memory.core.reorder_window = window;
            memory.core.outstanding_misses = loads;
            (memory.l1.ways, memory.l1.size_bytes) = (l1_ways, l1_ways * LINE_BYTES as u32);
            if inclusive {
                memory.llc.inclusion = Inclusion::Inclusive;
                memory.llc.size_bytes = 32 << 10;
            }
        };
        let access = if write { Access::Write } else { Access::Read };
        let program = match fetching {
            true => fetches(10 * nodes, nodes * LINE_BYTES, parallel.into()),
            false => lists(access, nodes * LINE_BYTES, parallel, 1),
        };
        let reference = two_cores(change, program.clone(), 1);
        prop_assert_eq!(two_cores(change, program, LOOKAHEAD_PS), reference);
    }
}

/// Time of a job of task `tau2`, cold, on a board that has all of `names` in its memory.
fn job_of_tau2(seed: u64, names: &[&str]) -> Picoseconds {
    let mut machine = ExactMachine::new(&board(1), seed, LOOKAHEAD_PS).unwrap();
    let mut tau2 = None;
    for &name in names {
        let program = lists(Access::Write, 256 << 10, 3, 2);
        let stream = machine.add_task(name, &program, 1, false, None).unwrap()[0];
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

#[test]
fn stores_are_charged_to_whoever_issued_them() {
    let mut machine = ExactMachine::new(&board(1), 1, LOOKAHEAD_PS).unwrap();
    let stores = bandwidth(Access::Write, 4 << 20, 1);
    let best_effort = machine.add_task("stores", &stores, 1, true, None).unwrap()[0];
    let l1_hits = bandwidth(Access::Read, LINE_BYTES, 1_000_000);
    let real_time = machine.add_task("hits", &l1_hits, 1, false, None).unwrap()[0];
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
