//! Loads whose events are known.

use std::hint::black_box;

use crate::doctor::machine_files::MachineFiles;

/// Turns of the loop that computes; each of a few instructions.
pub const TURNS: u64 = 1 << 22;
/// Lines that the loop changes that misses.
pub const LINES: u64 = 1 << 18;

/// No smaller line is common: two steps may be in one, never one in two.
const LINE_BYTES: usize = 64;
const SMALLEST_BYTES: usize = 64 << 20;
const LARGEST_BYTES: usize = 1 << 30;

/// Memory that no cache of the machine holds.
pub struct Memory {
    bytes: Vec<u8>,
    /// The line that comes next in no order that hardware could foresee.
    at: usize,
}

impl Memory {
    /// Four times the largest cache that the machine shows.
    pub fn of(machine: &MachineFiles) -> Self {
        let folder = "/sys/devices/system/cpu/cpu0/cache";
        let sizes = machine.names(folder).into_iter().filter_map(|index| {
            let size = machine.text(&format!("{folder}/{index}/size"))?;
            let kibibytes: usize = size.strip_suffix('K')?.parse().ok()?;
            kibibytes.checked_mul(4 << 10)
        });
        let size = sizes.max().unwrap_or(0);
        let size = size
            .clamp(SMALLEST_BYTES, LARGEST_BYTES)
            .next_power_of_two();
        Self {
            bytes: vec![1; size],
            at: 0,
        }
    }

    /// Changes [`LINES`] lines, others than the last time.
    pub fn miss(&mut self) {
        let lines = self.bytes.len() / LINE_BYTES;
        for _ in 0..LINES {
            // All lines in turn (Hull and Dobell: odd increment, multiplier 1 modulo 4).
            self.at = (self.at.wrapping_mul(0x0019_660d) + 0x3c6e_f35f) & (lines - 1);
            let byte = &mut self.bytes[self.at * LINE_BYTES];
            *byte = black_box(byte.wrapping_add(1));
        }
    }
}

#[cfg(test)]
impl Memory {
    /// Lines that were changed.
    pub fn changed(&self) -> usize {
        let lines = self.bytes.chunks(LINE_BYTES);
        lines.filter(|line| line[0] != 1).count()
    }
}

/// Computes in registers, as long as misses take on a fast machine.
pub fn compute() {
    let mut value = black_box(1_u64);
    for turn in 0..TURNS {
        value = black_box(value.wrapping_mul(3) ^ turn);
    }
}
