//! Corners.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_victims::pgm::GreyImage;
use ringfence_victims::susan::{CornerDetector, Feature};

use crate::{THRESHOLD, blocks_with_noise, draw, photograph, places, reference};

fn detect(image: &GreyImage, threshold: u8) -> Vec<Feature> {
    let mut detector = CornerDetector::new(image, threshold).unwrap();
    detector.detect();
    let corners = detector.corners().to_vec();
    detector.detect();
    assert_eq!(detector.corners(), corners, "the second job differs");
    corners
}

/// A quarter turn: what was at the top is on the right.
fn rotate(image: &GreyImage) -> GreyImage {
    let (width, height) = (image.height, image.width);
    draw(width, height, |x, y| {
        image.pixels[(image.height - 1 - x) * image.width + y]
    })
}

fn rotate_places(places: &[(usize, usize)], height: usize) -> Vec<(usize, usize)> {
    let mut rotated: Vec<_> = places.iter().map(|(x, y)| (height - 1 - y, *x)).collect();
    rotated.sort_unstable();
    rotated
}

fn square(width: usize, height: usize) -> GreyImage {
    draw(width, height, |x, y| {
        if (10..=24).contains(&x) && (8..=20).contains(&y) {
            200
        } else {
            50
        }
    })
}

#[test]
fn a_square_has_four_corners() {
    let corners = detect(&square(40, 32), THRESHOLD);
    assert_eq!(places(&corners), [(10, 8), (10, 20), (24, 8), (24, 20)]);
    // The USAN of a square's corner is the quarter of the mask with both axes: 13 of 37 pixels.
    assert!(corners.iter().all(|c| c.response == 3700 / 2 - 1300));
}

#[test]
fn a_triangle_has_three_corners() {
    // Right angle at (8, 30), the other two at 45 degrees.
    let triangle = draw(44, 40, |x, y| {
        let inside = (8..=28).contains(&x) && y <= 30 && y >= x + 2;
        if inside { 30 } else { 180 }
    });
    let found = places(&detect(&triangle, THRESHOLD));
    assert_eq!(found.len(), 3, "{found:?}");
    for (x, y) in [(8, 10), (8, 30), (28, 30)] {
        let near = |(a, b): &(usize, usize)| a.abs_diff(x) <= 2 && b.abs_diff(y) <= 2;
        assert!(found.iter().any(near), "no corner near {x}, {y}: {found:?}");
    }
}

#[test]
fn a_thin_line_and_an_edge_have_none() {
    let line = draw(40, 40, |x, _| if x == 20 { 200 } else { 50 });
    let edge = draw(40, 40, |x, _| if x < 20 { 200 } else { 50 });
    assert_eq!(detect(&line, THRESHOLD), []);
    assert_eq!(detect(&edge, THRESHOLD), []);
}

#[test]
fn images_smaller_than_the_mask_have_none() {
    for (width, height) in [(1, 1), (6, 40), (40, 6), (7, 7)] {
        assert_eq!(detect(&draw(width, height, |_, _| 9), THRESHOLD), []);
    }
}

#[test]
fn the_photograph_has_the_corners_of_the_reference() {
    let image = photograph();
    let corners = detect(&image, THRESHOLD);
    assert!(corners.len() > 50, "{}", corners.len());
    assert_eq!(corners, reference::corners(&image, THRESHOLD));
}

proptest! {
    #[test]
    fn flat_images_and_weak_noise_have_none(level in 0u8..246, noise in vec(0u8..10, 24 * 24)) {
        let image = draw(24, 24, |x, y| level + noise[y * 24 + x]);
        prop_assert_eq!(detect(&image, THRESHOLD), []);
    }

    #[test]
    fn rectangles_turn_with_their_corners(
        left in 3usize..10, top in 3usize..10, width in 8usize..20, height in 8usize..20,
        inside in 0u8..100, outside in 150u8..,
    ) {
        let image = draw(40, 36, |x, y| {
            let covered = (left..left + width).contains(&x) && (top..top + height).contains(&y);
            if covered { inside } else { outside }
        });
        let upright = places(&detect(&image, THRESHOLD));
        prop_assert_eq!(upright.len(), 4);
        let turned = rotate(&image);
        prop_assert_eq!(
            places(&detect(&turned, THRESHOLD)),
            rotate_places(&upright, image.height)
        );
    }

    #[test]
    fn agrees_with_the_reference(image in blocks_with_noise(), threshold in 1u8..80) {
        prop_assert_eq!(detect(&image, threshold), reference::corners(&image, threshold));
    }
}
