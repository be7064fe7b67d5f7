//! The platforms that come with ringfence.

use ringfence_scenario::platform::{Dram, Platform};
use ringfence_scenario::{DRAMS, PLATFORMS, load_dram, load_platform};

fn platform(name: &str) -> Platform {
    load_platform(name).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

fn dram(name: &str) -> Dram {
    platform(name).memory.unwrap().dram
}

#[test]
fn names_are_sorted_and_match_the_files() {
    let names: Vec<&str> = PLATFORMS.iter().map(|platform| platform.name).collect();
    assert!(names.is_sorted());
    for name in names {
        assert_eq!(platform(name).name, name);
    }
}

#[test]
fn capacities_are_those_of_the_boards() {
    for (name, gibibytes) in [
        ("celeron-j3455", 4),
        ("jetson-nano", 4),
        ("jetson-tx2", 8),
        ("raspberry-pi-3", 1),
        ("raspberry-pi-4", 4),
        ("zcu104", 2),
    ] {
        assert_eq!(dram(name).capacity_bytes(), gibibytes << 30, "{name}");
    }
}

/// Clock periods are whole picoseconds, so peaks are right to a thousandth.
#[test]
fn peak_bandwidths_are_those_of_the_data_sheets() {
    for (name, peak) in [
        ("celeron-j3455", 12_800_000_000_u64),
        ("jetson-nano", 25_600_000_000),
        ("jetson-tx2", 59_700_000_000),
        ("raspberry-pi-3", 3_600_000_000),
        ("raspberry-pi-4", 12_800_000_000),
        ("zcu104", 19_200_000_000),
    ] {
        let modelled = dram(name).peak_bytes_per_second();
        assert!(modelled.abs_diff(peak) <= peak / 1000, "{name}: {modelled}");
    }
}

/// Two tag banks of four data banks, of which whole lines tell two apart.
#[test]
fn the_cortex_a57_has_eight_banks() {
    for name in ["jetson-nano", "jetson-tx2"] {
        let memory = platform(name).memory.unwrap();
        let mut banks: Vec<u16> = (0..128).map(|byte| memory.llc.bank_of(byte)).collect();
        banks.sort_unstable();
        banks.dedup();
        assert_eq!(banks, (0..8).collect::<Vec<_>>(), "{name}");
        assert_eq!(memory.llc_banks(), [0, 4], "{name}");
    }
}

#[test]
fn every_platform_has_the_prefetcher_of_its_cores() {
    for builtin in PLATFORMS {
        let memory = platform(builtin.name).memory.unwrap();
        assert!(memory.core.prefetcher.is_some(), "{}", builtin.name);
    }
}

#[test]
fn times_become_whole_clocks() {
    let timing = dram("raspberry-pi-3").timing;
    assert_eq!(timing.clock_ps, 2222);
    // 18 ns x 450 MHz = 8.1, rounded up; 3.9 us x 450 MHz = 1755.
    assert_eq!((timing.rcd, timing.refi), (9, 1755));
    // 3.904 us x 1.6 GHz = 6246.4, rounded down.
    assert_eq!(dram("jetson-nano").timing.refi, 6246);
}

#[test]
fn memories_are_sorted_and_have_the_capacity_and_bandwidth_of_their_family() {
    let names: Vec<&str> = DRAMS.iter().map(|dram| dram.name).collect();
    assert!(names.is_sorted());
    let found: Vec<(&str, u64, u64)> = names
        .iter()
        .map(|name| {
            let dram = load_dram(name).unwrap_or_else(|diagnostics| panic!("{diagnostics}"));
            let megabytes_per_second = dram.peak_bytes_per_second() / 1_000_000;
            (*name, dram.capacity_bytes() >> 20, megabytes_per_second)
        })
        .collect();
    // Devices times density; data bits times transfers. Clock periods are whole picoseconds.
    assert_eq!(
        found,
        [
            ("ddr3-1600", 4096, 12_800),
            ("ddr4-2400", 8192, 19_207),
            ("ddr4-2400-reference", 8192, 19_207),
            ("ddr4-3200", 8192, 25_600),
            ("lpddr2-1066", 512, 4_264),
            ("lpddr3-1600", 1024, 6_400),
            ("lpddr4-3200", 1024, 6_400),
        ]
    );
}

#[test]
fn an_unknown_memory_is_refused_with_the_nearest_name() {
    let diagnostics = load_dram("ddr4-2040").unwrap_err().to_string();
    assert!(
        diagnostics.contains("did you mean `ddr4-2400`?"),
        "{diagnostics}"
    );
}

/// Every figure has its source or the word `assumed` beside it.
#[test]
fn every_figure_has_its_source() {
    let platforms = PLATFORMS.iter().map(|file| (file.name, file.source));
    let drams = DRAMS.iter().map(|file| (file.name, file.source));
    for (name, source) in platforms.chain(drams) {
        let mut before = "";
        for line in source.lines() {
            let key = line.split_once(" = ").map(|(key, _)| key);
            let is_figure = key.is_some_and(|key| !["name", "description"].contains(&key));
            if is_figure && !line.starts_with('#') {
                let said = line.contains('#') || before.starts_with('#');
                assert!(said, "{name}: {line}");
            }
            before = line;
        }
    }
}
