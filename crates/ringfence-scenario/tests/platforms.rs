//! The platforms that come with ringfence.

use ringfence_scenario::platform::{Dram, Platform};
use ringfence_scenario::{PLATFORMS, load_platform};

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
    assert_eq!(dram("raspberry-pi-3").capacity_bytes(), 1 << 30);
    assert_eq!(dram("jetson-nano").capacity_bytes(), 4 << 30);
}

/// Clock periods are whole picoseconds, so peaks are right to a thousandth.
#[test]
fn peak_bandwidths_are_those_of_the_data_sheets() {
    for (name, peak) in [
        ("raspberry-pi-3", 3_600_000_000_u64),
        ("jetson-nano", 25_600_000_000),
    ] {
        let modelled = dram(name).peak_bytes_per_second();
        assert!(modelled.abs_diff(peak) <= peak / 1000, "{name}: {modelled}");
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

/// Every figure has its source or the word `assumed` beside it.
#[test]
fn every_figure_has_its_source() {
    for platform in PLATFORMS {
        let mut before = "";
        for line in platform.source.lines() {
            let key = line.split_once(" = ").map(|(key, _)| key);
            let is_figure = key.is_some_and(|key| !["name", "description"].contains(&key));
            if is_figure && !line.starts_with('#') {
                let said = line.contains('#') || before.starts_with('#');
                assert!(said, "{}: {line}", platform.name);
            }
            before = line;
        }
    }
}
