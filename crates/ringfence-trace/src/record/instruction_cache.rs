//! Which instructions come from beyond the first-level instruction cache.

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
/// Sets of 32 KiB in two ways.
const SETS: usize = 256;

/// An instruction cache of 32 KiB with two ways and lines of 64 bytes, least recently used:
/// that of a Cortex-A53 as most boards have it (Arm DDI 0500, chapter 6).
#[derive(Debug)]
pub struct InstructionCache {
    /// By set, the line used last first.
    sets: Vec<[Option<u64>; 2]>,
}

impl InstructionCache {
    /// Without a line.
    pub fn new() -> Self {
        Self {
            sets: vec![[None; 2]; SETS],
        }
    }

    /// Of the lines of an instruction at `address`, the numbers of those that were not there.
    pub fn fetch(&mut self, address: u64, size: u64) -> impl Iterator<Item = u64> {
        let last = address.saturating_add(size.saturating_sub(1)) / LINE_BYTES;
        (address / LINE_BYTES..=last).filter(|&line| self.misses(line))
    }

    fn misses(&mut self, line: u64) -> bool {
        let [newest, oldest] = &mut self.sets[(line % SETS as u64) as usize];
        if *newest == Some(line) {
            return false;
        }
        let hits = *oldest == Some(line);
        *oldest = newest.replace(line);
        !hits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_of_a_set_stay_and_the_third_takes_the_place_of_the_older_one() {
        let mut cache = InstructionCache::new();
        let mut misses = |line: u64| cache.fetch(line * LINE_BYTES, 4).count() == 1;
        let [a, b, c] = [7, 7 + 256, 7 + 512];
        assert!(misses(a) && misses(b));
        assert!(!misses(a) && !misses(b) && !misses(a));
        assert!(misses(c) && !misses(a) && misses(b));
    }

    #[test]
    fn an_instruction_across_lines_fetches_both() {
        let mut cache = InstructionCache::new();
        assert_eq!(cache.fetch(62, 4).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(cache.fetch(60, 4).count(), 0);
    }
}
