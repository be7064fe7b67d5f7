//! What a modelled platform gives to programs that have it alone.

use ringfence_scenario::model::{Access, Bandwidth, LinkedLists, Program};
use ringfence_scenario::platform::{MemorySystem, Platform};
use serde::Serialize;

use super::Running;
use super::working_sets::WorkingSets;
use crate::machine::Picoseconds;
use crate::machine::error::MachineError;

/// Version of [`PlatformBench`] as JSON.
pub const PLATFORM_BENCH_VERSION: u32 = 1;
/// Simulated time between two looks at how far the programs are.
const STEP_PS: Picoseconds = 10_000_000;
/// Fewest accesses that count.
const ACCESSES: u64 = 200_000;
/// The list that lies in the LLC is a quarter of it.
const LLC_PARTS: u64 = 4;

/// Latencies and bandwidths of one platform.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlatformBench {
    /// [`PLATFORM_BENCH_VERSION`].
    pub version: u32,
    /// Name of the platform.
    pub platform: String,
    /// Bytes of the L1.
    pub l1_bytes: u32,
    /// Load to load, one core alone following one random list that fits half of the L1.
    pub l1_ns: f64,
    /// The same in a quarter of the LLC, or twice the L1 where that is more.
    pub llc_ns: f64,
    /// The same in eight times the LLC, or a core's share of the DRAM where that is less.
    pub dram_ns: f64,
    /// What one core reads in address order from as much.
    pub read_bytes_per_s: f64,
    /// What one core writes so. Every line is fetched first and written back later.
    pub write_bytes_per_s: f64,
    /// What all cores read together, each from an array of its own.
    pub read_all_bytes_per_s: f64,
    /// What all cores write so.
    pub write_all_bytes_per_s: f64,
}

/// Measures `platform`, without competition but for that of its own cores.
///
/// # Errors
/// When the exact engine cannot run the platform, or its DRAM is less than four times
/// the LLC for each core.
pub fn platform(platform: &Platform) -> Result<PlatformBench, MachineError> {
    let memory = platform
        .memory
        .as_ref()
        .ok_or_else(|| MachineError::NoMemory {
            platform: platform.name.clone(),
        })?;
    let sets = WorkingSets::of(memory, platform.cores, LLC_PARTS)?;
    let latency_ns = |bytes| Ok(1e9 / accesses_per_s(platform, memory, 1, &chase(bytes))?);
    let bytes_per_s = |cores, access| {
        let accesses_per_s = accesses_per_s(platform, memory, cores, &walk(access, sets.in_dram))?;
        Ok(accesses_per_s * f64::from(memory.line_bytes))
    };
    Ok(PlatformBench {
        version: PLATFORM_BENCH_VERSION,
        platform: platform.name.clone(),
        l1_bytes: memory.l1.size_bytes,
        l1_ns: latency_ns(sets.in_l1)?,
        llc_ns: latency_ns(sets.in_llc)?,
        dram_ns: latency_ns(sets.in_dram)?,
        read_bytes_per_s: bytes_per_s(1, Access::Read)?,
        write_bytes_per_s: bytes_per_s(1, Access::Write)?,
        read_all_bytes_per_s: bytes_per_s(platform.cores, Access::Read)?,
        write_all_bytes_per_s: bytes_per_s(platform.cores, Access::Write)?,
    })
}

fn chase(working_set_bytes: u64) -> Program {
    Program::LinkedLists(LinkedLists {
        access: Access::Read,
        working_set_bytes,
        lists: 1,
        bank: None,
        passes: 1,
    })
}

fn walk(access: Access, working_set_bytes: u64) -> Program {
    Program::Bandwidth(Bandwidth {
        access,
        working_set_bytes,
        passes: 1,
    })
}

/// Accesses per simulated second of `program` on each of the first `cores`
/// cores together, when the LLC has been filled twice over.
fn accesses_per_s(
    platform: &Platform,
    memory: &MemorySystem,
    cores: u16,
    program: &Program,
) -> Result<f64, MachineError> {
    let programs = vec![program.clone(); usize::from(cores)];
    let mut running = Running::new(platform, &programs)?;
    let llc_lines = u64::from(memory.llc.size_bytes / memory.line_bytes);
    run_for(&mut running, 2 * llc_lines);
    let (accesses, time_ps) = run_for(&mut running, ACCESSES);
    Ok(accesses as f64 / (time_ps as f64 / 1e12))
}

/// Runs for at least so many accesses; how many and how long it was.
fn run_for(running: &mut Running, accesses: u64) -> (u64, Picoseconds) {
    let (mut done, mut time_ps) = (0, 0);
    while done < accesses {
        done += running.run(STEP_PS);
        time_ps += STEP_PS;
    }
    (done, time_ps)
}
