//! Devices of the DRAM tests.

use ringfence_scenario::load_dram;
use ringfence_scenario::platform::Dram;

pub const LINE_BYTES: u32 = 64;

/// A memory that comes with ringfence.
pub fn dram(name: &str) -> Dram {
    load_dram(name).unwrap_or_else(|diagnostics| panic!("{diagnostics}"))
}

/// DDR4-2400 8 Gb x8, one rank, 17-17-17.
pub fn ddr4_2400() -> Dram {
    dram("ddr4-2400-reference")
}
