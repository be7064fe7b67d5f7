//! The schedulers where they differ, with the order of service known beforehand.

#[path = "common/devices.rs"]
mod devices;

use devices::{LINE_BYTES, ddr4_2400};
use ringfence_scenario::platform::Scheduler;
use ringfence_sim::machine::dram::address::Place;
use ringfence_sim::machine::dram::channel::{Channel, NewRequest};
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};

/// Bank, row and source of a read; its number is its place in the list.
type Read = (u8, u32, u16);

fn channel(scheduler: Scheduler) -> Channel {
    let mut dram = ddr4_2400();
    dram.timing.refi = 0;
    dram.controller.scheduler = scheduler;
    Channel::new(&dram, LINE_BYTES).unwrap()
}

fn send(channel: &mut Channel, at: Cycle, id: usize, (bank, row, source): Read) {
    let request = NewRequest {
        place: Place { bank, row },
        line: id as u64,
        id: id as u32,
        source,
    };
    assert_eq!(channel.read(at, request), None);
}

/// The order in which reads are served that are all there from the start.
fn order_of_service(scheduler: Scheduler, reads: &[Read]) -> Vec<u32> {
    let mut channel = channel(scheduler);
    for (id, &read) in reads.iter().enumerate() {
        send(&mut channel, 0, id, read);
    }
    let mut order = Vec::new();
    while order.len() < reads.len() {
        order.extend(channel.step(&mut ()).map(|done| done.id));
    }
    order
}

/// One read of row 1, one of row 2, and eight more of row 1.
fn miss_among_hits() -> Vec<Read> {
    let mut reads = vec![(0, 1, 0), (0, 2, 1)];
    reads.resize(10, (0, 1, 0));
    reads
}

#[test]
fn without_a_cap_hits_that_come_without_a_pause_go_before_an_older_miss() {
    let order = order_of_service(Scheduler::FrFcfs, &miss_among_hits());
    assert_eq!(order, [0, 2, 3, 4, 5, 6, 7, 8, 9, 1]);
}

#[test]
fn the_cap_is_the_number_of_hits_that_go_before_an_older_miss() {
    for (hits, expected) in [
        (1, [0, 2, 1, 3, 4, 5, 6, 7, 8, 9]),
        (4, [0, 2, 3, 4, 5, 1, 6, 7, 8, 9]),
    ] {
        let order = order_of_service(Scheduler::FrFcfsCap { hits }, &miss_among_hits());
        assert_eq!(order, expected);
    }
}

#[test]
fn a_source_that_is_served_too_often_in_a_row_waits_for_the_others() {
    let mut reads = vec![(0, 1, 0); 9];
    reads.push((0, 2, 1));
    let blacklist = |clear| Scheduler::Blacklist { streak: 4, clear };
    let order = order_of_service(blacklist(10_000), &reads);
    assert_eq!(order, [0, 1, 2, 3, 9, 4, 5, 6, 7, 8]);
    // Cleared before the other source's row can be opened.
    let order = order_of_service(blacklist(38), &reads);
    assert_eq!(order[..6], [0, 1, 2, 3, 4, 5]);
    // Without the list the row hits go first.
    let order = order_of_service(Scheduler::RowHitFirst, &reads);
    assert_eq!(order, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
}

/// Commands from clock 200 on, when an older read needs an activate and a younger one hits an open row.
fn activate_against_hit(scheduler: Scheduler) -> Vec<CommandKind> {
    let mut channel = channel(scheduler);
    send(&mut channel, 0, 0, (0, 1, 0));
    while channel.step(&mut ()).is_none() {}
    send(&mut channel, 200, 1, (4, 2, 0));
    send(&mut channel, 200, 2, (0, 1, 0));
    let mut trace: Vec<Command> = Vec::new();
    channel.step(&mut trace);
    channel.step(&mut trace);
    assert_eq!([trace[0].at, trace[1].at], [200, 201]);
    trace.into_iter().map(|command| command.kind).collect()
}

#[test]
fn only_row_hit_first_puts_a_younger_hit_before_an_older_activate() {
    let activate = CommandKind::Activate { row: 2 };
    for (scheduler, expected) in [
        (Scheduler::FrFcfs, [activate, CommandKind::Read]),
        (Scheduler::RowHitFirst, [CommandKind::Read, activate]),
    ] {
        assert_eq!(activate_against_hit(scheduler), expected);
    }
}
