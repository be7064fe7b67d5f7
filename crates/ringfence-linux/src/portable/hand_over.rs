//! How long hand-overs between gangs took.

use std::collections::BTreeMap;
use std::ops::Range;

/// What was measured of the hand-overs of a case.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HandOvers {
    /// By the partition and the time at which they began: how long a lower gang was on a CPU
    /// since then, although a higher one was runnable.
    overlaps: BTreeMap<(usize, u64), u64>,
    /// By the partition and the time at which they began: how long a thread of the gang that
    /// may run came to no CPU.
    waits: BTreeMap<(usize, u64), u64>,
}

/// Lengths of what happened several times, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// How often it happened.
    pub count: usize,
    /// Half of them were no longer.
    pub median_ns: u64,
    /// The longest.
    pub longest_ns: u64,
}

impl HandOvers {
    /// A thread of a lower gang was on a CPU from `from_ns` to `to_ns` while a higher gang of
    /// the partition was runnable.
    pub fn overlapped(&mut self, partition: usize, from_ns: u64, to_ns: u64) {
        note(&mut self.overlaps, partition, from_ns, to_ns);
    }

    /// A thread of the gang that may run waited for a CPU.
    pub fn waited(&mut self, partition: usize, from_ns: u64, to_ns: u64) {
        note(&mut self.waits, partition, from_ns, to_ns);
    }

    /// Of taking over: until the lower gang was off all CPUs; those within `times_ns`.
    pub fn overlaps(&self, times_ns: &Range<u64>) -> Summary {
        summary(&self.overlaps, times_ns)
    }

    /// Of coming to a CPU, also after it was handed back.
    pub fn waits(&self, times_ns: &Range<u64>) -> Summary {
        summary(&self.waits, times_ns)
    }
}

/// What began at one time is one hand-over: it ends with the last thread.
fn note(all: &mut BTreeMap<(usize, u64), u64>, partition: usize, from_ns: u64, to_ns: u64) {
    if to_ns > from_ns {
        let length_ns = all.entry((partition, from_ns)).or_default();
        *length_ns = (*length_ns).max(to_ns - from_ns);
    }
}

fn summary(all: &BTreeMap<(usize, u64), u64>, times_ns: &Range<u64>) -> Summary {
    let is_within = |from_ns: u64, length_ns: u64| {
        from_ns < times_ns.end && from_ns + length_ns > times_ns.start
    };
    let all = all
        .iter()
        .map(|(&(_, from_ns), &length_ns)| (from_ns, length_ns));
    let within = all.filter(|&(from_ns, length_ns)| is_within(from_ns, length_ns));
    let mut lengths_ns: Vec<u64> = within.map(|(_, length_ns)| length_ns).collect();
    lengths_ns.sort_unstable();
    let at = |index: usize| lengths_ns.get(index).copied().unwrap_or(0);
    let count = lengths_ns.len();
    Summary {
        count,
        median_ns: at(count.saturating_sub(1) / 2),
        longest_ns: at(count.saturating_sub(1)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_over_ends_with_its_last_thread() {
        let mut all = HandOvers::default();
        let always = 0..u64::MAX;
        assert_eq!(all.overlaps(&always), Summary::default());
        for (from_ns, to_ns) in [(10, 14), (10, 19), (10, 12), (50, 53), (60, 60), (70, 75)] {
            all.overlapped(0, from_ns, to_ns);
        }
        all.waited(1, 3, 5);
        let expected = Summary {
            count: 3,
            median_ns: 5,
            longest_ns: 9,
        };
        assert_eq!(all.overlaps(&always), expected);
        assert_eq!(all.waits(&always).longest_ns, 2);
        for (times_ns, count) in [(0..10, 0), (19..50, 0), (18..51, 2), (52..90, 2)] {
            assert_eq!(all.overlaps(&times_ns).count, count, "{times_ns:?}");
        }
    }
}
