//! What the tests share.

use ringfence_scenario::model::Program;
use ringfence_scenario::platform::{
    Inclusion, MemorySystem, Platform, PrefetchLevel, Prefetcher, Replacement,
};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Stop, StreamId};

use crate::board::{board, run_job};

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

/// A change of the board.
pub type Change = fn(&mut MemorySystem);

/// Boards that differ in what may reorder, drop or add accesses.
pub fn variants() -> [(&'static str, Change); 7] {
    fn out_of_order(memory: &mut MemorySystem) {
        memory.core.reorder_window = Some(64);
    }
    fn prefetch(memory: &mut MemorySystem, fills: PrefetchLevel) {
        memory.core.prefetcher = Some(Prefetcher {
            streams: 4,
            distance_lines: 4,
            outstanding: 3,
            fills,
        });
    }
    fn inclusive(memory: &mut MemorySystem) {
        memory.llc.inclusion = Inclusion::Inclusive;
        // Smaller than the L1s together: most evictions find a copy above.
        memory.llc.size_bytes = 64 << 10;
    }
    [
        ("in order", |_| {}),
        ("little room in the LLC", |memory| {
            memory.llc.mshrs_per_bank = 1;
            memory.llc.write_back_buffer = 1;
        }),
        ("inclusive LLC", inclusive),
        ("out of order", out_of_order),
        (
            "out of order, inclusive LLC, random replacement",
            |memory| {
                out_of_order(memory);
                inclusive(memory);
                memory.llc.replacement = Replacement::Random;
            },
        ),
        ("prefetch into the LLC", |memory| {
            prefetch(memory, PrefetchLevel::Llc)
        }),
        (
            "out of order, prefetch into an L1 with few MSHRs",
            |memory| {
                out_of_order(memory);
                prefetch(memory, PrefetchLevel::L1);
                memory.l1.mshrs = 5;
            },
        ),
    ]
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

/// Time of the second job of `program` on an otherwise idle board: caches warm.
pub fn warm_job(platform: &Platform, program: &Program) -> Picoseconds {
    let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS).unwrap();
    let stream = machine.add_task("task", program, 1, false, None).unwrap()[0];
    let warm = run_job(&mut machine, 0, stream, 0);
    run_job(&mut machine, 0, stream, warm) - warm
}
