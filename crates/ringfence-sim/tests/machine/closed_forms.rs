//! Times and rates that follow from the parameters alone.

use ringfence_scenario::model::Access;
use ringfence_sim::machine::ExactMachine;

use crate::board::*;
use crate::support::*;

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
        .add_task(
            "task",
            &lists(Access::Read, LINE_BYTES, 1, 1),
            1,
            false,
            None,
        )
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
