//! The DRAM model against an outside simulator and against closed forms.

#[path = "common/devices.rs"]
mod devices;

use devices::{LINE_BYTES, ddr4_2400, dram};
use ringfence_scenario::platform::Dram;
use ringfence_sim::bench::{self, DramBench, DramLoad, LoadPattern, bandwidth_cap};
use ringfence_sim::machine::dram::address::{Decoder, Place};
use ringfence_sim::machine::dram::channel::{Channel, NewRequest};
use ringfence_sim::machine::dram::command::{Command, CommandKind};

/// Clocks for 1,000,000 reads after 20,000, and their mean latency in
/// nanoseconds to one decimal, from Ramulator 2.1 (FRFCFS).
const REFERENCE: [(LoadPattern, u32, u64, f64); 6] = [
    (LoadPattern::Sequential, 1, 6_634_900, 21.3),
    (LoadPattern::Sequential, 4, 4_212_767, 55.3),
    (LoadPattern::Sequential, 8, 4_212_220, 111.4),
    (LoadPattern::Random, 1, 16_417_285, 53.9),
    (LoadPattern::Random, 4, 7_087_886, 93.6),
    (LoadPattern::Random, 8, 6_929_534, 183.9),
];

/// 1,000,000 reads after 20,000.
fn closed_loop(pattern: LoadPattern, outstanding: u32) -> DramBench {
    let load = DramLoad::reference(pattern, outstanding);
    bench::dram(&ddr4_2400(), &load, 20_000, 1_000_000).unwrap()
}

#[test]
fn closed_loop_reads_take_the_reference_clocks_and_latency() {
    for (pattern, outstanding, reference, latency_ns) in REFERENCE {
        let figures = closed_loop(pattern, outstanding);
        let clocks = figures.clocks;
        let error = clocks as f64 / reference as f64 - 1.0;
        println!(
            "{pattern:?}, {outstanding} outstanding: {clocks} clocks, {:+.4} %, {:.1} ns",
            error * 100.0,
            figures.mean_latency_ns
        );
        assert!(
            error.abs() < 0.0005,
            "{pattern:?}, {outstanding} outstanding: {clocks} clocks, reference {reference}"
        );
        // The reference is rounded to a tenth.
        assert!((figures.mean_latency_ns - latency_ns).abs() < 0.1);
    }
}

/// Read bandwidths in GB/s of the same victim under two public simulators. The
/// reference names neither the load nor which figure is whose, so the span is all
/// that can be held; the mixed load is the one that has a victim.
const VICTIM_SPAN: [f64; 2] = [4.08, 5.43];

#[test]
fn the_random_requestor_among_streams_is_in_the_span_of_the_references() {
    let figures = closed_loop(LoadPattern::Mixed, 8);
    let victim = figures.requestors[0].read_bytes_per_s / 1e9;
    println!("random requestor among three streams: {victim:.2} GB/s");
    let [least, most] = VICTIM_SPAN;
    assert!((least * 0.97..most * 1.03).contains(&victim), "{victim}");
}

const FAMILIES: [&str; 7] = [
    "ddr3-1600",
    "ddr4-2400",
    "ddr4-2400-reference",
    "ddr4-3200",
    "lpddr2-1066",
    "lpddr3-1600",
    "lpddr4-3200",
];

/// Clocks from the arrival of the last of some reads, each sent when the one before it is done, to its data.
fn last_latency(dram: &Dram, places: &[Place]) -> u64 {
    let mut channel = Channel::new(dram, LINE_BYTES).unwrap();
    let mut clock = 0;
    let mut latency = 0;
    for (id, &place) in places.iter().enumerate() {
        let request = NewRequest {
            place,
            line: id as u64,
            id: id as u32,
            source: 0,
        };
        assert_eq!(channel.read(clock, request), None);
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

/// Clocks from the last clock of a line's first column command to the line's last data.
fn data_clocks(dram: &Dram) -> u32 {
    let t = &dram.timing;
    let bursts = LINE_BYTES / dram.burst_bytes;
    t.cl + (bursts - 1) * t.ccd_l + t.burst
}

#[test]
fn idle_latencies_are_those_of_the_timings() {
    let row = |row| Place { bank: 3, row };
    for name in FAMILIES {
        let dram = dram(name);
        let t = &dram.timing;
        // The first command's own clocks come first; timings count from its last clock.
        let hit = u64::from(t.column_clocks - 1 + data_clocks(&dram));
        let closed = u64::from(t.activate_clocks - 1 + t.rcd + data_clocks(&dram));
        let conflict = u64::from(t.precharge_clocks - 1 + t.rp + t.rcd + data_clocks(&dram));
        assert_eq!(
            last_latency(&dram, &[row(5), row(5)]),
            hit,
            "{name}: row hit"
        );
        assert_eq!(last_latency(&dram, &[row(5)]), closed, "{name}: closed row");
        assert_eq!(
            last_latency(&dram, &[row(5), row(6)]),
            conflict,
            "{name}: row conflict"
        );
    }
}

#[test]
fn the_reference_device_has_the_latencies_of_the_reference() {
    let row = |row| Place { bank: 3, row };
    assert_eq!(last_latency(&ddr4_2400(), &[row(5), row(5)]), 21);
    assert_eq!(last_latency(&ddr4_2400(), &[row(5), row(6)]), 55);
}

#[test]
fn both_caps_are_those_of_the_reference() {
    let gigabytes = |pattern| bandwidth_cap(&ddr4_2400(), pattern) / 1e9;
    let peak = 64.0 / (4.0 * 0.833);
    let sequential = peak * (1.0 - (9.0 + 17.0 + 433.0 + 17.0) / 9364.0);
    let random = 4.0 * 64.0 / (26.0 * 0.833) * (1.0 - 433.0 / 9364.0);
    assert!((gigabytes(LoadPattern::Sequential) - sequential).abs() < 1e-6);
    assert!((gigabytes(LoadPattern::Random) - random).abs() < 1e-6);
    // As printed in the reference.
    assert_eq!(format!("{sequential:.2} {random:.2}"), "18.23 11.27");
}

/// Commands of `reads` reads that are sent as soon as there is room for them.
fn commands(dram: &Dram, reads: impl Iterator<Item = Place>) -> Vec<Command> {
    let mut channel = Channel::new(dram, LINE_BYTES).unwrap();
    let mut trace = Vec::new();
    let mut in_flight = 0;
    for (id, place) in reads.enumerate() {
        while !channel.has_room_for_read() {
            in_flight -= i32::from(channel.step(&mut trace).is_some());
        }
        let request = NewRequest {
            place,
            line: id as u64,
            id: id as u32,
            source: 0,
        };
        let now = trace.last().map_or(0, |last: &Command| last.at);
        assert_eq!(channel.read(now, request), None);
        in_flight += 1;
    }
    while in_flight > 0 {
        in_flight -= i32::from(channel.step(&mut trace).is_some());
    }
    trace
}

#[test]
fn a_refresh_takes_exactly_what_the_sequential_cap_takes_off() {
    let dram = ddr4_2400();
    let trace = commands(&dram, (0..8000).map(|_| Place { bank: 3, row: 5 }));
    let refresh = trace
        .iter()
        .position(|command| command.kind == CommandKind::Refresh)
        .unwrap();
    // Read, precharge, refresh, activate, read.
    let [before, after] = [&trace[refresh - 2], &trace[refresh + 2]];
    assert_eq!([before.kind, after.kind], [CommandKind::Read; 2]);
    let t = &dram.timing;
    assert_eq!(
        after.at - before.at,
        u64::from(t.rtp + t.rp + t.rfc + t.rcd)
    );
}

#[test]
fn a_refresh_of_one_bank_leaves_the_others_at_work() {
    let dram = dram("lpddr4-3200");
    let t = &dram.timing;
    let trace = commands(&dram, (0..2000).map(|_| Place { bank: 7, row: 5 }));
    let is_refresh = |command: &Command| command.kind == CommandKind::RefreshBank;
    let refreshes: Vec<&Command> = trace.iter().filter(|&c| is_refresh(c)).take(8).collect();
    // The banks in turn, one each eighth of tREFI, as soon as the bus is free.
    let interval = u64::from(t.refi / 8);
    let bus = u64::from(t.column_clocks + t.precharge_clocks);
    for (bank, refresh) in refreshes.iter().enumerate().take(7) {
        let late = refresh.at - interval * (bank as u64 + 1);
        assert_eq!(usize::from(refresh.bank), bank);
        assert!(late < bus, "bank {bank}: {late} clocks late");
    }
    // Until it is its own turn the bank that is read goes on without a pause.
    let reads: Vec<&Command> = trace
        .iter()
        .filter(|command| command.kind == CommandKind::Read)
        .collect();
    let before = reads.partition_point(|read| read.at < 8 * interval);
    assert!(before > 700, "{before} reads");
    for pair in reads[..before].windows(2) {
        assert!(pair[1].at - pair[0].at <= u64::from(t.ccd_s + t.precharge_clocks));
    }
    // Then it is closed and refreshed.
    let gap = reads[before..].windows(2).map(|p| p[1].at - p[0].at).max();
    assert!(gap >= Some(u64::from(t.rp + t.rfc_bank + t.rcd)));
}

#[test]
fn rows_open_exactly_as_fast_as_the_random_cap_says() {
    let mut dram = ddr4_2400();
    dram.timing.refi = 0;
    // Another bank group each time, another row each round.
    let reads = (0..4000).map(|n| Place {
        bank: ((n % 4) * 4 + n / 4 % 4) as u8,
        row: n / 16,
    });
    let trace = commands(&dram, reads);
    let is_activate = |command: &&Command| matches!(command.kind, CommandKind::Activate { .. });
    let activates: Vec<u64> = trace.iter().filter(is_activate).map(|c| c.at).collect();
    assert_eq!(activates.len(), 4000);
    // From the second round on the window is all that counts.
    let (first, last) = (activates[100], activates[3900]);
    assert_eq!(last - first, 3800 / 4 * u64::from(dram.timing.faw));
}

#[test]
fn sequential_reads_lose_only_the_refreshes() {
    let figures = closed_loop(LoadPattern::Sequential, 8);
    let ratio = figures.achieved_bytes_per_s / figures.cap_bytes_per_s;
    assert!((ratio - 1.0).abs() < 0.001, "{ratio} of the cap");
}

#[test]
fn random_reads_stay_below_the_four_activate_window() {
    let figures = closed_loop(LoadPattern::Random, 8);
    let ratio = figures.achieved_bytes_per_s / figures.cap_bytes_per_s;
    assert!((0.95..1.0).contains(&ratio), "{ratio} of the cap");
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
