//! What the tests share.

use ringfence_scenario::model::Program;
use ringfence_scenario::platform::{MemorySystem, Platform};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, StreamId};

use crate::board::board;

pub const CYCLE_PS: Picoseconds = 1000;
pub const LOOKAHEAD_PS: Picoseconds = 1_000_000;
pub const MS: Picoseconds = 1_000_000_000;

/// The board with a changed memory system.
pub fn board_with(cores: u16, change: impl FnOnce(&mut MemorySystem)) -> Platform {
    let mut platform = board(cores);
    change(platform.memory.as_mut().unwrap());
    platform
}

/// The board without refresh, whose DRAM latencies are exact.
pub fn without_refresh(cores: u16, change: impl FnOnce(&mut MemorySystem)) -> Platform {
    board_with(cores, |memory| {
        memory.dram.timing.refi = 0;
        change(memory);
    })
}

/// Adds `programs`, each a task of one thread; their streams.
pub fn add_all<'a>(
    machine: &mut ExactMachine,
    programs: impl IntoIterator<Item = &'a Program>,
    endless: bool,
) -> Vec<StreamId> {
    let add = |(number, program): (usize, _)| {
        let name = format!("task {number}");
        machine.add_task(&name, program, 1, endless, None).unwrap()[0]
    };
    programs.into_iter().enumerate().map(add).collect()
}

/// Runs `programs`, one a core and for ever, for `time`; accesses of each after half of it.
pub fn accesses(platform: &Platform, programs: &[Program], time: Picoseconds) -> Vec<u64> {
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

pub fn assert_near(found: f64, expected: f64, share: f64) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "found {found}, expected {expected}"
    );
}

pub fn assert_equal_service(found: &[u64]) {
    let mean = found.iter().sum::<u64>() as f64 / found.len() as f64;
    for &accesses in found {
        assert!(
            (accesses as f64 / mean - 1.0).abs() < 0.02,
            "unequal service: {found:?}"
        );
    }
}
