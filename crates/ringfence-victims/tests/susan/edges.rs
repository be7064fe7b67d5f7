//! Edges.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_victims::pgm::GreyImage;
use ringfence_victims::susan::{EdgeDetector, Feature};

use crate::{THRESHOLD, blocks_with_noise, draw, photograph, places, reference};

fn detect(image: &GreyImage, threshold: u8) -> Vec<Feature> {
    let mut detector = EdgeDetector::new(image, threshold).unwrap();
    detector.detect();
    let edges = detector.edges().to_vec();
    detector.detect();
    assert_eq!(detector.edges(), edges, "the second job differs");
    edges
}

/// What lies on a line from one border of the mask to the other.
fn along(length: usize, place: impl Fn(usize) -> (usize, usize)) -> Vec<(usize, usize)> {
    let mut places: Vec<_> = (3..length - 3).map(place).collect();
    places.sort_unstable();
    places
}

#[test]
fn a_step_has_one_edge_as_wide_as_a_pixel() {
    let upright = draw(40, 30, |x, _| if x < 20 { 200 } else { 50 });
    let edges = detect(&upright, THRESHOLD);
    // Both sides respond alike; the first is kept.
    assert_eq!(places(&edges), along(30, |y| (19, y)));
    // Of the mask's 37 pixels 22 are on its nucleus' side.
    assert!(edges.iter().all(|e| e.response == 3700 * 3 / 4 - 2200));

    let level = draw(30, 40, |_, y| if y < 20 { 50 } else { 200 });
    assert_eq!(places(&detect(&level, THRESHOLD)), along(30, |x| (x, 19)));
}

#[test]
fn thin_lines_are_found_where_they_are() {
    let line = |on: fn(usize, usize) -> bool| {
        let image = draw(40, 40, |x, y| if on(x, y) { 200 } else { 50 });
        places(&detect(&image, THRESHOLD))
    };
    assert_eq!(line(|x, _| x == 20), along(40, |y| (20, y)));
    assert_eq!(line(|_, y| y == 20), along(40, |x| (x, 20)));
    assert_eq!(line(|x, y| x == y), along(40, |x| (x, x)));
    assert_eq!(line(|x, y| x + y == 39), along(40, |x| (x, 39 - x)));
}

#[test]
fn images_smaller_than_the_mask_have_none() {
    for (width, height) in [(1, 1), (6, 40), (40, 6), (7, 7)] {
        assert_eq!(detect(&draw(width, height, |_, _| 9), THRESHOLD), []);
    }
}

#[test]
fn the_photograph_has_the_edges_of_the_reference() {
    let image = photograph();
    let edges = detect(&image, THRESHOLD);
    assert!(edges.len() > 1000, "{}", edges.len());
    assert_eq!(edges, reference::edges(&image, THRESHOLD));
}

proptest! {
    #[test]
    fn flat_images_and_weak_noise_have_none(level in 0u8..246, noise in vec(0u8..10, 24 * 24)) {
        let image = draw(24, 24, |x, y| level + noise[y * 24 + x]);
        prop_assert_eq!(detect(&image, THRESHOLD), []);
    }

    #[test]
    fn agrees_with_the_reference(image in blocks_with_noise(), threshold in 1u8..80) {
        prop_assert_eq!(detect(&image, threshold), reference::edges(&image, threshold));
    }
}
