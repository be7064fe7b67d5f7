//! The controller's commands under random traffic, checked by an independent reader of the rules.

#[path = "common/devices.rs"]
mod devices;
#[path = "common/rules.rs"]
mod rules;

use std::collections::BTreeSet;

use devices::{LINE_BYTES, ddr4_2400, dram};
use proptest::prelude::*;
use ringfence_scenario::platform::{AddressMap, Dram, RefreshMode, Scheduler};
use ringfence_sim::machine::dram::address::Decoder;
use ringfence_sim::machine::dram::channel::{Channel, NewRequest};
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};
use ringfence_sim::random::SplitMix64;
use rules::violations;

/// A request of the random traffic.
#[derive(Debug, Clone, Copy)]
struct Request {
    /// Clocks after the one before it.
    gap: u16,
    line: u64,
    write: bool,
    source: u16,
}

/// Lines in a few rows of every bank, so that hits, conflicts and turnarounds are all frequent.
fn request() -> impl Strategy<Value = Request> {
    let line = (0u64..4, 0u64..32, 0u64..128)
        .prop_map(|(row, bank, column)| (row << 12) | (bank << 7) | column);
    let gap = prop_oneof![8 => 0u16..4, 2 => 0u16..80, 1 => 0u16..2000];
    (gap, line, prop::bool::weighted(0.4), 0u16..4).prop_map(|(gap, line, write, source)| Request {
        gap,
        line,
        write,
        source,
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
        let new = NewRequest {
            place: decoder.place(request.line),
            line: request.line,
            id: id as u32,
            source: request.source,
        };
        if request.write {
            channel.write(clock, new);
        } else if let Some(forwarded) = channel.read(clock, new) {
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

/// A family with two ranks, and refreshes often enough to be seen.
fn device(name: &str) -> Dram {
    let mut device = dram(name);
    device.ranks = 2;
    let t = &mut device.timing;
    t.rfc = t.rfc.min(100);
    t.rfc_bank = t.rfc_bank.min(100);
    let refreshes = if device.refresh == RefreshMode::PerBank {
        device.bank_groups * device.banks_per_group
    } else {
        1
    };
    t.refi = 1500.max(refreshes * 300);
    device
}

const FAMILIES: [&str; 6] = [
    "ddr3-1600",
    "ddr4-2400",
    "ddr4-3200",
    "lpddr2-1066",
    "lpddr3-1600",
    "lpddr4-3200",
];

const SCHEDULERS: [Scheduler; 4] = [
    Scheduler::FrFcfs,
    Scheduler::FrFcfsCap { hits: 2 },
    Scheduler::RowHitFirst,
    Scheduler::Blacklist {
        streak: 2,
        clear: 700,
    },
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn random_traffic_breaks_no_rule(
        traffic in traffic(),
        family in prop::sample::select(&FAMILIES[..]),
        scheduler in prop::sample::select(&SCHEDULERS[..]),
        map in prop::sample::select(vec![
            AddressMap::ColumnGroupBankRow,
            AddressMap::GroupColumnBankRow,
            AddressMap::BankColumnRow,
        ]),
        refresh in prop::sample::select(vec![RefreshMode::AllBanks, RefreshMode::PerBank]),
        is_hashed in any::<bool>(),
    ) {
        let mut dram = device(family);
        dram.controller.scheduler = scheduler;
        dram.address_map = map;
        if dram.timing.rfc_bank > 0 {
            dram.refresh = refresh;
        }
        if is_hashed {
            dram.bank_xor = vec![1 << 20, 1 << 21];
        }
        prop_assert_eq!(violations(&dram, &commands(&dram, &traffic)), BTreeSet::new());
    }
}

/// Random traffic of its own, long enough that every rule is the binding one somewhere.
fn long_traffic() -> Vec<Request> {
    let mut random = SplitMix64::new(7);
    (0..20_000)
        .map(|_| {
            let (row, bank, column) = (random.below(4), random.below(32), random.below(128));
            let gap = match random.below(20) {
                0..16 => random.below(4),
                16..19 => random.below(80),
                _ => random.below(800),
            };
            Request {
                gap: gap as u16,
                line: (row << 12) | (bank << 7) | column,
                write: random.below(10) < 4,
                source: random.below(4) as u16,
            }
        })
        .collect()
}

/// Breaks `rule` in the model of every device that has it; the checker must see that.
fn is_caught(rule: &str, devices: &[Dram], break_it: fn(&mut Dram)) {
    let traffic = long_traffic();
    for dram in devices {
        let mut broken = dram.clone();
        break_it(&mut broken);
        let found = violations(dram, &commands(&broken, &traffic));
        assert!(
            found.contains(rule),
            "{}: {rule} is broken, found only {found:?}",
            dram.name
        );
    }
}

fn devices(names: &[&str]) -> Vec<Dram> {
    names.iter().map(|name| device(name)).collect()
}

fn all() -> Vec<Dram> {
    devices(&FAMILIES)
}

/// The families in which refreshes are for all banks, or can be.
fn all_banks_at_once(names: &[&str]) -> Vec<Dram> {
    let mut devices = devices(names);
    for dram in &mut devices {
        dram.refresh = RefreshMode::AllBanks;
    }
    devices
}

/// Bank groups tell short distances from long ones; without groups both are one rule.
fn is_flat(dram: &Dram) -> bool {
    dram.bank_groups == 1
}

const BANK_GROUPS: [&str; 2] = ["ddr4-2400", "ddr4-3200"];
const PER_BANK: [&str; 3] = ["lpddr2-1066", "lpddr3-1600", "lpddr4-3200"];
const LPDDR4: [&str; 1] = ["lpddr4-3200"];

/// A test for each rule: its name, the families that have it, and how it is broken.
macro_rules! rules_are_caught {
    ($($test:ident: $rule:literal, $families:expr, $break_it:expr;)*) => {
        $(
            #[test]
            fn $test() {
                is_caught($rule, &$families, $break_it);
            }
        )*
    };
}

rules_are_caught! {
    rcd_is_caught: "tRCD", all(), |d| d.timing.rcd -= 1;
    ras_is_caught: "tRAS", all(), |d| d.timing.ras -= 1;
    rp_is_caught: "tRP", all(), |d| d.timing.rp -= 1;
    rp_all_is_caught: "tRPab", all_banks_at_once(&FAMILIES), |d| d.timing.rp_all -= 1;
    rc_is_caught: "tRC", all(), |d| d.timing.ras -= 1;
    ppd_is_caught: "tPPD", devices(&LPDDR4), |d| d.timing.ppd -= 1;
    rrd_l_is_caught: "tRRD_L", all(), |d| {
        d.timing.rrd_l -= 1;
        if is_flat(d) {
            d.timing.rrd_s -= 1;
        }
    };
    rrd_s_is_caught: "tRRD_S", devices(&BANK_GROUPS), |d| d.timing.rrd_s -= 1;
    rrd_of_refreshes_is_caught: "tRRD of refreshes", devices(&PER_BANK), |d| d.timing.rrd_s -= 1;
    // Four activates of LPDDR4 fill their window by tRRD alone.
    faw_is_caught: "tFAW", all(), |d| {
        d.timing.faw -= 1;
        d.timing.rrd_s = d.timing.rrd_s.min(d.timing.faw / 4);
        d.timing.rrd_l = d.timing.rrd_l.min(d.timing.faw / 4);
    };
    ccd_l_is_caught: "tCCD_L", all(), |d| {
        d.timing.ccd_l -= 1;
        if is_flat(d) {
            (d.timing.ccd_s, d.timing.burst) = (d.timing.ccd_s - 1, d.timing.burst - 1);
        }
    };
    ccd_s_is_caught: "tCCD_S", devices(&BANK_GROUPS), |d| {
        (d.timing.ccd_s, d.timing.burst) = (d.timing.ccd_s - 1, d.timing.burst - 1);
    };
    rtp_is_caught: "tRTP", all(), |d| d.timing.rtp -= 1;
    wr_is_caught: "tWR", all(), |d| d.timing.wr -= 1;
    wtr_l_is_caught: "tWTR_L", all(), |d| {
        d.timing.wtr_l -= 1;
        if is_flat(d) {
            d.timing.wtr_s -= 1;
        }
    };
    wtr_s_is_caught: "tWTR_S", devices(&BANK_GROUPS), |d| d.timing.wtr_s -= 1;
    turnaround_is_caught: "turnaround", all(), |d| d.timing.turnaround -= 1;
    rfc_is_caught: "tRFC", all_banks_at_once(&FAMILIES), |d| d.timing.rfc -= 1;
    rfc_bank_is_caught: "tRFCpb", devices(&PER_BANK), |d| d.timing.rfc_bank -= 1;
    refi_is_caught: "tREFI", all(), |d| d.timing.refi *= 3;
    command_bus_is_caught: "command bus", devices(&LPDDR4), |d| d.timing.column_clocks -= 1;
    refresh_mode_is_caught: "row state", devices(&PER_BANK), |d| d.refresh = RefreshMode::AllBanks;
}

#[test]
fn bank_functions_keep_every_place_apart() {
    let mut dram = ddr4_2400();
    dram.bank_xor = vec![1 << 17, 1 << 18, (1 << 19) | (1 << 7), 1 << 20];
    let decoder = Decoder::new(&dram, LINE_BYTES).unwrap();
    let mut per_place = std::collections::BTreeMap::new();
    for line in 0..1u64 << 17 {
        let place = decoder.place(line);
        *per_place.entry((place.bank, place.row)).or_insert(0u64) += 1;
    }
    assert!(
        per_place
            .values()
            .all(|&lines| lines == decoder.lines_per_row())
    );
    assert_eq!(per_place.len(), 1 << 10);
}

#[test]
fn the_bits_of_the_banks_number_are_where_the_platform_says() {
    for map in [
        AddressMap::ColumnGroupBankRow,
        AddressMap::GroupColumnBankRow,
        AddressMap::BankColumnRow,
    ] {
        let mut dram = device("ddr4-2400");
        dram.address_map = map;
        let decoder = Decoder::new(&dram, LINE_BYTES).unwrap();
        let bits = dram.bank_address_bits(LINE_BYTES);
        let banks = bits
            .iter()
            .map(|bit| decoder.place((1 << bit) / u64::from(LINE_BYTES)).bank);
        assert!(banks.eq([1, 2, 4, 8, 16]));
    }
}
