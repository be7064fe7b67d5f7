//! An image under SUSAN's circular mask.
//!
//! Its functions are always inlined: they are the inner loops, and their
//! thresholds are constants where they are called.

use std::ops::Range;

use super::similarity::{FULL, Similarity};
use crate::page_aligned::PageAlignedSlice;
use crate::pgm::GreyImage;

/// Rows of the mask above and below its nucleus.
pub const RADIUS: usize = 3;

/// Rows and columns of the mask.
pub const DIAMETER: usize = 2 * RADIUS + 1;

/// How far the rows of the mask reach to each side of the nucleus' column: the
/// 37 pixels of a digital circle of radius 3.4.
pub const REACH: [usize; DIAMETER] = [1, 2, 3, 3, 3, 2, 1];

/// Similarity of a whole mask.
pub const MASK_TOTAL: u32 = 37 * FULL;

/// The image and the measure of likeness.
#[derive(Debug)]
pub struct MaskedImage {
    /// Pixels in a row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Row after row.
    pub pixels: PageAlignedSlice<u8>,
    similarity: Similarity,
}

impl MaskedImage {
    pub fn new(image: &GreyImage, similarity: Similarity) -> Self {
        let mut pixels = PageAlignedSlice::new(0, image.pixels.len());
        pixels.copy_from_slice(&image.pixels);
        Self {
            width: image.width,
            height: image.height,
            pixels,
            similarity,
        }
    }

    /// The rows of pixels around which the mask fits; the columns alike.
    pub fn rows(&self) -> Range<usize> {
        RADIUS..self.height.saturating_sub(RADIUS)
    }

    /// The columns of pixels around which the mask fits.
    pub fn columns(&self) -> Range<usize> {
        RADIUS..self.width.saturating_sub(RADIUS)
    }

    /// Similarity of a nucleus to each brightness.
    #[inline(always)]
    pub fn similarity_to(&self, x: usize, y: usize) -> &[u8; 256] {
        self.similarity.to(self.pixels[y * self.width + x])
    }

    /// The pixels of row `row` of the mask over a nucleus.
    #[inline(always)]
    pub fn mask_row(&self, x: usize, y: usize, row: usize, reach: usize) -> &[u8] {
        let start = (y + row - RADIUS) * self.width + x - reach;
        &self.pixels[start..=start + 2 * reach]
    }

    /// The size of the USAN, if it is below `threshold`; most pixels are known
    /// not to be before all of the mask was looked at.
    #[inline(always)]
    pub fn usan_below(&self, x: usize, y: usize, threshold: u32) -> Option<u32> {
        let similarity = self.similarity_to(x, y);
        let mut usan = 0;
        for (row, reach) in REACH.into_iter().enumerate() {
            for pixel in self.mask_row(x, y, row, reach) {
                usan += u32::from(similarity[usize::from(*pixel)]);
            }
            if usan >= threshold {
                return None;
            }
        }
        Some(usan)
    }

    /// The first moment of the USAN about its nucleus: its centre of gravity times its size.
    #[inline(always)]
    pub fn moment(&self, x: usize, y: usize) -> (i32, i32) {
        let (mut moment_x, mut moment_y) = (0, 0);
        self.weigh(x, y, |weight, dx, dy| {
            moment_x += weight * dx;
            moment_y += weight * dy;
        });
        (moment_x, moment_y)
    }

    /// The second moments of the USAN about its nucleus, as twice the angle of
    /// its longer axis: cosine and sine times the same length.
    #[inline(always)]
    pub fn double_angle(&self, x: usize, y: usize) -> (i32, i32) {
        let (mut cosine, mut sine) = (0, 0);
        self.weigh(x, y, |weight, dx, dy| {
            cosine += weight * (dx * dx - dy * dy);
            sine += weight * 2 * dx * dy;
        });
        (cosine, sine)
    }

    /// Hands over the similarity of each pixel of the mask and its place from the nucleus.
    #[inline(always)]
    fn weigh(&self, x: usize, y: usize, mut add: impl FnMut(i32, i32, i32)) {
        let similarity = self.similarity_to(x, y);
        for (row, reach) in REACH.into_iter().enumerate() {
            for (column, pixel) in self.mask_row(x, y, row, reach).iter().enumerate() {
                let weight = i32::from(similarity[usize::from(*pixel)]);
                add(
                    weight,
                    column as i32 - reach as i32,
                    row as i32 - RADIUS as i32,
                );
            }
        }
    }
}

/// Whether the centre of gravity is at least one pixel from the nucleus, from
/// the first moment and the size of the USAN.
pub fn is_distant((moment_x, moment_y): (i32, i32), usan: u32) -> bool {
    moment_x.pow(2) + moment_y.pow(2) >= usan.pow(2) as i32
}
