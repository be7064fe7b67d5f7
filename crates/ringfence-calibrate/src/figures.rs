//! What was measured, in base units.

use serde::Serialize;

use crate::disturbance::Disturbance;
use crate::knee::ParallelPoint;
use crate::statistics::Spread;
use ringfence_workloads::inventory::{Cache, Inventory};

/// Version of the JSON form.
pub const FORMAT: u32 = 1;

/// Everything that a platform file is written from.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figures {
    /// [`FORMAT`].
    pub format: u32,
    /// Instruction set, as the compiler calls it.
    pub architecture: &'static str,
    /// What the system says.
    pub inventory: Inventory,
    /// Nanoseconds of a cycle of a core; `None` where neither a measurement nor the system
    /// gives it.
    pub cycle_ns: Option<Spread>,
    /// Costs of the operating system.
    pub os: OsFigures,
    /// Caches and memory; `None` where the system hides the caches.
    pub memory: Option<MemoryFigures>,
    /// What could not be measured or looks wrong, in sentences.
    pub warnings: Vec<String>,
    /// What else ran meanwhile.
    pub disturbance: Disturbance,
}

/// Costs of the operating system.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OsFigures {
    /// From one thread that blocks to the next on the same processor, in nanoseconds.
    pub context_switch_ns: Spread,
    /// Time between scheduler ticks, in nanoseconds; `None` when no rhythm was found.
    pub tick_ns: Option<u64>,
    /// Time that a tick takes from a running thread, in nanoseconds.
    pub interrupt_ns: Option<Spread>,
    /// How much longer arithmetic takes beside the same on the next processor; 2 is two
    /// threads of one core. `None` with one processor.
    pub arithmetic_beside_another: Option<f64>,
}

/// Caches and memory, alone unless it says otherwise. Times are for one access, one a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MemoryFigures {
    /// Bytes of a cache line.
    pub line_bytes: u64,
    /// The last cache that a core has for itself.
    pub private: Cache,
    /// The last-level cache.
    pub llc: Cache,
    /// Whether the array for the main memory lay in huge pages.
    pub in_huge_pages: bool,
    /// Largest array that a pointer chase or a bandwidth walk found nearer to the last-level
    /// cache than to memory.
    pub llc_seen_bytes: u64,
    /// Bytes of the arrays of the three levels.
    pub arrays: Levels<u64>,
    /// Nanoseconds of a load that waits for the one before it.
    pub latency_ns: Levels<Spread>,
    /// The same over growing arrays: `(bytes, least nanoseconds)`.
    pub latency_by_size: Vec<(u64, f64)>,
    /// Nanoseconds a line of a bandwidth walk that reads growing arrays.
    pub read_by_size: Vec<(u64, f64)>,
    /// Nanoseconds a line of a bandwidth walk that reads.
    pub read_ns: Levels<Spread>,
    /// Nanoseconds a line of a bandwidth walk that writes.
    pub write_ns: Levels<Spread>,
    /// Bytes a second that all processors together read; `None` with one processor.
    pub all_read_bytes_per_s: Option<Levels<f64>>,
    /// Bytes a second that all processors together write.
    pub all_write_bytes_per_s: Option<Levels<f64>>,
    /// Loads from memory along more and more lists.
    pub by_lists: Vec<ParallelPoint>,
    /// Nanoseconds of a store to memory that waits for none, in no order that a prefetcher knows.
    pub scattered_store_ns: Spread,
    /// How the first processor finds what each other one has just fetched.
    pub sharing: Vec<Sharing>,
}

/// Whether two processors share the last-level cache.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sharing {
    /// The processor that fetched the lines.
    pub cpu: u16,
    /// Nanoseconds of a load of the first processor after that.
    pub ns: f64,
    /// Whether that is nearer to a hit than to memory.
    pub is_shared: bool,
}

/// One figure for each place that data can be in.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Levels<T> {
    /// In the private cache.
    pub private: T,
    /// In the last-level cache.
    pub llc: T,
    /// In main memory.
    pub dram: T,
}

impl<T> Levels<T> {
    /// Computes a figure for each level.
    ///
    /// # Errors
    /// The first that comes up.
    pub fn try_map<U, E>(&self, mut f: impl FnMut(&T) -> Result<U, E>) -> Result<Levels<U>, E> {
        Ok(Levels {
            private: f(&self.private)?,
            llc: f(&self.llc)?,
            dram: f(&self.dram)?,
        })
    }
}
