//! Every platform that comes with ringfence runs, and has the figures that its file implies.

use ringfence_scenario::platform::Platform;
use ringfence_scenario::{PLATFORMS, load_platform};
use ringfence_sim::bench::{self, PlatformBench};

fn measured() -> impl Iterator<Item = (Platform, PlatformBench)> {
    PLATFORMS.iter().map(|builtin| {
        let platform = load_platform(builtin.name).unwrap();
        let figures = bench::platform(&platform).unwrap();
        (platform, figures)
    })
}

#[test]
fn latencies_are_those_of_the_file_and_grow_with_the_level() {
    for (platform, figures) in measured() {
        let memory = platform.memory.as_ref().unwrap();
        let ns = |cycles: u32| f64::from(cycles) * 1e9 / platform.frequency_hz as f64;
        let name = &platform.name;
        // A cycle is a whole number of picoseconds.
        let near = |found: f64, cycles, share| (found / ns(cycles) - 1.0).abs() < share;
        assert!(
            near(figures.l1_ns, memory.l1.latency_cycles, 0.01),
            "{name}: {figures:?}"
        );
        // Some sets of the LLC have more pages than ways.
        assert!(
            near(figures.llc_ns, memory.llc.latency_cycles, 0.03),
            "{name}: {figures:?}"
        );
        let timing = &memory.dram.timing;
        let row_hit = timing.cl + timing.burst;
        let row_conflict = row_hit + timing.rp + timing.rcd;
        let [row_hit, row_conflict] = [row_hit, row_conflict].map(|clocks| {
            f64::from(clocks * timing.clock_ps + memory.dram.controller.link_ps) / 1e3
        });
        // Refreshes are the rest.
        assert!(
            figures.dram_ns > figures.llc_ns + row_hit,
            "{name}: {figures:?}"
        );
        assert!(
            figures.dram_ns < 1.1 * (figures.llc_ns + row_conflict),
            "{name}: {figures:?}"
        );
    }
}

#[test]
fn more_cores_get_more_together_and_never_more_than_the_memory_has() {
    for (platform, figures) in measured() {
        let peak = platform.memory.unwrap().dram.peak_bytes_per_second() as f64;
        let name = &platform.name;
        assert!(
            figures.read_all_bytes_per_s > figures.read_bytes_per_s,
            "{name}: {figures:?}"
        );
        assert!(
            figures.write_all_bytes_per_s > figures.write_bytes_per_s,
            "{name}: {figures:?}"
        );
        assert!(figures.read_all_bytes_per_s < peak, "{name}: {figures:?}");
        // Each line is read and written.
        assert!(
            2.0 * figures.write_all_bytes_per_s < peak,
            "{name}: {figures:?}"
        );
    }
}

/// A prefetcher has to help the walk that it is made for.
#[test]
fn prefetchers_speed_up_a_read_in_address_order() {
    for builtin in PLATFORMS {
        let mut platform = load_platform(builtin.name).unwrap();
        let with = bench::platform(&platform).unwrap();
        platform.memory.as_mut().unwrap().core.prefetcher = None;
        let without = bench::platform(&platform).unwrap();
        let name = builtin.name;
        assert!(
            with.read_bytes_per_s > 1.05 * without.read_bytes_per_s,
            "{name}: {with:?}, {without:?}"
        );
        let l1 = with.l1_ns / without.l1_ns;
        assert!((l1 - 1.0).abs() < 0.001, "{name}: {l1}");
    }
}
