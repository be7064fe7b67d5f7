//! Latencies and their percentiles.

/// How often each latency was seen; exact, in clocks.
#[derive(Debug, Clone, Default)]
pub(super) struct Latencies {
    /// By latency.
    counts: Vec<u64>,
    count: u64,
    sum: u64,
}

impl Latencies {
    #[inline]
    pub(super) fn add(&mut self, clocks: u64) {
        let index = clocks as usize;
        if index >= self.counts.len() {
            self.counts.resize((index + 1).next_power_of_two(), 0);
        }
        self.counts[index] += 1;
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
        let reaches = |count: &u64| {
            seen += count;
            seen >= wanted
        };
        self.counts.iter().position(reaches).unwrap_or(0) as u64
    }
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
    fn without_latencies_all_is_zero() {
        let none = Latencies::default();
        assert_eq!((none.mean(), none.percentile(99)), (0.0, 0));
    }
}
