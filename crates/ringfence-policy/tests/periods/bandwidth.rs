//! Bandwidths against exact fractions.

use proptest::prelude::*;
use ringfence_policy::periods::{bandwidth, together};

const NS_PER_S: u128 = 1_000_000_000;

#[test]
fn a_budget_is_as_many_events_a_second() {
    assert_eq!(bandwidth(100, 1_000_000_000), 100);
    assert_eq!(bandwidth(100, 100_000), 1_000_000);
    assert_eq!(bandwidth(1, 999_999_999), 2, "rounded up");
    assert_eq!(bandwidth(0, 1000), 0);
    assert_eq!(bandwidth(1, 999), u64::MAX, "not a period");
    assert_eq!(bandwidth(u64::MAX - 1, 1000), u64::MAX, "more than 64 bits");
    assert_eq!(bandwidth(u64::MAX / 2, 1_000_000_000), u64::MAX / 2);
    assert_eq!(together(3, 4), 7);
    assert_eq!(together(u64::MAX - 1, 1), u64::MAX);
    assert_eq!(together(u64::MAX, u64::MAX), u64::MAX);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Never below the exact one, and above it by less than an event a second.
    #[test]
    fn rounded_up_to_whole_events(
        budget in prop_oneof![0..1000u64, any::<u64>()], length_ns in 1000..=1_000_000_000u64,
    ) {
        let exact = u128::from(budget) * NS_PER_S;
        let rounded = exact.div_ceil(u128::from(length_ns));
        let found = bandwidth(budget, length_ns);
        if rounded < u128::from(u64::MAX) - 2 * NS_PER_S {
            prop_assert_eq!(u128::from(found), rounded);
        } else {
            prop_assert!(found == u64::MAX || u128::from(found) == rounded);
        }
    }
}
