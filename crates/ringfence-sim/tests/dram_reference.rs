//! The DRAM model against an outside simulator and against closed forms.

#[path = "common/devices.rs"]
mod devices;

use devices::{LINE_BYTES, ddr4_2400};
use ringfence_sim::bench::{ClosedLoop, LoadPattern};
use ringfence_sim::machine::dram::address::{Decoder, Place};
use ringfence_sim::machine::dram::channel::Channel;

/// Clocks for 1,000,000 reads after 20,000, from Ramulator 2.1 (FRFCFS).
const REFERENCE: [(LoadPattern, u32, u64); 6] = [
    (LoadPattern::Sequential, 1, 6_634_900),
    (LoadPattern::Sequential, 4, 4_212_767),
    (LoadPattern::Sequential, 8, 4_212_220),
    (LoadPattern::Random, 1, 16_417_285),
    (LoadPattern::Random, 4, 7_087_886),
    (LoadPattern::Random, 8, 6_929_534),
];

/// Clocks for 1,000,000 reads after 20,000.
fn closed_loop(pattern: LoadPattern, outstanding: u32) -> u64 {
    let mut load = ClosedLoop::new(&ddr4_2400(), pattern, outstanding).unwrap();
    load.run(20_000);
    load.run(1_000_000)
}

#[test]
fn closed_loop_reads_take_the_reference_clocks() {
    for (pattern, outstanding, reference) in REFERENCE {
        let clocks = closed_loop(pattern, outstanding);
        let error = clocks as f64 / reference as f64 - 1.0;
        println!(
            "{pattern:?}, {outstanding} outstanding: {clocks} clocks, {:+.4} %",
            error * 100.0
        );
        assert!(
            error.abs() < 0.0005,
            "{pattern:?}, {outstanding} outstanding: {clocks} clocks, reference {reference}"
        );
    }
}

/// Clocks from the arrival of the last of some reads, each sent when the one before it is done, to its data.
fn last_latency(places: &[Place]) -> u64 {
    let mut channel = Channel::new(&ddr4_2400(), LINE_BYTES).unwrap();
    let mut clock = 0;
    let mut latency = 0;
    for (id, &place) in places.iter().enumerate() {
        assert_eq!(channel.read(clock, place, id as u64, id as u32), None);
        let done = std::iter::repeat_with(|| channel.step(&mut ()))
            .flatten()
            .next()
            .unwrap();
        latency = done.at - clock;
        // Long enough for tRAS and tRTP to be over.
        clock = done.at + 100;
    }
    latency
}

#[test]
fn a_row_hit_takes_cl_and_the_burst() {
    let place = Place { bank: 3, row: 5 };
    assert_eq!(last_latency(&[place, place]), 17 + 4);
}

#[test]
fn a_closed_row_takes_an_activate_more() {
    assert_eq!(last_latency(&[Place { bank: 3, row: 5 }]), 17 + 17 + 4);
}

#[test]
fn a_row_conflict_takes_a_precharge_and_an_activate_more() {
    let places = [Place { bank: 3, row: 5 }, Place { bank: 3, row: 6 }];
    assert_eq!(last_latency(&places), 17 + 17 + 17 + 4);
}

#[test]
fn sequential_reads_lose_only_the_refreshes() {
    let t = ddr4_2400().timing;
    let clocks = closed_loop(LoadPattern::Sequential, 8) as f64;
    let lost = f64::from(t.rtp + t.rp + t.rfc + t.rcd) / f64::from(t.refi);
    let cap = 1_000_000.0 * f64::from(t.ccd_s) / (1.0 - lost);
    assert!(
        (clocks / cap - 1.0).abs() < 0.001,
        "{clocks} clocks, closed form {cap}"
    );
}

#[test]
fn random_reads_stay_below_the_four_activate_window() {
    let t = ddr4_2400().timing;
    let clocks = closed_loop(LoadPattern::Random, 8) as f64;
    let refresh = f64::from(t.rfc) / f64::from(t.refi);
    let cap = 1_000_000.0 / 4.0 * f64::from(t.faw) / (1.0 - refresh);
    assert!(clocks > cap, "{clocks} clocks, closed form {cap}");
    assert!(clocks < 1.05 * cap, "{clocks} clocks, closed form {cap}");
}

#[test]
fn address_maps_put_fields_where_they_say() {
    use ringfence_scenario::platform::AddressMap;
    let mut dram = ddr4_2400();
    // Neighbouring lines: the same row; another bank group; another bank group, all of them before the next column.
    for (map, neighbour) in [
        (AddressMap::ColumnGroupBankRow, Place { bank: 0, row: 0 }),
        (AddressMap::GroupColumnBankRow, Place { bank: 4, row: 0 }),
        (AddressMap::BankColumnRow, Place { bank: 4, row: 0 }),
    ] {
        dram.address_map = map;
        let decoder = Decoder::new(&dram, LINE_BYTES).unwrap();
        assert_eq!(decoder.place(1), neighbour);
        let lines = 1u64 << 16;
        let mut per_row = std::collections::BTreeMap::new();
        for line in 0..lines {
            let place = decoder.place(line);
            *per_row.entry((place.bank, place.row)).or_insert(0u64) += 1;
        }
        assert!(
            per_row
                .values()
                .all(|&lines| lines == decoder.lines_per_row())
        );
    }
}
