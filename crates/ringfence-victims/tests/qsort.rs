//! The sort against the standard library's.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_victims::qsort::{Sorter, WORD_BYTES, precedes, quicksort};

fn sorted<T: Copy + Ord>(items: &[T]) -> Vec<T> {
    let mut items = items.to_vec();
    items.sort();
    items
}

fn assert_sorts<T: Copy + Ord + std::fmt::Debug>(items: &[T]) {
    let mut found = items.to_vec();
    quicksort(&mut found, &|a, b| a < b);
    assert_eq!(found, sorted(items));
}

/// Every order of a few items, which are all orders that a partition can meet
/// at the ends of its slice.
#[test]
fn all_orders_of_nine_items_of_three_kinds() {
    for mut code in 0..3u32.pow(9) {
        let items = [(); 9].map(|()| {
            let item = code % 3;
            code /= 3;
            item
        });
        assert_sorts(&items);
    }
}

proptest! {
    #[test]
    fn any_items(items in vec(any::<u16>(), 0..400)) {
        assert_sorts(&items);
    }

    #[test]
    fn many_equal_items(items in vec(0u8..4, 0..400)) {
        assert_sorts(&items);
    }

    #[test]
    fn items_in_order(length in 0usize..2000) {
        assert_sorts(&(0..length).collect::<Vec<_>>());
        assert_sorts(&(0..length).rev().collect::<Vec<_>>());
    }

    #[test]
    fn words_compare_as_slices(a in vec(b'a'..b'c', WORD_BYTES), b in vec(b'a'..b'c', WORD_BYTES),
                               common in 0..=WORD_BYTES) {
        let (a, mut b): ([u8; WORD_BYTES], [u8; WORD_BYTES]) =
            (a.try_into().unwrap(), b.try_into().unwrap());
        b[..common].copy_from_slice(&a[..common]);
        prop_assert_eq!(precedes(&a, &b), a < b);
        prop_assert!(!precedes(&a, &a));
    }

    #[test]
    fn a_job_sorts_what_it_draws(size in 1u32..300, seed: u64) {
        let mut sorter = Sorter::new(size, seed);
        sorter.draw();
        let words = sorted(sorter.words());
        let mut points = sorter.points().to_vec();
        points.sort_by(|a, b| a.distance.total_cmp(&b.distance));
        for _ in 0..2 {
            sorter.sort();
            prop_assert_eq!(sorter.words(), &words);
            prop_assert_eq!(sorter.points(), &points);
        }
        for point in &points {
            let squares: f64 = point.place.iter().map(|along| f64::from(*along).powi(2)).sum();
            prop_assert!((point.distance - squares.sqrt()).abs() <= 1e-9 * point.distance);
        }
        for word in &words {
            let length = word.iter().position(|letter| *letter == 0).unwrap_or(WORD_BYTES);
            prop_assert!(length > 0 && word[length..].iter().all(|letter| *letter == 0));
        }
    }
}
