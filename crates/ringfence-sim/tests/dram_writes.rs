//! Writes: turnaround of the data bus and drains of the write queue, by closed forms.
//!
//! All requests are for one open row, so that only column commands are issued
//! and each distance between them follows from the timings.

#[path = "common/devices.rs"]
mod devices;

use devices::{LINE_BYTES, ddr4_2400, dram};
use ringfence_scenario::platform::Dram;
use ringfence_sim::bench::{self, DramLoad, LoadPattern};
use ringfence_sim::machine::dram::address::Place;
use ringfence_sim::machine::dram::channel::{Channel, NewRequest, ReadDone};
use ringfence_sim::machine::dram::command::{Command, CommandKind, Cycle};

const FAMILIES: [&str; 7] = [
    "ddr3-1600",
    "ddr4-2400",
    "ddr4-2400-reference",
    "ddr4-3200",
    "lpddr2-1066",
    "lpddr3-1600",
    "lpddr4-3200",
];
const BANK: u8 = 0;
const ROW: u32 = 5;

/// A channel with [`ROW`] open, and what it is asked.
struct Bench {
    channel: Channel,
    trace: Vec<Command>,
    requests: u64,
}

impl Bench {
    /// The channel of `dram` without refreshes, idle with the row open in `banks`.
    fn new(dram: &Dram, banks: &[u8]) -> Self {
        let mut dram = dram.clone();
        dram.timing.refi = 0;
        let mut bench = Self {
            channel: Channel::new(&dram, LINE_BYTES).unwrap(),
            trace: Vec::new(),
            requests: 0,
        };
        for (round, &bank) in banks.iter().enumerate() {
            bench.read(1000 * round as Cycle, bank);
            while bench.step().is_none() {}
        }
        bench.trace.clear();
        bench
    }

    /// Another line of the row each time, so that no read is answered from a write.
    fn request(&mut self, bank: u8) -> NewRequest {
        self.requests += 1;
        NewRequest {
            place: Place { bank, row: ROW },
            line: self.requests,
            id: 0,
            source: 0,
        }
    }

    fn read(&mut self, at: Cycle, bank: u8) {
        let request = self.request(bank);
        assert_eq!(self.channel.read(at, request), None);
    }

    fn write(&mut self, at: Cycle, bank: u8) {
        let request = self.request(bank);
        self.channel.write(at, request);
    }

    fn step(&mut self) -> Option<ReadDone> {
        self.channel.step(&mut self.trace)
    }

    /// Clock of the last command.
    fn last(&self) -> Cycle {
        self.trace.last().unwrap().at
    }
}

/// Column commands of a line.
fn bursts(dram: &Dram) -> u32 {
    LINE_BYTES / dram.burst_bytes
}

/// Clocks from the last column command of a write in bank 0 to the read of a line in `bank`.
fn write_to_read(dram: &Dram, bank: u8) -> u32 {
    let mut bench = Bench::new(dram, &[BANK, bank]);
    bench.write(10_000, BANK);
    for _ in 0..bursts(dram) {
        bench.step();
    }
    let write = bench.last();
    bench.read(write + 1, bank);
    bench.step();
    (bench.last() - write) as u32
}

/// Clocks from the last column command of a read in bank 0 to the write of a line in `bank`.
fn read_to_write(dram: &Dram, bank: u8) -> u32 {
    let mut bench = Bench::new(dram, &[BANK, bank]);
    bench.read(10_000, BANK);
    while bench.step().is_none() {}
    let read = bench.last();
    bench.write(read + 1, bank);
    bench.step();
    (bench.last() - read) as u32
}

#[test]
fn the_bus_turns_around_exactly_as_the_timings_say() {
    for name in FAMILIES {
        let dram = dram(name);
        let t = &dram.timing;
        let after_write = t.cwl + t.burst;
        let after_read = t.cl + t.burst + t.turnaround - t.cwl;
        assert_eq!(write_to_read(&dram, BANK), after_write + t.wtr_l, "{name}");
        assert_eq!(read_to_write(&dram, BANK), after_read, "{name}");
        if dram.bank_groups > 1 {
            let other_group = dram.banks_per_group as u8;
            let short = after_write + t.wtr_s;
            assert_eq!(write_to_read(&dram, other_group), short, "{name}");
            assert_eq!(read_to_write(&dram, other_group), after_read, "{name}");
        }
    }
}

#[test]
fn writes_wait_below_the_high_watermark_and_are_drained_to_the_low_one() {
    let dram = ddr4_2400();
    let controller = dram.controller;
    let mut bench = Bench::new(&dram, &[BANK]);
    for _ in 0..controller.read_queue {
        bench.read(10_000, BANK);
    }
    for _ in 1..controller.write_high {
        bench.write(10_000, BANK);
    }
    for _ in 0..10 {
        assert!(bench.step().is_some(), "reads go first");
    }
    let now = bench.last();
    bench.write(now, BANK);
    for _ in 0..controller.write_high - controller.write_low {
        assert!(bench.step().is_none(), "writes are drained");
    }
    assert!(bench.step().is_some(), "reads again");
    let is_write = |command: &&Command| command.kind == CommandKind::Write;
    assert_eq!(bench.trace.iter().filter(is_write).count(), 20);
}

#[test]
fn without_reads_all_writes_are_drained() {
    for name in FAMILIES {
        let dram = dram(name);
        let mut bench = Bench::new(&dram, &[BANK]);
        bench.write(10_000, BANK);
        bench.write(10_000, BANK);
        while bench.channel.counts().written < 2 {
            bench.step();
        }
        // One line after the other, at once.
        let t = &dram.timing;
        let expected = 10_000 + u64::from((2 * bursts(&dram) - 1) * t.ccd_l);
        assert_eq!(bench.last(), expected, "{name}");
    }
}

/// One write for each read, the read queue full: batches of reads and writes in
/// turn, `write_high - write_low` of each, with one turnaround each way.
#[test]
fn a_steady_mix_of_row_hits_has_the_period_of_its_batches() {
    for name in FAMILIES {
        let dram = dram(name);
        let (t, controller) = (&dram.timing, dram.controller);
        let mut bench = Bench::new(&dram, &[BANK]);
        for _ in 0..controller.read_queue {
            bench.read(10_000, BANK);
        }
        while bench.trace.len() < 4000 {
            if bench.step().is_some() {
                let now = bench.last();
                bench.read(now, BANK);
                bench.write(now, BANK);
            }
        }
        let batch = (controller.write_high - controller.write_low) * bursts(&dram);
        let to_write = t.cl + t.burst + t.turnaround - t.cwl;
        let to_read = t.cwl + t.burst + t.wtr_l;
        let period = 2 * (batch - 1) * t.ccd_l + to_write + to_read;
        let drains: Vec<Cycle> = bench
            .trace
            .windows(2)
            .filter(|pair| (pair[0].kind, pair[1].kind) == (CommandKind::Read, CommandKind::Write))
            .map(|pair| pair[1].at)
            .collect();
        assert!(drains.len() > 20, "{name}");
        for pair in drains.windows(2) {
            assert_eq!(pair[1] - pair[0], u64::from(period), "{name}");
        }
    }
}

#[test]
fn written_loads_have_their_share_of_writes_and_stay_below_the_cap() {
    for pattern in [
        LoadPattern::Sequential,
        LoadPattern::Random,
        LoadPattern::Mixed,
    ] {
        for write_percent in [10, 33, 50] {
            let load = DramLoad {
                write_percent,
                ..DramLoad::reference(pattern, 8)
            };
            let figures = bench::dram(&ddr4_2400(), &load, 20_000, 100_000).unwrap();
            let requests = figures.reads + figures.writes;
            // Writes that wait in queues at the start and at the end.
            let waiting = 100.0 / requests as f64;
            let share = figures.writes as f64 / requests as f64;
            assert!(
                (share - f64::from(write_percent) / 100.0).abs() < waiting,
                "{pattern:?}: {share} of {write_percent} %"
            );
            let of_cap = figures.achieved_bytes_per_s / figures.cap_bytes_per_s;
            assert!((0.4..1.0).contains(&of_cap), "{pattern:?}: {of_cap}");
        }
    }
}

#[test]
fn a_read_of_a_line_whose_write_waits_gets_what_is_written() {
    let dram = ddr4_2400();
    let mut bench = Bench::new(&dram, &[BANK]);
    bench.read(10_000, BANK);
    let write = bench.request(BANK);
    bench.channel.write(10_000, write);
    let hit = u64::from(dram.timing.cl + dram.timing.burst);
    let same_line = NewRequest { id: 7, ..write };
    assert_eq!(
        bench.channel.read(10_000, same_line),
        Some(ReadDone {
            id: 7,
            at: 10_000 + hit
        })
    );
    while bench.channel.counts().written == 0 {
        bench.step();
    }
    assert_eq!(bench.channel.read(bench.last() + 1, same_line), None);
}
