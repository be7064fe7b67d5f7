//! Repeated measurements.

use serde::Serialize;

/// What repetitions of one measurement gave.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The smallest.
    pub least: f64,
    /// A quarter is below.
    pub lower: f64,
    /// The one in the middle.
    pub median: f64,
    /// A quarter is above.
    pub upper: f64,
    /// The largest.
    pub most: f64,
    /// How many there are.
    pub count: usize,
}

impl Spread {
    /// Of at least one value; nearest ranks. No value is `NaN`.
    ///
    /// # Panics
    /// Without values.
    pub fn of(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "a measurement without repetitions");
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let quarter = |quarters: usize| values[(last * quarters + 2) / 4];
        Self {
            least: values[0],
            lower: quarter(1),
            median: quarter(2),
            upper: quarter(3),
            most: values[last],
            count: values.len(),
        }
    }

    /// The value that stands for a time that other work can only lengthen: a quarter of
    /// the repetitions were faster.
    pub fn undisturbed(&self) -> f64 {
        self.lower
    }

    /// The same in another unit.
    pub fn map(self, convert: impl Fn(f64) -> f64) -> Self {
        let mut ends = [self.least, self.most].map(&convert);
        let mut quarters = [self.lower, self.upper].map(&convert);
        ends.sort_by(f64::total_cmp);
        quarters.sort_by(f64::total_cmp);
        Self {
            least: ends[0],
            lower: quarters[0],
            median: convert(self.median),
            upper: quarters[1],
            most: ends[1],
            count: self.count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn of_five_values_each_has_its_place() {
        let spread = Spread::of(vec![5.0, 1.0, 4.0, 2.0, 3.0]);
        let places = [
            spread.least,
            spread.lower,
            spread.median,
            spread.upper,
            spread.most,
        ];
        assert_eq!(places, [1.0, 2.0, 3.0, 4.0, 5.0]);
        let rates = spread.map(|seconds| 60.0 / seconds);
        let places = [
            rates.least,
            rates.lower,
            rates.median,
            rates.upper,
            rates.most,
        ];
        assert_eq!(places, [12.0, 15.0, 20.0, 30.0, 60.0]);
    }

    proptest! {
        #[test]
        fn places_are_in_order_and_among_the_values(values in prop::collection::vec(0.0..1e9, 1..40)) {
            let spread = Spread::of(values.clone());
            let places = [spread.least, spread.lower, spread.median, spread.upper, spread.most];
            prop_assert!(places.is_sorted());
            prop_assert!(places.iter().all(|place| values.contains(place)));
            prop_assert_eq!(spread.count, values.len());
        }
    }
}
