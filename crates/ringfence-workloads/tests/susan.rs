//! The corner detector on images whose corners are known, and against a plain
//! reference written from the paper: no tables, no early ends, no slices.

use proptest::collection::vec;
use proptest::prelude::*;
use ringfence_workloads::pgm::GreyImage;
use ringfence_workloads::susan::{Corner, Detector};

const THRESHOLD: u8 = 20;

fn detect(image: &GreyImage, threshold: u8) -> Vec<Corner> {
    let mut detector = Detector::new(image, threshold).unwrap();
    let corners = detector.detect().to_vec();
    assert_eq!(detector.detect(), corners, "the second job differs");
    corners
}

fn places(corners: &[Corner]) -> Vec<(usize, usize)> {
    let mut places: Vec<_> = corners.iter().map(|c| (c.x.into(), c.y.into())).collect();
    places.sort_unstable();
    places
}

fn draw(width: usize, height: usize, brightness: impl Fn(usize, usize) -> u8) -> GreyImage {
    let pixels = (0..width * height)
        .map(|i| brightness(i % width, i / width))
        .collect();
    GreyImage {
        width,
        height,
        pixels,
    }
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

/// The detector as the paper's section 4 reads, on floating-point numbers
/// where it has them; only the similarity is rounded to hundredths.
mod reference {
    use super::*;

    struct Reference<'a> {
        image: &'a GreyImage,
        threshold: f64,
    }

    fn mask() -> impl Iterator<Item = (i64, i64)> {
        (-3..=3)
            .flat_map(|dy| (-3..=3).map(move |dx| (dx, dy)))
            .filter(|(dx, dy)| f64::from((dx * dx + dy * dy) as i32).sqrt() <= 3.4)
    }

    impl Reference<'_> {
        fn pixel(&self, x: i64, y: i64) -> f64 {
            f64::from(self.image.pixels[y as usize * self.image.width + x as usize])
        }

        fn similarity(&self, a: (i64, i64), b: (i64, i64)) -> f64 {
            let difference = self.pixel(a.0, a.1) - self.pixel(b.0, b.1);
            (100.0 * (-(difference / self.threshold).powi(6)).exp()).round()
        }

        fn response(&self, x: i64, y: i64) -> i64 {
            let weighted: Vec<(i64, i64, f64)> = mask()
                .map(|(dx, dy)| (dx, dy, self.similarity((x, y), (x + dx, y + dy))))
                .collect();
            let usan: f64 = weighted.iter().map(|(_, _, c)| c).sum();
            let half = 100.0 * weighted.len() as f64 / 2.0;
            let centre_x = weighted
                .iter()
                .map(|(dx, _, c)| *dx as f64 * c)
                .sum::<f64>()
                / usan;
            let centre_y = weighted
                .iter()
                .map(|(_, dy, c)| *dy as f64 * c)
                .sum::<f64>()
                / usan;
            let distant = centre_x.powi(2) + centre_y.powi(2) >= 1.0 - 1e-9;
            if usan >= half || !distant {
                return 0;
            }
            let longest = centre_x.abs().max(centre_y.abs());
            let towards = |step: f64, part: f64| {
                // Halves away from zero, in spite of rounding errors.
                let exact = step * part / longest;
                (exact.abs() + 0.5 + 1e-9).floor().copysign(exact) as i64
            };
            for step in [1.0, 2.0, 3.0] {
                let place = (towards(step, centre_x), towards(step, centre_y));
                if !mask().any(|inside| inside == place) {
                    break;
                }
                if self.similarity((x, y), (x + place.0, y + place.1)) < 50.0 {
                    return 0;
                }
            }
            (half - usan) as i64
        }
    }

    pub fn detect(image: &GreyImage, threshold: u8) -> Vec<Corner> {
        let threshold = f64::from(threshold);
        let reference = Reference { image, threshold };
        let (width, height) = (image.width as i64, image.height as i64);
        let inside = |x: i64, y: i64| x >= 3 && y >= 3 && x < width - 3 && y < height - 3;
        let response = |x, y| match inside(x, y) {
            true => reference.response(x, y),
            false => 0,
        };
        let mut corners = Vec::new();
        for (y, x) in (0..height).flat_map(|y| (0..width).map(move |x| (y, x))) {
            let own = response(x, y);
            let beaten = (-2..=2)
                .flat_map(|dy| (-2..=2).map(move |dx| (dx, dy)))
                .any(|(dx, dy)| {
                    let rival = response(x + dx, y + dy);
                    rival > own || (rival == own && (dy, dx) < (0, 0))
                });
            if own > 0 && !beaten {
                corners.push(Corner {
                    y: y as u16,
                    x: x as u16,
                    response: own as u16,
                });
            }
        }
        corners
    }
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
    let bytes = include_bytes!("../images/camera.pgm");
    let image = ringfence_workloads::pgm::parse(bytes).unwrap();
    let corners = detect(&image, THRESHOLD);
    assert!(corners.len() > 50, "{}", corners.len());
    assert_eq!(corners, reference::detect(&image, THRESHOLD));
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
    fn agrees_with_the_reference(
        width in 1usize..24,
        height in 1usize..24,
        threshold in 1u8..80,
        noise in vec(any::<u8>(), 24 * 24),
        blocks in 1usize..6,
    ) {
        // Blocks of equal brightness give corners, single pixels give noise.
        let image = draw(width, height, |x, y| {
            let block = noise[y / (blocks * 2) * 24 + x / (blocks * 2)];
            block ^ (noise[y * 24 + x] & 7)
        });
        prop_assert_eq!(detect(&image, threshold), reference::detect(&image, threshold));
    }
}
