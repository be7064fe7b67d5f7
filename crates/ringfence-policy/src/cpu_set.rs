//! A set of CPUs, laid out as `struct rf_cpu_set` of `policy/include/ringfence/cpu_set.h`.

use std::fmt;

const WORD_BITS: u16 = 64;
const WORDS: usize = CpuSet::MAX_CPUS as usize / WORD_BITS as usize;

/// A set of CPUs, numbered 0 to 511.
///
/// A CPU number out of range is a mistake of the caller, like an index past the
/// end of a slice: [`insert`](Self::insert) panics on it. No set contains it.
#[repr(C)]
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CpuSet {
    words: [u64; WORDS],
}

// As shim_gang.c asserts for `struct rf_cpu_set`.
const _: () = assert!(size_of::<CpuSet>() == 64);

impl CpuSet {
    /// CPUs that a set can hold.
    pub const MAX_CPUS: u16 = 512;

    /// The empty set.
    pub const fn new() -> Self {
        Self { words: [0; WORDS] }
    }

    /// Adds `cpu`.
    ///
    /// # Panics
    /// If `cpu` is above 511.
    pub fn insert(&mut self, cpu: u16) {
        assert!(cpu < Self::MAX_CPUS, "CPU {cpu}: expected 0 to 511");
        self.words[word(cpu)] |= bit(cpu);
    }

    /// Removes `cpu`, if it is there.
    pub fn remove(&mut self, cpu: u16) {
        if cpu < Self::MAX_CPUS {
            self.words[word(cpu)] &= !bit(cpu);
        }
    }

    /// Whether `cpu` is in the set.
    pub fn contains(&self, cpu: u16) -> bool {
        cpu < Self::MAX_CPUS && self.words[word(cpu)] & bit(cpu) != 0
    }

    /// Whether no CPU is in the set.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// The CPUs in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u16> + use<> {
        let set = *self;
        (0..Self::MAX_CPUS).filter(move |&cpu| set.contains(cpu))
    }
}

fn word(cpu: u16) -> usize {
    usize::from(cpu / WORD_BITS)
}

fn bit(cpu: u16) -> u64 {
    1 << (cpu % WORD_BITS)
}

impl FromIterator<u16> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u16>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn behaves_like_a_set(steps in prop::collection::vec((any::<bool>(), 0..512_u16), 0..200)) {
            let mut set = CpuSet::new();
            let mut expected = BTreeSet::new();
            for (insert, cpu) in steps {
                if insert {
                    set.insert(cpu);
                    expected.insert(cpu);
                } else {
                    set.remove(cpu);
                    expected.remove(&cpu);
                }
                prop_assert_eq!(set.contains(cpu), insert);
                prop_assert_eq!(set.is_empty(), expected.is_empty());
            }
            prop_assert_eq!(set, expected.iter().copied().collect());
            prop_assert!(set.iter().eq(expected));
        }
    }

    #[test]
    fn contains_no_cpu_out_of_range() {
        let mut all: CpuSet = (0..512).collect();
        all.remove(512);
        assert!(!all.contains(512) && !all.contains(u16::MAX));
        assert_eq!(all.iter().count(), 512);
    }

    #[test]
    #[should_panic(expected = "CPU 512: expected 0 to 511")]
    fn refuses_to_insert_a_cpu_out_of_range() {
        CpuSet::new().insert(512);
    }
}
