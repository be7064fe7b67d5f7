//! Latencies and their percentiles.

use std::collections::BTreeMap;

use serde::Serialize;

/// Latency of one requestor's reads in nanoseconds.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RequestorLatency {
    /// Its reads that were counted.
    pub reads: u64,
    /// Bytes that it read per simulated second.
    pub read_bytes_per_s: f64,
    /// Mean.
    pub mean_ns: f64,
    /// Median.
    pub p50_ns: f64,
    /// 95th percentile.
    pub p95_ns: f64,
    /// 99th percentile.
    pub p99_ns: f64,
    /// Longest.
    pub max_ns: f64,
}

/// Latencies below this, which nearly all are, are counted in an array.
const SHORT_CLOCKS: u64 = 1 << 16;

/// How often each latency was seen; exact, in clocks of what is simulated.
///
/// Memory grows with the number of different latencies, not with the longest.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    /// By latency, below [`SHORT_CLOCKS`].
    short: Vec<u64>,
    /// By latency, from [`SHORT_CLOCKS`] on.
    long: BTreeMap<u64, u64>,
    count: u64,
    sum: u64,
}

impl Latencies {
    #[inline]
    pub(super) fn add(&mut self, clocks: u64) {
        if clocks < SHORT_CLOCKS {
            let index = clocks as usize;
            if index >= self.short.len() {
                self.short.resize((index + 1).next_power_of_two(), 0);
            }
            self.short[index] += 1;
        } else {
            *self.long.entry(clocks).or_default() += 1;
        }
        self.count += 1;
        self.sum += clocks;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// 0 when there is none.
    pub(super) fn mean(&self) -> f64 {
        self.sum as f64 / self.count.max(1) as f64
    }

    /// The least latency that at least `percent` of all do not exceed; 0 when there is none.
    pub(super) fn percentile(&self, percent: u64) -> u64 {
        let wanted = (self.count * percent).div_ceil(100).max(1);
        let mut seen = 0;
        let mut reaches = |count: u64| {
            seen += count;
            seen >= wanted
        };
        let short = self.short.iter().position(|&count| reaches(count));
        short.map_or_else(
            || {
                let mut long = self.long.iter();
                let found = long.find(|&(_, &count)| reaches(count));
                found.map_or(0, |(&clocks, _)| clocks)
            },
            |clocks| clocks as u64,
        )
    }
}

impl RequestorLatency {
    /// Of reads of `line_bytes` in `simulated_ns`, whose latencies count in clocks of `clock_ns`.
    pub(super) fn of(
        latencies: &Latencies,
        clock_ns: f64,
        simulated_ns: f64,
        line_bytes: u32,
    ) -> Self {
        let percentile = |percent| latencies.percentile(percent) as f64 * clock_ns;
        let bytes = (latencies.count() * u64::from(line_bytes)) as f64;
        Self {
            reads: latencies.count(),
            read_bytes_per_s: bytes / simulated_ns * 1e9,
            mean_ns: latencies.mean() * clock_ns,
            p50_ns: percentile(50),
            p95_ns: percentile(95),
            p99_ns: percentile(99),
            max_ns: percentile(100),
        }
    }
}

/// Mean over all reads, in clocks.
pub(super) fn mean<'a>(requestors: impl Iterator<Item = &'a Latencies>) -> f64 {
    let (reads, clocks) = requestors.fold((0, 0), |(reads, clocks), latencies| {
        (reads + latencies.count, clocks + latencies.sum)
    });
    clocks as f64 / reads.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_sorted_list() {
        let mut latencies = Latencies::default();
        for clocks in [30, 10, 20, 40] {
            latencies.add(clocks);
        }
        assert_eq!((latencies.count(), latencies.mean()), (4, 25.0));
        let percentiles = [1, 25, 26, 50, 75, 76, 100].map(|percent| latencies.percentile(percent));
        assert_eq!(percentiles, [10, 10, 20, 20, 30, 40, 40]);
    }

    #[test]
    fn long_latencies_are_exact_and_take_no_more_memory_than_short_ones() {
        let mut latencies = Latencies::default();
        let long = [SHORT_CLOCKS - 1, SHORT_CLOCKS, 1 << 40, 1 << 40];
        for clocks in long {
            latencies.add(clocks);
        }
        let percentiles = [25, 50, 75, 100].map(|percent| latencies.percentile(percent));
        assert_eq!(percentiles, long);
        assert_eq!(latencies.short.len() as u64, SHORT_CLOCKS);
        assert_eq!(latencies.long.len(), 2);
    }

    #[test]
    fn without_latencies_all_is_zero() {
        let none = Latencies::default();
        assert_eq!((none.mean(), none.percentile(99)), (0.0, 0));
    }
}
