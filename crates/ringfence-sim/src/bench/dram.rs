//! What a modelled DRAM does under a load, and how fast that is simulated.

use ringfence_scenario::platform::{Dram, RefreshMode};
use serde::Serialize;

use super::dram_load::{ClosedLoop, DramLoad, LINE_BYTES, LoadPattern};
use super::latency::{RequestorLatency, mean};
use super::speed::timed;
use crate::machine::dram::channel::ChannelCounts;
use crate::machine::error::MachineError;

/// Version of [`DramBench`] as JSON.
pub const DRAM_BENCH_VERSION: u32 = 1;

/// Figures of one load on one DRAM. Bandwidths are of all channels together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DramBench {
    /// [`DRAM_BENCH_VERSION`].
    pub version: u32,
    /// Name of the memory.
    pub memory: String,
    /// Reads that were counted.
    pub reads: u64,
    /// Writes that reached the memory meanwhile.
    pub writes: u64,
    /// Memory clocks that this took.
    pub clocks: u64,
    /// Simulated time that this took, in nanoseconds.
    pub simulated_ns: f64,
    /// Bytes read and written per simulated second.
    pub achieved_bytes_per_s: f64,
    /// Bandwidth when data move on every clock.
    pub peak_bytes_per_s: f64,
    /// [`bandwidth_cap`] of the pattern.
    pub cap_bytes_per_s: f64,
    /// Rows opened.
    pub activates: u64,
    /// Refresh commands.
    pub refreshes: u64,
    /// Mean latency of all reads, from the clock in which the controller takes one to its last data.
    pub mean_latency_ns: f64,
    /// One per requestor.
    pub requestors: Vec<RequestorLatency>,
    /// Wall time of the simulation, in seconds.
    pub wall_s: f64,
    /// Reads and writes simulated per wall second.
    pub requests_per_wall_s: f64,
    /// The same of the fastest hundredth of the run, which other work on the machine disturbs least.
    pub best_requests_per_wall_s: f64,
    /// Lines per wall second of a plain walk over an array, in turns with the load.
    pub walk_lines_per_s: f64,
    /// `requests_per_wall_s / walk_lines_per_s`.
    pub ratio_to_walk: f64,
}

/// Runs `load` on `dram` until `warm_up` reads are done, then counts `reads` more.
///
/// # Errors
/// When the load is out of range or the model cannot represent `dram`.
pub fn dram(
    dram: &Dram,
    load: &DramLoad,
    warm_up: u64,
    reads: u64,
) -> Result<DramBench, MachineError> {
    let mut running = ClosedLoop::new(dram, load)?;
    running.run(warm_up);
    running.forget_latencies();
    let before = sum(running.counts());
    let mut clocks = 0;
    let speed = timed(reads, |part| {
        let written = sum(running.counts()).written;
        clocks += running.run(part);
        part + sum(running.counts()).written - written
    });
    let after = sum(running.counts());
    let writes = after.written - before.written;
    let requests_per_wall_s = (reads + writes) as f64 / speed.wall_s;
    let clock_ns = f64::from(dram.timing.clock_ps) / 1000.0;
    let simulated_ns = clocks as f64 * clock_ns;
    let requestors: Vec<RequestorLatency> = running
        .latencies()
        .map(|latencies| RequestorLatency::of(latencies, clock_ns, simulated_ns, LINE_BYTES))
        .collect();
    Ok(DramBench {
        version: DRAM_BENCH_VERSION,
        memory: dram.name.clone(),
        reads,
        writes,
        clocks,
        simulated_ns,
        achieved_bytes_per_s: bytes(reads + writes) / simulated_ns * 1e9,
        peak_bytes_per_s: dram.peak_bytes_per_second() as f64,
        cap_bytes_per_s: bandwidth_cap(dram, load.pattern),
        activates: after.activates - before.activates,
        refreshes: after.refreshes - before.refreshes,
        mean_latency_ns: mean(running.latencies()) * clock_ns,
        requestors,
        wall_s: speed.wall_s,
        requests_per_wall_s,
        best_requests_per_wall_s: speed.best_requests_per_s,
        walk_lines_per_s: speed.walk_lines_per_s,
        ratio_to_walk: requests_per_wall_s / speed.walk_lines_per_s,
    })
}

/// Closed form of the most that a load of this pattern can move, in bytes per second.
///
/// Sequential and mixed loads: data on every clock but while a rank is closed,
/// refreshed and opened again. The time from the last read before a refresh to
/// the first one after it counts as lost in full, though one burst of data moves
/// in it: a load may exceed the cap by `burst / refi`. Random loads: every line
/// needs an activate, at most four in a `faw`, and none during a refresh.
/// Refreshes of one bank leave the others at work and take nothing off; nor do
/// writes, whose turnarounds depend on the scheduler.
pub fn bandwidth_cap(dram: &Dram, pattern: LoadPattern) -> f64 {
    let t = &dram.timing;
    let all_banks = t.refi > 0 && dram.refresh == RefreshMode::AllBanks;
    let lost = |clocks: u32| {
        if all_banks {
            f64::from(clocks) / f64::from(t.refi)
        } else {
            0.0
        }
    };
    let peak =
        dram.peak_bytes_per_second() as f64 * f64::from(t.burst) / f64::from(t.ccd_s.max(t.burst));
    let open_again = t.rtp + t.rp_all + t.rfc + t.rcd;
    let sequential = peak * (1.0 - lost(open_again));
    if pattern != LoadPattern::Random {
        return sequential;
    }
    let four_activates_s = f64::from(t.faw.max(4 * t.rrd_s)) * f64::from(t.clock_ps) * 1e-12;
    let ranks = f64::from(dram.channels * dram.ranks);
    let lines_per_s = ranks * 4.0 / four_activates_s * (1.0 - lost(t.rfc));
    sequential.min(lines_per_s * f64::from(LINE_BYTES))
}

fn bytes(lines: u64) -> f64 {
    (lines * u64::from(LINE_BYTES)) as f64
}

fn sum(counts: impl Iterator<Item = ChannelCounts>) -> ChannelCounts {
    counts.fold(ChannelCounts::default(), |sum, counts| ChannelCounts {
        reads: sum.reads + counts.reads,
        writes: sum.writes + counts.writes,
        forwarded: sum.forwarded + counts.forwarded,
        written: sum.written + counts.written,
        activates: sum.activates + counts.activates,
        refreshes: sum.refreshes + counts.refreshes,
    })
}
