//! How fast the exact engine is on this machine.

mod dram_load;

pub use dram_load::{ClosedLoop, LINE_BYTES, LoadPattern};
