//! SUSAN on images whose corners, edges and noise are known, and against a
//! plain reference written from the paper: no tables, no early ends, no slices.

mod corners;
mod edges;
mod reference;
mod smoothing;

use proptest::prelude::*;
use ringfence_victims::pgm::{self, GreyImage};
use ringfence_victims::susan::Feature;

const THRESHOLD: u8 = 20;

fn places(features: &[Feature]) -> Vec<(usize, usize)> {
    let mut places: Vec<_> = features.iter().map(|f| (f.x.into(), f.y.into())).collect();
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

fn photograph() -> GreyImage {
    pgm::parse(include_bytes!("../../images/camera.pgm")).unwrap()
}

/// Small images: blocks of equal brightness with corners and edges between
/// them, and a little noise in each.
fn blocks_with_noise() -> impl Strategy<Value = GreyImage> {
    let noise = proptest::collection::vec(any::<u8>(), 24 * 24);
    (1usize..24, 1usize..24, 1usize..6, noise).prop_map(|(width, height, blocks, noise)| {
        draw(width, height, |x, y| {
            let block = noise[y / (blocks * 2) * 24 + x / (blocks * 2)];
            block ^ (noise[y * 24 + x] & 7)
        })
    })
}
