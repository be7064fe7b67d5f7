//! The last-level cache: banks, registers, write-back buffer, allocation, inclusion.

use ringfence_scenario::model::{Access, ClassOfService, Program};
use ringfence_scenario::platform::{Inclusion, MemorySystem, Platform};
use ringfence_sim::machine::{ExactMachine, Machine, Picoseconds, Traffic};

use crate::board::*;
use crate::support::*;

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
fn a_bank_takes_lines_in_and_gives_dirty_ones_up_in_its_service_time() {
    const SERVICE_CYCLES: u32 = 100;
    let platform = board_with(4, |memory| {
        memory.llc.bank_functions = Vec::new();
        memory.llc.bank_service_cycles = SERVICE_CYCLES;
    });
    // A miss is looked up and filled. With stores each also pushes a dirty line
    // out of the L1 into the bank, and one out of the bank.
    for (access, services) in [(Access::Read, 2), (Access::Write, 4)] {
        let programs = vec![bandwidth(access, 4 << 20, 1); 4];
        let total: u64 = accesses(&platform, &programs, 40 * MS).iter().sum();
        let cycles = 20 * MS / CYCLE_PS;
        let expected = cycles / u64::from(services * SERVICE_CYCLES);
        assert_near(total as f64, expected as f64, 0.01);
    }
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

#[test]
fn with_one_bank_its_registers_are_all_registers() {
    let found = |mshrs, mshrs_per_bank| {
        let platform = board_with(4, |memory| {
            memory.llc.bank_functions = Vec::new();
            memory.llc.mshrs = mshrs;
            memory.llc.mshrs_per_bank = mshrs_per_bank;
        });
        accesses(&platform, &vec![lists(Access::Read, 8 << 20, 6, 1); 4], MS)
    };
    for mshrs in [1, 3, 8] {
        assert_eq!(found(mshrs, 16), found(16, mshrs));
    }
    assert_ne!(found(1, 16), found(16, 16));
}

#[test]
fn a_bank_without_registers_leaves_the_others_theirs() {
    // Banks are chosen by address bits 12 and 13 and pages are of 4 KiB: each
    // core walks through all banks, page by page.
    let found = |mshrs, mshrs_per_bank| {
        let platform = board_with(4, |memory| {
            memory.llc.bank_functions = vec![1 << 12, 1 << 13];
            memory.llc.mshrs = mshrs;
            memory.llc.mshrs_per_bank = mshrs_per_bank;
        });
        let programs = vec![bandwidth(Access::Read, 8 << 20, 1); 4];
        accesses(&platform, &programs, MS).iter().sum::<u64>()
    };
    let (one, one_a_bank, four) = (found(1, 1), found(16, 1), found(4, 4));
    assert!(
        one < one_a_bank && one_a_bank < four,
        "{one}, {one_a_bank} and {four} accesses"
    );
}

#[test]
fn a_full_write_back_buffer_holds_up_writers_only() {
    let found = |access, write_back_buffer| {
        let platform = board_with(2, |memory| memory.llc.write_back_buffer = write_back_buffer);
        let programs = vec![bandwidth(access, 4 << 20, 1); 2];
        accesses(&platform, &programs, 10 * MS).iter().sum::<u64>()
    };
    assert_eq!(found(Access::Read, 1), found(Access::Read, 16));
    let (small, large) = (found(Access::Write, 1), found(Access::Write, 16));
    assert!(small < large, "{small} and {large} accesses");
}

/// A class of service with some ways of the LLC of 16, and some of its 8 colours.
fn class(way_mask: u64, colours: std::ops::Range<u16>) -> ClassOfService {
    ClassOfService {
        name: "class".into(),
        way_mask,
        colours: colours.collect(),
    }
}

/// What a victim has of the LLC and its time a job, when its caches are warm,
/// beside three cores that execute `aggressor` for ever.
fn victim_beside(
    platform: &Platform,
    aggressor: Option<&Program>,
    classes: Option<(&ClassOfService, &ClassOfService)>,
) -> (Traffic, Picoseconds) {
    const VICTIM: u16 = 0;
    let mut machine = ExactMachine::new(platform, 1, LOOKAHEAD_PS).unwrap();
    let program = lists(Access::Read, 128 << 10, 1, 8);
    let (mine, theirs) = classes.unzip();
    let victim = machine
        .add_task("victim", &program, 1, false, mine)
        .unwrap()[0];
    let warm = run_job(&mut machine, VICTIM, victim, 0);
    for core in aggressor.iter().flat_map(|_| 1..4u16) {
        let name = format!("aggressor {core}");
        let stream = machine
            .add_task(&name, aggressor.unwrap(), 1, true, theirs)
            .unwrap()[0];
        machine.start(core, stream, warm);
    }
    // Long enough for the aggressors to fill what they can.
    let begin = warm + 2 * MS;
    machine.run_until(begin);
    let middle = run_job(&mut machine, VICTIM, victim, begin);
    let before = machine.traffic(VICTIM).real_time;
    let end = run_job(&mut machine, VICTIM, victim, middle);
    let after = machine.traffic(VICTIM).real_time;
    let traffic = Traffic {
        read_lines: after.read_lines - before.read_lines,
        write_lines: after.write_lines - before.write_lines,
        llc_accesses: after.llc_accesses - before.llc_accesses,
        llc_misses: after.llc_misses - before.llc_misses,
    };
    (traffic, end - middle)
}

#[test]
fn allocation_removes_eviction_and_leaves_bank_contention() {
    let platform = board_with(4, |memory| {
        memory.llc.bank_functions = Vec::new();
        // No divisor of the latency, or the victim always comes when the bank has just become free.
        memory.llc.bank_service_cycles = 3;
    });
    // Of each pair, the first half is the victim's: 256 KiB for its 128 KiB.
    let ways = (class(0x00ff, 0..8), class(0xff00, 0..8));
    let colours = (class(0xffff, 0..4), class(0xffff, 4..8));
    // The one streams from memory; the other stays in its share of the LLC and keeps its bank busy.
    let stream = bandwidth(Access::Write, 4 << 20, 1);
    let in_llc = lists(Access::Read, 64 << 10, 6, 1);
    let (shared, _) = victim_beside(&platform, Some(&stream), None);
    assert!(shared.llc_misses > 0, "nothing to be protected from");
    for (mine, theirs) in [&ways, &colours] {
        let (alone, alone_ps) = victim_beside(&platform, None, Some((mine, theirs)));
        assert_eq!(alone.llc_misses, 0);
        for aggressor in [&stream, &in_llc] {
            let beside = victim_beside(&platform, Some(aggressor), Some((mine, theirs)));
            assert_eq!(beside.0.llc_misses, 0, "evicted in spite of its share");
            assert!(beside.1 > alone_ps, "the bank was never busy");
        }
    }
}

#[test]
fn a_share_bounds_what_its_owner_can_keep() {
    // 128 KiB do not fit into a quarter of the 512 KiB whose sets are filled
    // unevenly by pages at random, nor into an eighth; they fit into a half.
    let platform = board(4);
    let misses = |mine: &ClassOfService| {
        let (traffic, _) = victim_beside(&platform, None, Some((mine, mine)));
        traffic.llc_misses
    };
    for (half, eighth) in [
        (class(0x00ff, 0..8), class(0x0003, 0..8)),
        (class(0xffff, 0..4), class(0xffff, 0..1)),
    ] {
        assert_eq!(misses(&half), 0);
        // An LRU cache that is too small for a walk misses on every line it holds.
        let lines = 8 * (128 << 10) / LINE_BYTES;
        assert!(misses(&eighth) > lines / 2, "{}", misses(&eighth));
    }
}

#[test]
fn an_inclusive_llc_takes_lines_out_of_the_l1() {
    let llc_accesses = |inclusion| {
        let platform = board_with(4, |memory: &mut MemorySystem| {
            memory.llc.inclusion = inclusion;
        });
        let mut machine = ExactMachine::new(&platform, 1, LOOKAHEAD_PS).unwrap();
        let programs = [
            lists(Access::Read, 16 << 10, 1, 1),
            bandwidth(Access::Write, 4 << 20, 1),
        ];
        let streams = add_all(&mut machine, &programs, true);
        for (core, &stream) in (0..).zip(&streams) {
            machine.start(core, stream, 0);
        }
        machine.run_until(MS);
        let before = machine.traffic(0).total().llc_accesses;
        machine.run_until(10 * MS);
        machine.traffic(0).total().llc_accesses - before
    };
    assert_eq!(llc_accesses(Inclusion::NonInclusive), 0);
    assert!(llc_accesses(Inclusion::Inclusive) > 100);
}
