//! What a modelled last-level cache does under a load, and how fast that is simulated.

use ringfence_scenario::platform::Platform;
use serde::Serialize;

use super::latency::{RequestorLatency, mean};
use super::llc_load::{LlcCounts, LlcLoad, LlcLoop};
use super::speed::timed;
use crate::machine::Picoseconds;
use crate::machine::error::MachineError;
use crate::time::cycle_ps;

/// Version of [`LlcBench`] as JSON.
pub const LLC_BENCH_VERSION: u32 = 1;

/// Reads to count for each that is in flight: those that only began or only ended in
/// the time that was measured are then a hundredth.
const READS_PER_READ_IN_FLIGHT: u64 = 100;

/// Figures of one load on one last-level cache.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LlcBench {
    /// [`LLC_BENCH_VERSION`].
    pub version: u32,
    /// Name of the platform.
    pub platform: String,
    /// Banks in which lines of memory lie.
    pub banks: u32,
    /// Banks in which lines of the load lie.
    pub banks_in_use: u32,
    /// Time for which an access occupies its bank.
    pub bank_service_ns: f64,
    /// Latency of a hit that nothing delays.
    pub hit_latency_ns: f64,
    /// Latency of the memory behind the cache.
    pub memory_latency_ns: f64,
    /// Reads that were counted.
    pub reads: u64,
    /// Reads that found their line.
    pub hits: u64,
    /// Reads that found their line on its way.
    pub merged: u64,
    /// Reads that fetched their line from memory.
    pub misses: u64,
    /// Lines that the requestors wrote back meanwhile.
    pub write_backs: u64,
    /// Dirty lines that the cache wrote to memory meanwhile.
    pub evictions: u64,
    /// Simulated time that this took, in nanoseconds.
    pub simulated_ns: f64,
    /// Bytes read and written back per simulated second.
    pub achieved_bytes_per_s: f64,
    /// Bandwidth when every bank serves a hit at all times.
    pub peak_bytes_per_s: f64,
    /// The most that a cache can do that hits, misses and evicts as this one did.
    pub cap_bytes_per_s: f64,
    /// What sets that cap.
    pub cap_set_by: Bottleneck,
    /// Mean latency of all reads, from the requestor's issue to its data.
    pub mean_latency_ns: f64,
    /// One per requestor.
    pub requestors: Vec<RequestorLatency>,
    /// Wall time of the simulation, in seconds.
    pub wall_s: f64,
    /// Reads and write-backs simulated per wall second.
    pub requests_per_wall_s: f64,
    /// The same of the fastest hundredth of the run, which other work on the machine disturbs least.
    pub best_requests_per_wall_s: f64,
    /// Lines per wall second of a plain walk over an array, in turns with the load.
    pub walk_lines_per_s: f64,
    /// `requests_per_wall_s / walk_lines_per_s`.
    pub ratio_to_walk: f64,
}

/// What can bound the throughput of a last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bottleneck {
    /// Service time of the banks.
    Banks,
    /// Miss-status registers, each taken for the memory's latency.
    MissRegisters,
    /// Places of the write-back buffer, each taken for the memory's latency.
    WriteBackBuffer,
    /// Reads in flight, each for its latency.
    ReadsInFlight,
}

/// Runs `load` on the last-level cache of `platform` until `warm_up` reads are
/// done, then counts `reads` more.
///
/// # Errors
/// When the load is out of range, `reads` are fewer than a hundred times those in
/// flight, or the model cannot represent the platform.
pub fn llc(
    platform: &Platform,
    load: &LlcLoad,
    warm_up: u64,
    reads: u64,
) -> Result<LlcBench, MachineError> {
    let mut running = LlcLoop::new(platform, load)?;
    let least = READS_PER_READ_IN_FLIGHT * load.reads_in_flight();
    if reads < least {
        return Err(MachineError::TooSmall {
            what: "number of reads to count",
            value: reads,
            least,
            why: "a hundred times the reads in flight, so that those at the edges do not count",
        });
    }
    let memory = platform
        .memory
        .as_ref()
        .ok_or_else(|| MachineError::NoMemory {
            platform: platform.name.clone(),
        })?;
    running.run(warm_up);
    running.forget_latencies();
    let before = running.counts();
    let mut simulated_ps = 0;
    let speed = timed(reads, |part| {
        let before = running.counts();
        simulated_ps += running.run(part);
        requests(&since(&running.counts(), &before))
    });
    let counts = since(&running.counts(), &before);
    let cycle_ns = cycle_ps(platform.frequency_hz) as f64 / 1000.0;
    let cycles_ns = |cycles: u32| f64::from(cycles) * cycle_ns;
    let banks = memory.llc_banks().len() as u32;
    let cache = Cache {
        banks_in_use: running.banks_in_use() as f64,
        service_ns: cycles_ns(memory.llc.bank_service_cycles),
        registers: f64::from(memory.llc.mshrs),
        registers_per_bank: f64::from(memory.llc.mshrs_per_bank),
        buffer_places: f64::from(memory.llc.write_back_buffer),
        reads_in_flight: f64::from(load.requestors) * f64::from(load.outstanding),
        hit_ns: cycles_ns(memory.llc.latency_cycles),
        memory_ns: load.memory_cycles as f64 * cycle_ns,
    };
    let simulated_ns = ns(simulated_ps);
    let bytes = (requests(&counts) * u64::from(memory.line_bytes)) as f64;
    let (least_ns, cap_set_by) = cache.least_time(&counts);
    let requests_per_wall_s = requests(&counts) as f64 / speed.wall_s;
    Ok(LlcBench {
        version: LLC_BENCH_VERSION,
        platform: platform.name.clone(),
        banks,
        banks_in_use: cache.banks_in_use as u32,
        bank_service_ns: cache.service_ns,
        hit_latency_ns: cache.hit_ns,
        memory_latency_ns: cache.memory_ns,
        reads,
        hits: counts.hits,
        merged: counts.merged,
        misses: counts.misses,
        write_backs: counts.write_backs,
        evictions: counts.evictions,
        simulated_ns,
        achieved_bytes_per_s: bytes / simulated_ns * 1e9,
        peak_bytes_per_s: f64::from(banks) * f64::from(memory.line_bytes) / cache.service_ns * 1e9,
        cap_bytes_per_s: bytes / least_ns * 1e9,
        cap_set_by,
        mean_latency_ns: mean(running.latencies()) * cycle_ns,
        requestors: running
            .latencies()
            .map(|latencies| {
                RequestorLatency::of(latencies, cycle_ns, simulated_ns, memory.line_bytes)
            })
            .collect(),
        wall_s: speed.wall_s,
        requests_per_wall_s,
        best_requests_per_wall_s: speed.best_requests_per_s,
        walk_lines_per_s: speed.walk_lines_per_s,
        ratio_to_walk: requests_per_wall_s / speed.walk_lines_per_s,
    })
}

/// What bounds a cache under a load.
struct Cache {
    banks_in_use: f64,
    service_ns: f64,
    registers: f64,
    registers_per_bank: f64,
    buffer_places: f64,
    reads_in_flight: f64,
    hit_ns: f64,
    memory_ns: f64,
}

impl Cache {
    /// The least time in which a cache can do what was counted, and why not in less.
    ///
    /// No part of it can be busy for longer than the whole (the utilisation law,
    /// Denning and Buzen, "The operational analysis of queueing network models",
    /// ACM Computing Surveys 1978). Accesses, fills and dirty victims each take a
    /// bank for a service time.
    fn least_time(&self, counts: &LlcCounts) -> (f64, Bottleneck) {
        let n = |count: u64| count as f64;
        let services = n(requests(counts) + counts.misses + counts.evictions);
        let registers = self
            .registers
            .min(self.registers_per_bank * self.banks_in_use);
        let waits = n(counts.reads) * self.hit_ns + n(counts.misses) * self.memory_ns;
        let times = [
            (
                services * self.service_ns / self.banks_in_use,
                Bottleneck::Banks,
            ),
            (
                n(counts.misses) * self.memory_ns / registers,
                Bottleneck::MissRegisters,
            ),
            (
                n(counts.evictions) * self.memory_ns / self.buffer_places,
                Bottleneck::WriteBackBuffer,
            ),
            (waits / self.reads_in_flight, Bottleneck::ReadsInFlight),
        ];
        let longest = |a: (f64, Bottleneck), b: (f64, Bottleneck)| if b.0 > a.0 { b } else { a };
        times.into_iter().reduce(longest).unwrap_or(times[0])
    }
}

fn requests(counts: &LlcCounts) -> u64 {
    counts.reads + counts.write_backs
}

fn since(now: &LlcCounts, then: &LlcCounts) -> LlcCounts {
    LlcCounts {
        reads: now.reads - then.reads,
        hits: now.hits - then.hits,
        merged: now.merged - then.merged,
        misses: now.misses - then.misses,
        write_backs: now.write_backs - then.write_backs,
        evictions: now.evictions - then.evictions,
    }
}

fn ns(ps: Picoseconds) -> f64 {
    ps as f64 / 1000.0
}
