//! What does not fit is refused.

use ringfence_scenario::model::Access;
use ringfence_scenario::platform::Platform;
use ringfence_sim::machine::ExactMachine;

use crate::board::*;
use crate::support::*;

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
        .add_task("task", &bandwidth(Access::Read, 2 << 30, 1), 1, true, None)
        .unwrap_err();
    assert!(refused.to_string().contains("free"), "{refused}");
}
