//! Smoothing: section 5 of the paper.
//!
//! A pixel becomes the mean of its USAN without itself, in which near pixels
//! count more than far ones. Noise goes and edges stay, because across an edge
//! there is no USAN.

use super::masked_image::{DIAMETER, MaskedImage, RADIUS, REACH};
use super::similarity::{SMOOTHING_EXPONENT, Similarity};
use crate::page_aligned::PageAlignedSlice;
use crate::pgm::GreyImage;

/// Standard deviation of the weight of distance, in pixels. The paper leaves
/// it to the user; here the farthest pixels of the mask count a quarter.
const DEVIATION: f64 = 2.0;

/// Weight of no distance, if the nucleus had a weight.
const FULL_WEIGHT: f64 = 100.0;

/// Smooths one image, again and again, without allocating.
#[derive(Debug)]
pub struct Smoother {
    image: MaskedImage,
    /// By row and column of the square around the mask.
    weights: [[u8; DIAMETER]; DIAMETER],
    smoothed: PageAlignedSlice<u8>,
}

impl Smoother {
    /// Prepares for `image`. Contrasts of clearly less than `threshold` are smoothed.
    pub fn new(image: &GreyImage, threshold: u8) -> Self {
        let image = MaskedImage::new(image, Similarity::new(threshold, SMOOTHING_EXPONENT));
        // The border, around which the mask does not fit, stays as it is.
        let mut smoothed = PageAlignedSlice::new(0, image.pixels.len());
        smoothed.copy_from_slice(&image.pixels);
        Self {
            image,
            weights: weights(),
            smoothed,
        }
    }

    /// Smooths the image.
    pub fn smooth(&mut self) {
        for y in self.image.rows() {
            for x in self.image.columns() {
                self.smoothed[y * self.image.width + x] = self.mean(x, y);
            }
        }
    }

    /// The smoothed image.
    pub fn image(&self) -> GreyImage {
        GreyImage {
            width: self.image.width,
            height: self.image.height,
            pixels: self.smoothed.to_vec(),
        }
    }

    /// The weighted mean around a pixel, to the nearest brightness.
    fn mean(&self, x: usize, y: usize) -> u8 {
        let similarity = self.image.similarity_to(x, y);
        let (mut sum, mut total) = (0, 0);
        for (row, reach) in REACH.into_iter().enumerate() {
            let weights = &self.weights[row][RADIUS - reach..];
            for (pixel, weight) in self.image.mask_row(x, y, row, reach).iter().zip(weights) {
                let weight = u32::from(*weight) * u32::from(similarity[usize::from(*pixel)]);
                sum += weight * u32::from(*pixel);
                total += weight;
            }
        }
        match total {
            0 => self.median(x, y),
            _ => ((sum + total / 2) / total) as u8,
        }
    }

    /// The median of the eight pixels around one that is like none: it is noise.
    fn median(&self, x: usize, y: usize) -> u8 {
        let pixel = |row, column| self.image.pixels[row * self.image.width + column];
        let mut around = [
            pixel(y - 1, x - 1),
            pixel(y - 1, x),
            pixel(y - 1, x + 1),
            pixel(y, x - 1),
            pixel(y, x + 1),
            pixel(y + 1, x - 1),
            pixel(y + 1, x),
            pixel(y + 1, x + 1),
        ];
        around.sort_unstable();
        around[3].midpoint(around[4])
    }
}

/// `exp(-r^2 / 2 s^2)` of [`FULL_WEIGHT`], rounded, at distance `r`; 0 for the nucleus.
fn weights() -> [[u8; DIAMETER]; DIAMETER] {
    let mut weights = [[0; DIAMETER]; DIAMETER];
    for (row, weights) in weights.iter_mut().enumerate() {
        for (column, weight) in weights.iter_mut().enumerate() {
            let squared = row.abs_diff(RADIUS).pow(2) + column.abs_diff(RADIUS).pow(2);
            let exponent = -(squared as f64) / (2.0 * DEVIATION.powi(2));
            *weight = (FULL_WEIGHT * exponent.exp()).round() as u8;
        }
    }
    weights[RADIUS][RADIUS] = 0;
    weights
}
