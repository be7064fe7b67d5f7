//! The controller's commands under random traffic, checked by an independent reader of the rules.

#[path = "common/devices.rs"]
mod devices;
#[path = "common/rules.rs"]
mod rules;

use std::collections::BTreeSet;

use devices::{LINE_BYTES, ddr4_2400};
use proptest::prelude::*;
use ringfence_scenario::platform::{AddressMap, Dram, DramTiming};
use ringfence_sim::machine::dram::address::Decoder;
use ringfence_sim::machine::dram::channel::Channel;
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};
use rules::violations;

/// A request of the random traffic.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Clocks after the one before it.
    gap: u16,
    line: u64,
    write: bool,
}

/// Lines in a few rows of every bank, so that hits, conflicts and turnarounds are all frequent.
fn request() -> impl Strategy<Value = Request> {
    let line = (0u64..4, 0u64..32, 0u64..128)
        .prop_map(|(row, bank, column)| (row << 12) | (bank << 7) | column);
    let gap = prop_oneof![8 => 0u16..4, 2 => 0u16..80, 1 => 0u16..2000];
    (gap, line, prop::bool::weighted(0.4)).prop_map(|(gap, line, write)| Request {
        gap,
        line,
        write,
    })
}

fn traffic() -> impl Strategy<Value = Vec<Request>> {
    prop::collection::vec(request(), 200..600)
}

/// Runs the traffic until everything is answered and written; panics when a read comes from a wrong row.
fn commands(dram: &Dram, traffic: &[Request]) -> Vec<Command> {
    let decoder = Decoder::new(dram, LINE_BYTES).unwrap();
    let mut channel = Channel::new(dram, LINE_BYTES).unwrap();
    let mut trace = Vec::new();
    let mut open_rows = [None; 64];
    let mut answered = vec![false; traffic.len()];
    let mut step = |channel: &mut Channel, answered: &mut Vec<bool>| {
        let done = channel.step(&mut trace);
        if let Some(&Command {
            kind: CommandKind::Activate { row },
            bank,
            ..
        }) = trace.last()
        {
            open_rows[usize::from(bank)] = Some(row);
        }
        if let Some(read) = done {
            let place = decoder.place(traffic[read.id as usize].line);
            let command = trace.last().unwrap();
            assert_eq!(
                (command.kind, command.bank),
                (CommandKind::Read, place.bank)
            );
            assert_eq!(open_rows[usize::from(place.bank)], Some(place.row));
            assert!(!std::mem::replace(&mut answered[read.id as usize], true));
        }
    };
    let mut clock: Cycle = 0;
    for (id, request) in traffic.iter().enumerate() {
        clock += Cycle::from(request.gap);
        let room = |channel: &Channel| {
            if request.write {
                channel.has_room_for_write()
            } else {
                channel.has_room_for_read()
            }
        };
        while channel.next_event() < clock || !room(&channel) {
            clock = clock.max(channel.next_event());
            step(&mut channel, &mut answered);
        }
        let place = decoder.place(request.line);
        if request.write {
            channel.write(clock, place, request.line);
        } else if let Some(forwarded) = channel.read(clock, place, request.line, id as u32) {
            assert!(!std::mem::replace(
                &mut answered[forwarded.id as usize],
                true
            ));
        }
    }
    while channel.counts().written < channel.counts().writes
        || answered
            .iter()
            .zip(traffic)
            .any(|(answered, request)| !answered && !request.write)
    {
        step(&mut channel, &mut answered);
    }
    trace
}

/// The reference device with two ranks, a refresh often enough to be seen, and one of the address maps.
fn device(map: AddressMap) -> Dram {
    let mut dram = ddr4_2400();
    dram.ranks = 2;
    dram.address_map = map;
    (dram.timing.rfc, dram.timing.refi) = (100, 1500);
    dram
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn random_traffic_breaks_no_rule(
        traffic in traffic(),
        map in prop::sample::select(vec![
            AddressMap::ColumnGroupBankRow,
            AddressMap::GroupColumnBankRow,
            AddressMap::BankColumnRow,
        ]),
        half_line_bursts in any::<bool>(),
    ) {
        let mut dram = device(map);
        if half_line_bursts {
            dram.burst_bytes = LINE_BYTES / 2;
        }
        prop_assert_eq!(violations(&dram, &commands(&dram, &traffic)), BTreeSet::new());
    }
}

/// Random traffic of its own, long enough that every rule is the binding one somewhere.
fn long_traffic() -> Vec<Request> {
    let mut random = ringfence_sim::random::SplitMix64::new(7);
    (0..6_000)
        .map(|_| {
            let (row, bank, column) = (random.below(4), random.below(32), random.below(128));
            let gap = if random.below(10) < 8 {
                random.below(4)
            } else {
                random.below(80)
            };
            Request {
                gap: gap as u16,
                line: (row << 12) | (bank << 7) | column,
                write: random.below(10) < 4,
            }
        })
        .collect()
}

/// Makes a timing wrong.
type Break = fn(&mut DramTiming);

#[test]
fn the_checker_catches_every_rule_when_it_is_broken() {
    let breaks: [(&str, Break); 15] = [
        ("tRCD", |t| t.rcd -= 1),
        ("tRAS", |t| t.ras -= 1),
        ("tRP", |t| t.rp -= 1),
        ("tRRD_L", |t| t.rrd_l -= 1),
        ("tRRD_S", |t| t.rrd_s -= 1),
        ("tFAW", |t| t.faw -= 1),
        ("tCCD_L", |t| t.ccd_l -= 1),
        ("tCCD_S", |t| {
            (t.ccd_s, t.burst) = (t.ccd_s - 1, t.burst - 1)
        }),
        ("tRTP", |t| t.rtp -= 1),
        ("tWR", |t| t.wr -= 1),
        ("tWTR_L", |t| t.wtr_l -= 1),
        ("tWTR_S", |t| t.wtr_s -= 1),
        ("turnaround", |t| t.turnaround -= 1),
        ("tRFC", |t| t.rfc -= 1),
        ("tREFI", |t| t.refi *= 3),
    ];
    let dram = device(AddressMap::GroupColumnBankRow);
    let traffic = long_traffic();
    for (rule, break_it) in breaks {
        let mut broken = dram.clone();
        break_it(&mut broken.timing);
        let trace = commands(&broken, &traffic);
        let found = violations(&dram, &trace);
        assert!(
            found.contains(rule),
            "{rule} is broken, found only {found:?}"
        );
    }
}
