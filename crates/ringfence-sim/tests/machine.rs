//! The exact engine against closed forms.

#[path = "common/board.rs"]
mod board;

use board::*;
use ringfence_scenario::model::Access;
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds};

const LOOKAHEAD: Picoseconds = 1_000_000;

/// Mean time of an access of a pointer chase over `working_set_bytes`, caches warm.
fn chase_latency_ps(working_set_bytes: u64) -> f64 {
    let mut machine = ExactMachine::new(&board(1), 1, LOOKAHEAD).unwrap();
    let stream = machine
        .add_task(&lists(Access::Read, working_set_bytes, 1, 1), 1, false)
        .unwrap()[0];
    let warm = run_job(&mut machine, 0, stream, 0);
    let end = run_job(&mut machine, 0, stream, warm);
    (end - warm) as f64 / (working_set_bytes / LINE_BYTES) as f64
}

#[test]
fn a_pointer_chase_in_the_l1_takes_the_l1_latency() {
    // The last access of a job is only issued, not waited for: an L1 hit ends with its issue.
    println!("{}", chase_latency_ps(16 << 10));
    println!("{}", chase_latency_ps(128 << 10));
    println!("{}", chase_latency_ps(16 << 20));
}

#[test]
fn speeds() {
    for (name, program) in [
        ("l1", lists(Access::Read, 16 << 10, 1, 1)),
        ("llc read", bandwidth(Access::Read, 256 << 10, 1)),
        ("dram read", bandwidth(Access::Read, 16 << 20, 1)),
        ("dram write", bandwidth(Access::Write, 16 << 20, 1)),
        ("dram pll6", lists(Access::Read, 16 << 20, 6, 1)),
        ("dram pll6 w", lists(Access::Write, 16 << 20, 6, 1)),
    ] {
        for cores in [1u16, 4] {
            let mut machine = ExactMachine::new(&board(cores), 1, LOOKAHEAD).unwrap();
            let mut streams = vec![];
            for c in 0..cores {
                let s = machine.add_task(&program, 1, true).unwrap()[0];
                machine.start(c, s, 0);
                streams.push(s);
            }
            let t = std::time::Instant::now();
            machine.run_until(20_000_000_000);
            let a: Vec<u64> = streams.iter().map(|&s| machine.accesses(s)).collect();
            let n: u64 = a.iter().sum();
            println!(
                "{name} x{cores}: {:.2} M/s wall, {:.2} M/s per sim s, {a:?} {:?}",
                n as f64 / 1e6 / t.elapsed().as_secs_f64(),
                n as f64 / 20e3,
                machine.traffic(0)
            );
        }
    }
}
