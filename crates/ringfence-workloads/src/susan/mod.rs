//! SUSAN corner detector.
//!
//! Written from S. M. Smith and J. M. Brady, "SUSAN - A New Approach to Low
//! Level Image Processing", International Journal of Computer Vision 23(1),
//! 1997, section 4. A circular mask is laid over each pixel, its *nucleus*. The
//! part of the mask that is as bright as the nucleus is the *USAN*. At a corner
//! the USAN is less than half of the mask, it is one piece that reaches from
//! the nucleus to the mask's border, and smaller than at the pixels around.

mod annotate;
mod similarity;

pub use annotate::annotate;
use similarity::{FULL, HALF, Similarity};

use crate::page_aligned::PageAlignedSlice;
use crate::pgm::GreyImage;

/// Rows of the mask above and below its nucleus.
pub const RADIUS: usize = 3;

/// How far the rows of the mask reach to each side of the nucleus' column: the
/// 37 pixels of a digital circle of radius 3.4.
const REACH: [usize; 2 * RADIUS + 1] = [1, 2, 3, 3, 3, 2, 1];

/// Similarity of a whole mask.
const MASK_TOTAL: u32 = 37 * FULL;

/// A corner's USAN is smaller than this: half of the mask.
const GEOMETRIC_THRESHOLD: u32 = MASK_TOTAL / 2;

/// Pixels at the border of an image where the mask does not fit.
const BORDER: usize = RADIUS;

/// Pixels to each side that a corner must exceed: 5x5 neighbourhood.
const SUPPRESSION_REACH: usize = 2;

/// A corner of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Corner {
    /// Row from the top.
    pub y: u16,
    /// Column from the left.
    pub x: u16,
    /// By how much its USAN is smaller than the threshold; positive.
    pub response: u16,
}

/// Finds the corners of one image, again and again, without allocating.
#[derive(Debug)]
pub struct Detector {
    width: usize,
    height: usize,
    pixels: PageAlignedSlice<u8>,
    similarity: Similarity,
    /// Of each pixel; 0 where there is no corner.
    responses: PageAlignedSlice<u16>,
    corners: PageAlignedSlice<Corner>,
}

impl Detector {
    /// Prepares for `image`.
    ///
    /// Brightnesses that differ by less than about `threshold` count as equal;
    /// it is the least contrast of a corner. Coordinates are 16 bits, so an
    /// image with more than 65 536 rows or columns gives `None`.
    pub fn new(image: &GreyImage, threshold: u8) -> Option<Self> {
        let most = usize::from(u16::MAX) + 1;
        if image.width > most || image.height > most {
            return None;
        }
        let mut pixels = PageAlignedSlice::new(0, image.pixels.len());
        pixels.copy_from_slice(&image.pixels);
        let none = Corner {
            y: 0,
            x: 0,
            response: 0,
        };
        // Two corners are more than SUPPRESSION_REACH apart in a row or column.
        let cell = SUPPRESSION_REACH + 1;
        let most_corners = image.width.div_ceil(cell) * image.height.div_ceil(cell);
        Some(Self {
            width: image.width,
            height: image.height,
            similarity: Similarity::new(threshold),
            responses: PageAlignedSlice::new(0, pixels.len()),
            corners: PageAlignedSlice::new(none, most_corners),
            pixels,
        })
    }

    /// Finds the corners, in order of row and column.
    pub fn detect(&mut self) -> &[Corner] {
        for y in BORDER..self.height.saturating_sub(BORDER) {
            for x in BORDER..self.width.saturating_sub(BORDER) {
                self.responses[y * self.width + x] = self.response(x, y);
            }
        }
        let found = self.keep_maxima();
        &self.corners[..found]
    }

    /// How strong a corner the pixel is before its neighbours are looked at; 0 is none.
    fn response(&self, x: usize, y: usize) -> u16 {
        let Some(usan) = self.small_usan(x, y) else {
            return 0;
        };
        let (moment_x, moment_y) = self.moment(x, y);
        if is_distant(moment_x, moment_y, usan) && self.is_one_piece(x, y, moment_x, moment_y) {
            (GEOMETRIC_THRESHOLD - usan) as u16
        } else {
            0
        }
    }

    /// The size of the USAN, if it is below the geometric threshold; most
    /// pixels are known not to be before all of the mask was looked at.
    fn small_usan(&self, x: usize, y: usize) -> Option<u32> {
        let similarity = self.similarity.to(self.pixels[y * self.width + x]);
        let mut usan = 0;
        for (row, reach) in REACH.into_iter().enumerate() {
            for pixel in self.mask_row(x, y, row, reach) {
                usan += u32::from(similarity[usize::from(*pixel)]);
            }
            if usan >= GEOMETRIC_THRESHOLD {
                return None;
            }
        }
        Some(usan)
    }

    /// The first moment of the USAN about its nucleus: its centre of gravity times its size.
    fn moment(&self, x: usize, y: usize) -> (i32, i32) {
        let similarity = self.similarity.to(self.pixels[y * self.width + x]);
        let (mut moment_x, mut moment_y) = (0, 0);
        for (row, reach) in REACH.into_iter().enumerate() {
            for (column, pixel) in self.mask_row(x, y, row, reach).iter().enumerate() {
                let weight = i32::from(similarity[usize::from(*pixel)]);
                moment_x += weight * (column as i32 - reach as i32);
                moment_y += weight * (row as i32 - RADIUS as i32);
            }
        }
        (moment_x, moment_y)
    }

    /// The pixels of row `row` of the mask over a nucleus.
    fn mask_row(&self, x: usize, y: usize, row: usize, reach: usize) -> &[u8] {
        let start = (y + row - RADIUS) * self.width + x - reach;
        &self.pixels[start..=start + 2 * reach]
    }

    /// Whether all pixels of the mask from the nucleus towards the centre of
    /// gravity belong to the USAN: no line or speck of another brightness between.
    fn is_one_piece(&self, x: usize, y: usize, moment_x: i32, moment_y: i32) -> bool {
        let similarity = self.similarity.to(self.pixels[y * self.width + x]);
        let longest = moment_x.abs().max(moment_y.abs());
        for step in 1..=RADIUS as i32 {
            let dx = divide_to_nearest(step * moment_x, longest);
            let dy = divide_to_nearest(step * moment_y, longest);
            let reach = REACH[(dy + RADIUS as i32) as usize];
            if dx.unsigned_abs() as usize > reach {
                break;
            }
            let pixel = (y as i32 + dy) as usize * self.width + (x as i32 + dx) as usize;
            if similarity[usize::from(self.pixels[pixel])] < HALF {
                return false;
            }
        }
        true
    }

    /// Lists the pixels whose response exceeds all others in their
    /// neighbourhood; of equal ones the first. Returns how many there are.
    fn keep_maxima(&mut self) -> usize {
        let mut found = 0;
        for y in BORDER..self.height.saturating_sub(BORDER) {
            for x in BORDER..self.width.saturating_sub(BORDER) {
                let response = self.responses[y * self.width + x];
                if response > 0 && self.is_maximum(x, y, response) {
                    self.corners[found] = Corner {
                        y: y as u16,
                        x: x as u16,
                        response,
                    };
                    found += 1;
                }
            }
        }
        found
    }

    fn is_maximum(&self, x: usize, y: usize, response: u16) -> bool {
        let own = y * self.width + x;
        for row in y - SUPPRESSION_REACH..=y + SUPPRESSION_REACH {
            let start = row * self.width + x - SUPPRESSION_REACH;
            for other in start..=start + 2 * SUPPRESSION_REACH {
                let rival = self.responses[other];
                if rival > response || (rival == response && other < own) {
                    return false;
                }
            }
        }
        true
    }
}

/// Whether the centre of gravity is at least one pixel from the nucleus. The
/// paper asks for a distance without a number; it is 2 for a square corner, 0
/// on a thin line, and less than 1 for noise around the nucleus.
fn is_distant(moment_x: i32, moment_y: i32, usan: u32) -> bool {
    moment_x.pow(2) + moment_y.pow(2) >= usan.pow(2) as i32
}

/// `dividend / divisor` to the nearest integer, halves away from zero, so that
/// directions that mirror each other stay so. `divisor` is positive.
fn divide_to_nearest(dividend: i32, divisor: i32) -> i32 {
    (2 * dividend + divisor * dividend.signum()) / (2 * divisor)
}
