//! Each method against the standard library's count.

use proptest::prelude::*;
use ringfence_victims::bitcount::{BitCount, METHODS, series};

fn assert_counts(number: u32) {
    for (name, method) in METHODS {
        assert_eq!(method(number), number.count_ones(), "{name} of {number:#x}");
    }
}

#[test]
fn single_ones_and_their_complements() {
    assert_counts(0);
    assert_counts(u32::MAX);
    for place in 0..u32::BITS {
        assert_counts(1 << place);
        assert_counts(!(1 << place));
    }
}

proptest! {
    #[test]
    fn any_number(number: u32) {
        assert_counts(number);
    }

    #[test]
    fn a_job_counts_the_whole_series_by_each_method(size in 0u32..2000) {
        let mut state = BitCount::new(size);
        for _ in 0..2 {
            state.count();
            let expected: u64 = series(size).map(|n| u64::from(n.count_ones())).sum();
            prop_assert_eq!(state.ones(), [expected; METHODS.len()]);
        }
    }
}

#[test]
fn the_series_does_not_repeat_itself() {
    let numbers: std::collections::BTreeSet<u32> = series(10_000).collect();
    assert_eq!(numbers.len(), 10_000);
}
