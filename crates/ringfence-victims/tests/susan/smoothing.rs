//! Smoothing.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_victims::pgm::GreyImage;
use ringfence_victims::susan::Smoother;

use crate::{THRESHOLD, blocks_with_noise, draw, photograph, reference};

fn smooth(image: &GreyImage, threshold: u8) -> GreyImage {
    let mut smoother = Smoother::new(image, threshold);
    smoother.smooth();
    let smoothed = smoother.image();
    smoother.smooth();
    assert_eq!(smoother.image(), smoothed, "the second job differs");
    smoothed
}

/// The sum of the squared differences of neighbours in a row: what noise makes great.
fn roughness(image: &GreyImage) -> u64 {
    let neighbours = image.pixels.windows(2);
    neighbours
        .map(|two| u64::from(two[0].abs_diff(two[1])).pow(2))
        .sum()
}

#[test]
fn an_edge_stays_and_a_speck_goes() {
    let edge = |x| if x < 20 { 200 } else { 50 };
    let clean = draw(40, 30, |x, _| edge(x));
    assert_eq!(smooth(&clean, THRESHOLD), clean);
    let specks = draw(40, 30, |x, y| match (x, y) {
        (10, 10) => 255,
        (30, 20) => 0,
        _ => edge(x),
    });
    assert_eq!(smooth(&specks, THRESHOLD), clean);
}

#[test]
fn the_photograph_is_smoothed_as_by_the_reference() {
    let image = photograph();
    let smoothed = smooth(&image, THRESHOLD);
    assert!(roughness(&smoothed) < roughness(&image));
    assert_eq!(smoothed, reference::smoothed(&image, THRESHOLD));
}

proptest! {
    #[test]
    fn weak_noise_gets_weaker(level in 0u8..246, noise in vec(0u8..10, 24 * 24)) {
        let image = draw(24, 24, |x, y| level + noise[y * 24 + x]);
        let smoothed = smooth(&image, THRESHOLD);
        prop_assert!(smoothed.pixels.iter().all(|p| (level..level + 10).contains(p)));
        prop_assert!(roughness(&smoothed) < roughness(&image));
    }

    #[test]
    fn agrees_with_the_reference(image in blocks_with_noise(), threshold in 1u8..80) {
        prop_assert_eq!(smooth(&image, threshold), reference::smoothed(&image, threshold));
    }
}
