//! BkPLL: lists that keep to one bank of the last-level cache.

use ringfence_scenario::model::{Access, Program};
use ringfence_scenario::platform::Platform;
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds};

use crate::board::*;
use crate::support::*;

/// Lists over the lines of `bank`; none is all banks.
fn lists_in(bank: Option<u16>, working_set_bytes: u64, count: u8, passes: u32) -> Program {
    let mut program = lists(Access::Read, working_set_bytes, count, passes);
    if let Program::LinkedLists(lists) = &mut program {
        lists.bank = bank;
    }
    program
}

/// Four cores and eight banks, chosen by functions of the line in its page and beyond it.
fn hashed() -> Platform {
    board_with(4, |memory| {
        memory.l1.size_bytes = 1 << 10;
        memory.llc.size_bytes = 4 << 20;
        memory.llc.bank_functions = vec![1 << 6 | 1 << 13, 1 << 7 | 1 << 6 | 1 << 20, 1 << 15];
        memory.llc.bank_service_cycles = 8;
    })
}

#[test]
fn lists_of_one_bank_load_that_bank_alone() {
    let platform = hashed();
    // An eighth of this lies in a bank, of each core: more than an L1, less than the LLC.
    let rate = |banks: [Option<u16>; 4]| -> u64 {
        let programs = banks.map(|bank| lists_in(bank, 256 << 10, 6, 1));
        accesses(&platform, &programs, MS).iter().sum()
    };
    for bank in [0, 3, 7] {
        let one_bank = rate([Some(bank); 4]);
        assert_near(one_bank as f64, (MS / 2 / CYCLE_PS / 8) as f64, 0.002);
    }
    // Each in a bank of its own: nobody waits for another.
    let alone = rate([Some(0), None, None, None].map(|bank| bank.or(Some(1))));
    let apart = rate([Some(0), Some(1), Some(2), Some(3)]);
    assert!(
        apart > 3 * alone / 2,
        "{apart} apart, {alone} with three in a bank"
    );
}

#[test]
fn a_working_set_without_enough_lines_of_the_bank_is_refused() {
    let platform = hashed();
    let mut machine = ExactMachine::new(&platform, 1, LOOKAHEAD_PS).unwrap();
    // A page has lines of two or four of the eight banks.
    let few = (0..8).filter(|&bank| {
        let program = lists_in(Some(bank), 4 << 10, 1, 1);
        let added = machine.add_task("small", &program, 1, false, None);
        added.is_err_and(|error| error.to_string().starts_with("only 0 lines"))
    });
    assert!(few.count() >= 4);
}

/// Time of a victim's job in bank 0 of a Jetson Nano beside three cores that
/// execute `aggressor`, and the accesses that these executed meanwhile.
fn beside(platform: &Platform, aggressor: &Program) -> (Picoseconds, u64) {
    let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS).unwrap();
    let victim = lists_in(Some(0), 256 << 10, 1, 8);
    let victim = machine.add_task("victim", &victim, 1, false, None).unwrap()[0];
    let warm = run_job(&mut machine, 0, victim, 0);
    let streams: Vec<_> = (1..4)
        .map(|core| {
            let name = format!("aggressor {core}");
            let streams = machine.add_task(&name, aggressor, 1, true, None).unwrap();
            machine.start(core, streams[0], warm);
            streams[0]
        })
        .collect();
    // Long enough for the aggressors to have their lines in the cache.
    let begin = run_job(&mut machine, 0, victim, warm + 2 * MS);
    let executed = |machine: &ExactMachine| -> u64 {
        let accesses = streams.iter().map(|&stream| machine.accesses(stream));
        accesses.sum()
    };
    let before = executed(&machine);
    let end = run_job(&mut machine, 0, victim, begin);
    (end - begin, executed(&machine) - before)
}

#[test]
fn aggressors_in_its_bank_slow_a_victim_more_than_as_many_accesses_elsewhere() {
    let platform = ringfence_scenario::load_platform("jetson-nano").unwrap();
    let banks = platform.memory.as_ref().unwrap().llc_banks();
    assert_eq!(banks, [0, 4], "lines of 64 bytes in banks of 16");
    // All of them stay in the LLC of 2 MiB; two lists do not keep both banks busy.
    let [same, all, other] = [Some(0), None, Some(4)].map(|bank| {
        let (time_ps, accesses) = beside(&platform, &lists_in(bank, 256 << 10, 2, 1));
        (time_ps as f64, accesses as f64 / time_ps as f64)
    });
    assert!(
        same.1 < all.1 && same.1 < other.1,
        "the attack is no faster"
    );
    assert!(
        same.0 > 1.2 * all.0 && all.0 > 1.02 * other.0,
        "the same bank {same:?}, all banks {all:?}, the other bank {other:?}"
    );
}
