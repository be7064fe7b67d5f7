//! Working sets that lie in one level of a platform's memory.

use ringfence_scenario::platform::MemorySystem;

use crate::machine::error::MachineError;

/// Walks wanted over the LLC in one walk over what does not fit it.
const LLCS_IN_DRAM: u64 = 8;
/// Fewest such: a line replaced at random survives a walk over `n` caches with the
/// probability `h = exp(n (h - 1))`, which is a fiftieth for four, and a fifth for two.
const LEAST_LLCS_IN_DRAM: u64 = 4;
/// Memory is given out by the page.
const PAGE_BYTES: u64 = 4096;

/// Bytes that each core of a platform walks.
pub(super) struct WorkingSets {
    /// Half of the L1.
    pub(super) in_l1: u64,
    /// A part of the LLC, or twice the L1 where that is more.
    pub(super) in_llc: u64,
    /// Eight times the LLC, or a core's share of the DRAM where that is less.
    pub(super) in_dram: u64,
}

impl WorkingSets {
    /// Those of `cores` cores, with one in `llc_parts` parts of the LLC.
    ///
    /// # Errors
    /// When the DRAM is too small to have a working set of each core that is not in the LLC.
    pub(super) fn of(
        memory: &MemorySystem,
        cores: u16,
        llc_parts: u64,
    ) -> Result<Self, MachineError> {
        let (l1, llc) = (memory.l1.size_bytes, memory.llc.size_bytes);
        let (l1, llc) = (u64::from(l1), u64::from(llc));
        let share = memory.dram.capacity_bytes() / u64::from(cores) / PAGE_BYTES * PAGE_BYTES;
        if share < LEAST_LLCS_IN_DRAM * llc {
            return Err(MachineError::OutOfRange {
                what: "a core's share of the DRAM in bytes",
                value: share,
                expected: "at least four times `size` of [memory.llc]; shrink the cache, enlarge the DRAM (`rows`, `ranks`, `channels`) or take fewer `cores`",
            });
        }
        Ok(Self {
            in_l1: l1 / 2,
            in_llc: (llc / llc_parts).max(l1 * 2),
            in_dram: share.min(LLCS_IN_DRAM * llc),
        })
    }
}

#[cfg(test)]
mod tests {
    use ringfence_scenario::load_platform;

    use super::*;

    fn memory(llc_mib: u32, dram_gib: u64) -> MemorySystem {
        let mut memory = load_platform("jetson-nano").unwrap().memory.unwrap();
        memory.llc.size_bytes = llc_mib << 20;
        memory.dram.rows *= (dram_gib / 4) as u32;
        assert_eq!(memory.dram.capacity_bytes(), dram_gib << 30);
        memory
    }

    fn sets(llc_mib: u32, dram_gib: u64) -> [u64; 3] {
        let sets = WorkingSets::of(&memory(llc_mib, dram_gib), 4, 4).unwrap();
        [sets.in_l1, sets.in_llc, sets.in_dram]
    }

    #[test]
    fn each_lies_in_its_level_of_a_small_and_of_a_large_cache() {
        assert_eq!(sets(2, 4), [16 << 10, 512 << 10, 16 << 20]);
        assert_eq!(sets(512, 16), [16 << 10, 128 << 20, 4 << 30]);
        // The cores' shares are less than eight caches.
        assert_eq!(sets(512, 8), [16 << 10, 128 << 20, 2 << 30]);
    }

    #[test]
    fn a_cache_too_large_for_the_memory_is_refused() {
        let refused = WorkingSets::of(&memory(512, 4), 4, 4).err().unwrap();
        assert_eq!(
            refused.to_string(),
            "a core's share of the DRAM in bytes is 1073741824, expected at least four times `size` of [memory.llc]; shrink the cache, enlarge the DRAM (`rows`, `ranks`, `channels`) or take fewer `cores`"
        );
    }
}
