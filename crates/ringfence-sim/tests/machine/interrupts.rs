//! Interrupts, horizons and traffic limits happen when they should.

use ringfence_scenario::model::{Access, Program};
use ringfence_sim::machine::dram::channel::ChannelCounts;
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, Traffic, TrafficLimit};

use crate::board::*;
use crate::support::*;

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
    for (name, change) in variants() {
        let reference = stepwise(change, MS / 10);
        for step in [1_000, 2_500, 33_333, 10_000_001] {
            let found = stepwise(change, step);
            assert_eq!(found, reference, "{name}: a horizon every {step} ps");
        }
    }
}

/// What four cores and the DRAM do in 100 us with a horizon every `step`.
fn stepwise(change: Change, step: Picoseconds) -> (Vec<u64>, Vec<Traffic>, Vec<ChannelCounts>) {
    let end = MS / 10;
    let mut machine = ExactMachine::new(&board_with(4, change), 5, LOOKAHEAD_PS).unwrap();
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
    let accesses = streams.iter().map(|&stream| machine.accesses(stream));
    let accesses = accesses.collect();
    let traffic = (0..4).map(|core| machine.traffic(core).total()).collect();
    (accesses, traffic, machine.channel_counts())
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
    let stream = machine.add_task("task", &program, 1, false, None).unwrap()[0];
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
        .add_task("task", &bandwidth(Access::Read, 4 << 20, 1), 1, true, None)
        .unwrap()[0];
    machine.start(0, stream, 0);
    machine.set_traffic_limit(
        0,
        TrafficLimit {
            read_lines: 1000,
            ..TrafficLimit::NONE
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
            ..TrafficLimit::NONE
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
