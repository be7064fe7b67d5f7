//! How large arrays are that lie in one level.

use crate::figures::Levels;
use ringfence_workloads::inventory::Cache;

/// Sizes for a machine, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrays {
    /// An array that no cache holds.
    pub dram: u64,
    /// Whether the memory was too small for as much as that should be.
    pub is_small: bool,
}

/// How many times the last-level cache an array in main memory has.
const DRAM_FACTOR: u64 = 4;
/// At most this share of the memory goes into the arrays of all processors together.
const MEMORY_SHARE: u64 = 4;
/// What walks of the aggressors can count.
const ARRAY_MAX: u64 = 8 << 30;

impl Arrays {
    /// For `cpus` processors that each have an array of their own at times.
    pub fn of(_private: &Cache, llc: &Cache, memory_bytes: Option<u64>, cpus: usize) -> Self {
        let wanted = (llc.size_bytes * DRAM_FACTOR).min(ARRAY_MAX);
        let most = memory_bytes.map_or(wanted, |bytes| bytes / MEMORY_SHARE / cpus.max(1) as u64);
        Self {
            dram: wanted.min(most).max(1 << 20),
            is_small: most < wanted,
        }
    }

    /// One array a level, when the last-level cache holds `llc_seen_bytes`: half of the
    /// private cache; what lies in the middle between both caches, of which all processors
    /// together have room in half of the last-level one; and this.
    pub fn within(&self, llc_seen_bytes: u64, private: &Cache, cpus: usize) -> Levels<u64> {
        let middle = (private.size_bytes as f64 * llc_seen_bytes as f64).sqrt() as u64;
        let room = llc_seen_bytes / 2 / cpus.max(1) as u64;
        let least = private.size_bytes * 3 / 2;
        let line = private.line_bytes;
        Levels {
            private: private.size_bytes / 2 / line * line,
            llc: middle.min(room).max(least) / line * line,
            dram: self.dram / line * line,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cache(size_bytes: u64) -> Cache {
        Cache {
            level: 2,
            size_bytes,
            ways: 16,
            line_bytes: 64,
            shared_by: vec![0],
        }
    }

    proptest! {
        #[test]
        fn each_array_lies_in_its_level(
            private_kib in 16_u64..4096,
            factor in 2_u64..200,
            cpus in 1_usize..16,
            memory_gib in 1_u64..64,
        ) {
            let (private, llc) = (cache(private_kib << 10), cache((private_kib << 10) * factor));
            let arrays = Arrays::of(&private, &llc, Some(memory_gib << 30), cpus);
            let sizes = arrays.within(llc.size_bytes, &private, cpus);
            prop_assert!(sizes.private <= private.size_bytes / 2);
            prop_assert!(sizes.llc > private.size_bytes && sizes.llc <= llc.size_bytes);
            prop_assert!(sizes.dram >= llc.size_bytes * 4 || arrays.is_small);
            prop_assert!(sizes.dram * cpus as u64 <= (memory_gib << 30) / 4 + 64);
            for size in [sizes.private, sizes.llc, sizes.dram] {
                prop_assert_eq!(size % 64, 0);
            }
        }
    }
}
