//! Parameters of the model from what was measured.

use crate::figures::{Levels, MemoryFigures};
use crate::knee::{in_flight, knee};
use ringfence_workloads::inventory::Cache;

/// Cycles that a line occupies a bank of the last-level cache.
pub const BANK_SERVICE_CYCLES: u32 = 4;
/// Share of `cores` times the rate of one core from which on cores do not hold each other up.
const SCALES: f64 = 0.9;
/// Caches of the model.
const CACHE_BYTES_MAX: u64 = 1 << 30;
const WAYS_MAX: u64 = 64;
const WAY_BYTES_MAX: u64 = 128 << 20;
const BANKS_MAX: u32 = 64;
/// Where the system does not say.
const WAYS_ASSUMED: u32 = 16;
/// Prefetches that are too few to model.
const PREFETCHES_MIN: u32 = 4;

/// Parameters of the model.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryModel {
    /// The first level.
    pub private: CacheGeometry,
    /// Its latency.
    pub private_cycles: u32,
    /// The last level.
    pub llc: CacheGeometry,
    /// Whether its size is what programs found, instead of what the system says.
    pub llc_is_seen: bool,
    /// Its latency.
    pub llc_cycles: u32,
    /// Its banks, a power of two.
    pub banks: u32,
    /// Its misses.
    pub llc_mshrs: u32,
    /// Cycles between two accesses of a core.
    pub issue_cycles: u32,
    /// For instructions that do not access memory.
    pub cycles_per_instruction_milli: u32,
    /// Instructions.
    pub reorder_window: u32,
    /// Loads under way.
    pub outstanding_misses: u32,
    /// Nanoseconds of an access along lists, at best.
    pub best_access_ns: f64,
    /// Lists that come near the best rate.
    pub knee_lists: u32,
    /// Stores under way.
    pub store_buffer: u32,
    /// Prefetches under way, if there are any.
    pub prefetches: Option<u32>,
}

impl MemoryModel {
    /// From `memory` of a machine with `cpus` cores of `clock_hz`.
    pub fn derive(memory: &MemoryFigures, clock_hz: f64, cpus: u32, architecture: &str) -> Self {
        let cycles = |ns: f64, least: u32, most: u32| {
            ((ns * clock_hz / 1e9).round() as u32).clamp(least, most)
        };
        let latency_ns = &memory.latency_ns;
        let private_cycles = cycles(latency_ns.private.undisturbed(), 1, 1000);
        let llc_is_seen = memory.llc_seen_bytes * 2 < memory.llc.size_bytes;
        let llc_bytes = match llc_is_seen {
            true => memory.llc_seen_bytes,
            false => memory.llc.size_bytes,
        };
        let private = CacheGeometry::near(memory.private.size_bytes, &memory.private, 0);
        let dram_ns = latency_ns.dram.undisturbed();
        let best = memory.by_lists.iter().map(|point| point.ns);
        let best_ns = best.min_by(f64::total_cmp).unwrap_or(dram_ns);
        let outstanding_misses = in_flight(dram_ns, best_ns).min(64);
        let store_buffer = in_flight(dram_ns, memory.scattered_store_ns.undisturbed()).min(256);
        let in_order = in_flight(dram_ns, memory.read_ns.dram.undisturbed());
        let prefetches = Some(in_order.saturating_sub(outstanding_misses).min(64))
            .filter(|&prefetches| prefetches >= PREFETCHES_MIN);
        let of_a_core = outstanding_misses + store_buffer + prefetches.unwrap_or(0);
        let is_x86 = architecture == "x86_64";
        Self {
            private,
            private_cycles,
            llc: CacheGeometry::near(llc_bytes, &memory.llc, private.size_bytes),
            llc_is_seen,
            llc_cycles: cycles(latency_ns.llc.undisturbed(), private_cycles + 1, 10_000),
            banks: banks(memory, clock_hz, cpus),
            llc_mshrs: (of_a_core * cpus).clamp(1, 1024),
            issue_cycles: cycles(memory.read_ns.private.undisturbed(), 1, 1000),
            cycles_per_instruction_milli: if is_x86 { 250 } else { 500 },
            reorder_window: if is_x86 { 224 } else { 128 },
            outstanding_misses,
            best_access_ns: best_ns,
            knee_lists: knee(&memory.by_lists).unwrap_or(1),
            store_buffer,
            prefetches,
        }
    }
}

/// Size and associativity that the model can have: a power of two of sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheGeometry {
    /// Capacity in bytes.
    pub size_bytes: u64,
    /// Associativity.
    pub ways: u32,
}

impl CacheGeometry {
    /// The geometry that is nearest to `size_bytes` and the ways of `cache`, and larger than
    /// `more_than_bytes`.
    ///
    /// Of all powers of two of sets, with the ways that come nearest to the size, it is the
    /// one whose ways are nearest to those of the cache.
    pub fn near(size_bytes: u64, cache: &Cache, more_than_bytes: u64) -> Self {
        let line = cache.line_bytes;
        let lines = size_bytes.min(CACHE_BYTES_MAX) / line;
        let wanted = match cache.ways {
            0 => WAYS_ASSUMED,
            ways => ways,
        };
        let sets = (0..64).map(|bits| 1_u64 << bits);
        let sets = sets.take_while(|sets| sets * line <= WAY_BYTES_MAX);
        let candidates = sets.filter_map(|sets| {
            let ways = ((lines + sets / 2) / sets).clamp(1, WAYS_MAX);
            let bytes = ways * sets * line;
            let is_near = bytes.abs_diff(size_bytes) * 8 <= size_bytes;
            let fits = bytes > more_than_bytes && bytes <= CACHE_BYTES_MAX;
            (is_near && fits).then_some(Self {
                size_bytes: bytes,
                ways: ways as u32,
            })
        });
        candidates
            .min_by_key(|found| found.ways.abs_diff(wanted))
            .unwrap_or(Self {
                size_bytes: (more_than_bytes.max(line) * 2).next_power_of_two(),
                ways: 1,
            })
    }

    /// What was changed, for a comment.
    pub fn note(&self, cache: &Cache) -> String {
        if self.size_bytes == cache.size_bytes {
            return String::new();
        }
        let stated = ringfence_scenario::quantity::SIZE.format(cache.size_bytes);
        format!(", {stated}; the nearest with a power of two of sets")
    }
}

/// Banks that serve what all cores take from the last-level cache.
fn banks(memory: &MemoryFigures, clock_hz: f64, cpus: u32) -> u32 {
    let line = memory.line_bytes as f64;
    let bank_bytes_per_s = line * clock_hz / f64::from(BANK_SERVICE_CYCLES);
    let need = |one: &Levels<_>, all: Option<Levels<f64>>| {
        let one: &Levels<crate::statistics::Spread> = one;
        needed(
            line / one.llc.undisturbed() * 1e9,
            all.map(|all| all.llc),
            cpus,
        )
    };
    let reads = need(&memory.read_ns, memory.all_read_bytes_per_s);
    let writes = need(&memory.write_ns, memory.all_write_bytes_per_s);
    // A line that is written comes and goes.
    units(reads.max(2.0 * writes), bank_bytes_per_s, BANKS_MAX)
        .max(cpus.next_power_of_two().min(BANKS_MAX))
}

/// Bytes a second that a shared resource must be able to serve.
pub(super) fn needed(one: f64, all: Option<f64>, cpus: u32) -> f64 {
    match all {
        None => one,
        Some(all) if all >= SCALES * f64::from(cpus) * one => 2.0 * all,
        Some(all) => all,
    }
}

/// The power of two of units of `each` that can serve `needed`.
pub(super) fn units(needed: f64, each: f64, most: u32) -> u32 {
    let wanted = (needed / each).ceil().clamp(1.0, f64::from(most)) as u32;
    wanted.next_power_of_two().min(most)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cache(size_bytes: u64, ways: u32) -> Cache {
        Cache {
            level: 3,
            size_bytes,
            ways,
            line_bytes: 64,
            shared_by: vec![0],
        }
    }

    #[test]
    fn geometries_that_the_model_has_stay() {
        for (kib, ways) in [(32, 4), (512, 16), (2048, 16), (1 << 20, 16), (12, 3)] {
            let found = CacheGeometry::near(kib << 10, &cache(kib << 10, ways), 0);
            assert_eq!((found.size_bytes, found.ways), (kib << 10, ways));
        }
    }

    #[test]
    fn an_odd_number_of_slices_becomes_ways() {
        let found = CacheGeometry::near(105 << 20, &cache(105 << 20, 15), 2 << 20);
        assert_eq!((found.size_bytes, found.ways), (104 << 20, 13));
        assert!(found.note(&cache(105 << 20, 15)).contains("105 MiB"));
    }

    proptest! {
        #[test]
        fn any_cache_gets_a_geometry_that_is_near(
            kib in 8_u64..(1 << 20),
            ways in 0_u32..40,
        ) {
            let found = CacheGeometry::near(kib << 10, &cache(kib << 10, ways), 0);
            let sets = found.size_bytes / 64 / u64::from(found.ways);
            prop_assert!(sets.is_power_of_two() && sets * 64 * u64::from(found.ways) == found.size_bytes);
            prop_assert!(found.ways <= 64);
            prop_assert!(found.size_bytes.abs_diff(kib << 10) * 8 <= kib << 10);
        }

        #[test]
        fn units_serve_what_is_needed(needed in 1e6..1e12, each in 1e8..1e11) {
            let count = units(needed, each, 1 << 20);
            prop_assert!(count.is_power_of_two() && f64::from(count) * each >= needed);
            prop_assert!(count == 1 || f64::from(count / 2) * each < needed);
        }
    }

    #[test]
    fn cores_that_do_not_hold_each_other_up_leave_room() {
        assert_eq!(needed(10.0, None, 1), 10.0);
        assert_eq!(needed(10.0, Some(19.0), 2), 38.0);
        assert_eq!(needed(10.0, Some(13.0), 2), 13.0);
    }
}
