//! How a list of durations is distributed.
//!
//! A percentile `p` of `n` values is the nearest rank: the `ceil(p n / 100)`-th
//! smallest. It is always one of the values, and the 100th is the largest.
//! Quartiles and the median follow the same rule.

use serde::{Deserialize, Serialize};

use crate::spread::{TukeyBox, nearest_rank};

/// Most points in [`Distribution::cdf`].
pub const CDF_POINTS: usize = 200;

/// Most bins in [`Distribution::histogram`].
pub const HISTOGRAM_BINS: u64 = 50;

/// How durations are distributed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Smallest.
    pub min_ns: u64,
    /// 50th percentile.
    pub median_ns: u64,
    /// Mean, rounded to the nearest nanosecond, halves up.
    pub mean_ns: u64,
    /// 95th percentile.
    pub p95_ns: u64,
    /// 99th percentile.
    pub p99_ns: u64,
    /// Largest.
    pub max_ns: u64,
    /// Numbers of a box plot.
    pub box_plot: BoxPlot,
    /// Points of the empirical distribution function, at most [`CDF_POINTS`]:
    /// every distinct value, or evenly many of them with the first and last.
    pub cdf: Vec<CdfPoint>,
    /// Bins of equal width from the smallest value on, at most [`HISTOGRAM_BINS`].
    pub histogram: Vec<Bin>,
}

/// A box plot after Tukey (Exploratory Data Analysis, 1977).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxPlot {
    /// 25th percentile.
    pub lower_quartile_ns: u64,
    /// 50th percentile.
    pub median_ns: u64,
    /// 75th percentile.
    pub upper_quartile_ns: u64,
    /// Smallest value at most 1.5 interquartile ranges below the lower quartile.
    pub lower_whisker_ns: u64,
    /// Largest value at most 1.5 interquartile ranges above the upper quartile.
    pub upper_whisker_ns: u64,
    /// Distinct values beyond the whiskers, ascending.
    pub outliers_ns: Vec<u64>,
}

/// A point of an empirical distribution function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct CdfPoint {
    /// A value.
    pub value_ns: u64,
    /// How many values are at most that.
    pub count: u64,
}

/// A bin of a histogram: values in `[from_ns, to_ns)`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Where it begins.
    pub from_ns: u64,
    /// Where it ends.
    pub to_ns: u64,
    /// Values in it.
    pub count: u64,
}

impl Distribution {
    /// Whether there are enough values to tell percentile `percent`, below 100,
    /// from the largest: `100 / (100 - percent)` or more.
    pub fn tells_percentile(&self, percent: u64) -> bool {
        self.count.saturating_mul(100 - percent) >= 100
    }

    /// The distribution of `values`, in any order; `None` when there are none.
    pub fn of(mut values: Vec<u64>) -> Option<Self> {
        values.sort_unstable();
        let sorted = values.as_slice();
        let (&min_ns, &max_ns) = (sorted.first()?, sorted.last()?);
        Some(Self {
            count: sorted.len() as u64,
            min_ns,
            median_ns: nearest_rank(sorted, 50),
            mean_ns: mean(sorted),
            p95_ns: nearest_rank(sorted, 95),
            p99_ns: nearest_rank(sorted, 99),
            max_ns,
            box_plot: box_plot(sorted),
            cdf: cdf(sorted),
            histogram: histogram(sorted, min_ns, max_ns),
        })
    }
}

fn mean(values: &[u64]) -> u64 {
    let count = values.len() as u128;
    let sum: u128 = values.iter().copied().map(u128::from).sum();
    // No mean is larger than the largest value.
    ((sum + count / 2) / count) as u64
}

fn box_plot(sorted: &[u64]) -> BoxPlot {
    let of = TukeyBox::of(sorted);
    BoxPlot {
        lower_quartile_ns: of.lower_quartile,
        median_ns: nearest_rank(sorted, 50),
        upper_quartile_ns: of.upper_quartile,
        lower_whisker_ns: of.lower_whisker,
        upper_whisker_ns: of.upper_whisker,
        outliers_ns: of.outliers,
    }
}

fn cdf(sorted: &[u64]) -> Vec<CdfPoint> {
    let steps: Vec<CdfPoint> = sorted
        .chunk_by(|a, b| a == b)
        .scan(0, |count, equal| {
            *count += equal.len() as u64;
            Some(CdfPoint {
                value_ns: equal[0],
                count: *count,
            })
        })
        .collect();
    if steps.len() <= CDF_POINTS {
        return steps;
    }
    let last = steps.len() - 1;
    (0..CDF_POINTS)
        .map(|point| steps[last * point / (CDF_POINTS - 1)])
        .collect()
}

fn histogram(sorted: &[u64], min_ns: u64, max_ns: u64) -> Vec<Bin> {
    let range_ns = max_ns - min_ns;
    let width_ns = range_ns / HISTOGRAM_BINS + 1;
    let bins = range_ns / width_ns + 1;
    let mut bins: Vec<Bin> = (0..bins)
        .map(|bin| {
            let from_ns = min_ns + bin * width_ns;
            Bin {
                from_ns,
                to_ns: from_ns.saturating_add(width_ns),
                count: 0,
            }
        })
        .collect();
    for value in sorted {
        bins[((value - min_ns) / width_ns) as usize].count += 1;
    }
    bins
}
