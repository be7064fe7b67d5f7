//! What does not fit is refused.

use ringfence_scenario::model::{Access, ClassOfService};
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
    assert_eq!(
        refused.to_string(),
        "`task` needs 2147483648 bytes, but only 1073741824 of the platform's DRAM are free; \
         shrink the working sets"
    );
}

#[test]
fn sizes_of_the_last_level_cache_are_refused_one_by_one() {
    let refused: [(Change, &str); 4] = [
        (
            |memory| memory.llc.mshrs = 0,
            "llc.mshrs is 0, expected 1 to 4096",
        ),
        (
            |memory| memory.llc.mshrs_per_bank = 0,
            "llc.mshrs_per_bank is 0, expected 1 to 4096",
        ),
        (
            |memory| memory.llc.write_back_buffer = 5000,
            "llc.write_back_buffer is 5000, expected 1 to 4096",
        ),
        (
            |memory| memory.llc.bank_functions = (6..13).map(|bit| 1 << bit).collect(),
            "number of llc.bank_functions is 7, expected at most 6",
        ),
    ];
    for (change, expected) in refused {
        let error = ExactMachine::new(&board_with(1, change), 1, 1).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
}

#[test]
fn a_class_of_service_whose_colours_are_full_is_named() {
    let mut machine = ExactMachine::new(&board(1), 1, 1).unwrap();
    let class = ClassOfService {
        name: "small".into(),
        way_mask: u64::MAX,
        colours: vec![1, 2],
    };
    let mut add = |name: &str, bytes| {
        let program = bandwidth(Access::Read, bytes, 1);
        machine.add_task(name, &program, 1, true, Some(&class))
    };
    let memory = board(1).memory.unwrap();
    let of_class_bytes = 2 * memory.dram.capacity_bytes() / u64::from(memory.page_colours());
    assert!(add("first", of_class_bytes - (1 << 20)).is_ok());
    assert_eq!(
        add("second", 2 << 20).unwrap_err().to_string(),
        "`second` needs 2097152 bytes, but only 1048576 of the 2 colours of class of service \
         `small` are free; give the class more colours or shrink its working sets"
    );
}
