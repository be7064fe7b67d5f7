//! How values are spread, whatever they are of: quantiles and box plots.
//!
//! A percentile is the nearest rank, as in [`distribution`](crate::distribution).

use serde::{Deserialize, Serialize};

/// How values are spread, in the unit of the values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Smallest.
    pub min: i64,
    /// 50th percentile.
    pub median: i64,
    /// 95th percentile.
    pub p95: i64,
    /// Largest.
    pub max: i64,
    /// Numbers of a box plot.
    pub box_plot: TukeyBox<i64>,
}

/// A box plot after Tukey (Exploratory Data Analysis, 1977).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TukeyBox<T> {
    /// 25th percentile.
    pub lower_quartile: T,
    /// 75th percentile.
    pub upper_quartile: T,
    /// Smallest value at most 1.5 interquartile ranges below the lower quartile.
    pub lower_whisker: T,
    /// Largest value at most 1.5 interquartile ranges above the upper quartile.
    pub upper_whisker: T,
    /// Distinct values beyond the whiskers, ascending.
    pub outliers: Vec<T>,
}

impl Spread {
    /// The spread of `values`, in any order; `None` when there are none.
    pub fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        let sorted = values.as_slice();
        let (&min, &max) = (sorted.first()?, sorted.last()?);
        Some(Self {
            count: sorted.len() as u64,
            min,
            median: nearest_rank(sorted, 50),
            p95: nearest_rank(sorted, 95),
            max,
            box_plot: TukeyBox::of(sorted),
        })
    }

    /// Whether there are enough values for the 95th percentile to be another than
    /// the largest.
    pub fn tells_p95(&self) -> bool {
        self.count >= 20
    }
}

impl<T: Copy + Ord + Into<i128>> TukeyBox<T> {
    /// Of ascending `sorted`, which is not empty.
    pub(crate) fn of(sorted: &[T]) -> Self {
        let lower_quartile = nearest_rank(sorted, 25);
        let upper_quartile = nearest_rank(sorted, 75);
        let reach = 3 * (upper_quartile.into() - lower_quartile.into()) / 2;
        let inside = |value: T| {
            value.into() + reach >= lower_quartile.into()
                && value.into() <= upper_quartile.into() + reach
        };
        // The quartiles themselves are inside, so each search finds something.
        let lower_whisker = sorted.iter().copied().find(|value| inside(*value));
        let upper_whisker = sorted.iter().copied().rfind(|value| inside(*value));
        let mut outliers: Vec<T> = sorted.iter().copied().filter(|v| !inside(*v)).collect();
        outliers.dedup();
        Self {
            lower_quartile,
            upper_quartile,
            lower_whisker: lower_whisker.unwrap_or(lower_quartile),
            upper_whisker: upper_whisker.unwrap_or(upper_quartile),
            outliers,
        }
    }
}

/// The `percent`-th percentile of ascending `sorted`, which is not empty; 1 to 100.
pub(crate) fn nearest_rank<T: Copy>(sorted: &[T], percent: usize) -> T {
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted[rank - 1]
}
