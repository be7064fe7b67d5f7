//! Distributions against definitions that are slow and plain.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_analysis::distribution::{CDF_POINTS, Distribution, HISTOGRAM_BINS};

/// The smallest value such that at least `percent` % of the values are at most it.
fn percentile(values: &[u64], percent: usize) -> u64 {
    let at_most = |limit: u64| values.iter().filter(|v| **v <= limit).count();
    let enough = |v: &&u64| at_most(**v) * 100 >= percent * values.len();
    *values.iter().filter(enough).min().unwrap()
}

#[test]
fn one_to_a_hundred() {
    let d = Distribution::of((1..=100).rev().collect()).unwrap();
    assert_eq!(
        (d.min_ns, d.median_ns, d.p95_ns, d.p99_ns, d.max_ns),
        (1, 50, 95, 99, 100)
    );
    assert_eq!(d.mean_ns, 51); // 50.5, halves up
    assert_eq!(d.cdf.len(), 100);
    assert!(d.box_plot.outliers_ns.is_empty());
    assert_eq!(
        (d.box_plot.lower_whisker_ns, d.box_plot.upper_whisker_ns),
        (1, 100)
    );
}

#[test]
fn with_too_few_values_a_percentile_is_the_largest() {
    for count in 1..=250 {
        let d = Distribution::of((1..=count).collect()).unwrap();
        assert_eq!(d.tells_percentile(99), d.p99_ns < d.max_ns, "{count}");
        assert_eq!(d.tells_percentile(95), d.p95_ns < d.max_ns, "{count}");
    }
}

#[test]
fn outliers_lie_beyond_the_whiskers() {
    let d = Distribution::of(vec![10, 11, 12, 13, 14, 17, 18, 100, 100]).unwrap();
    // Quartiles 12 and 18: whiskers reach 9 further.
    assert_eq!(
        (d.box_plot.lower_quartile_ns, d.box_plot.upper_quartile_ns),
        (12, 18)
    );
    assert_eq!(
        (d.box_plot.lower_whisker_ns, d.box_plot.upper_whisker_ns),
        (10, 18)
    );
    assert_eq!(d.box_plot.outliers_ns, [100]);
}

#[test]
fn nothing_has_no_distribution() {
    assert_eq!(Distribution::of(vec![]), None);
}

#[test]
fn the_whole_range_of_values_is_fine() {
    let d = Distribution::of(vec![0, u64::MAX, u64::MAX]).unwrap();
    assert_eq!(d.mean_ns, 12_297_829_382_473_034_410);
    assert_eq!(d.histogram.last().unwrap().count, 2);
}

proptest! {
    #[test]
    fn every_number_follows_its_definition(
        values in vec(prop_oneof![0..50_u64, 0..100_000_u64], 1..600),
    ) {
        let d = Distribution::of(values.clone()).unwrap();
        prop_assert_eq!(d.count, values.len() as u64);
        prop_assert_eq!(d.median_ns, percentile(&values, 50));
        prop_assert_eq!(d.p95_ns, percentile(&values, 95));
        prop_assert_eq!(d.p99_ns, percentile(&values, 99));
        prop_assert_eq!(d.max_ns, percentile(&values, 100));
        prop_assert_eq!(Some(&d.min_ns), values.iter().min());
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        prop_assert!((d.mean_ns as f64 - mean).abs() <= 0.5);

        let b = &d.box_plot;
        let reach = 1.5 * (b.upper_quartile_ns - b.lower_quartile_ns) as f64;
        let low = b.lower_quartile_ns as f64 - reach;
        let high = b.upper_quartile_ns as f64 + reach;
        let inside = |v: &u64| (low..=high).contains(&(*v as f64));
        prop_assert_eq!(Some(b.lower_whisker_ns), values.iter().copied().filter(inside).min());
        prop_assert_eq!(Some(b.upper_whisker_ns), values.iter().copied().filter(inside).max());
        let mut outliers: Vec<u64> = values.iter().copied().filter(|v| !inside(v)).collect();
        outliers.sort_unstable();
        outliers.dedup();
        prop_assert_eq!(&b.outliers_ns, &outliers);

        prop_assert!(d.cdf.len() <= CDF_POINTS);
        prop_assert!(d.cdf.is_sorted_by(|a, b| a.value_ns < b.value_ns && a.count < b.count));
        for point in &d.cdf {
            let at_most = values.iter().filter(|v| **v <= point.value_ns).count();
            prop_assert_eq!(point.count, at_most as u64);
        }
        prop_assert_eq!(d.cdf.first().unwrap().value_ns, d.min_ns);
        prop_assert_eq!(d.cdf.last().unwrap().value_ns, d.max_ns);

        prop_assert!(d.histogram.len() as u64 <= HISTOGRAM_BINS);
        for bin in &d.histogram {
            let inside = values.iter().filter(|v| (bin.from_ns..bin.to_ns).contains(v)).count();
            prop_assert_eq!(bin.count, inside as u64);
        }
        prop_assert_eq!(d.histogram.iter().map(|bin| bin.count).sum::<u64>(), d.count);
    }
}
