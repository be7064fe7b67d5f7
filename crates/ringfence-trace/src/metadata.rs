//! What a trace says about its origin.

use serde::{Deserialize, Serialize};

/// Where a trace comes from. Holds no path, name or address of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metadata {
    /// File name of the program, without its folder.
    pub program: String,
    /// Arguments of the program; of those that are paths only the file name.
    pub arguments: Vec<String>,
    /// Instruction set of the program, such as `x86_64`.
    pub isa: String,
    /// Compilers named in the program's `.comment` section, sorted; empty if it names none.
    pub compilers: Vec<String>,
    /// SHA-256 of the program's file in hexadecimal.
    pub program_sha256: String,
    /// What recorded it, with version, such as `valgrind-3.19.0 lackey`.
    pub recorder: String,
    /// Granularity of the addresses in bytes: 1, byte addresses.
    pub address_granularity_bytes: u32,
    /// Whether the program marked its jobs; otherwise the run is one job.
    pub marked_jobs: bool,
    /// Whether there are lines of instructions among the loads: those that an instruction cache
    /// of 32 KiB did not have.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub instruction_lines: bool,
}
