//! Corners: section 4 of the paper.
//!
//! At a corner the USAN is less than half of the mask, it is one piece that
//! reaches from the nucleus to the mask's border, and smaller than at the
//! pixels around.

use super::masked_image::{MASK_TOTAL, MaskedImage, RADIUS, REACH, is_distant};
use super::similarity::{FEATURE_EXPONENT, HALF, Similarity};
use super::{Feature, TooLarge};
use crate::page_aligned::PageAlignedSlice;
use crate::pgm::GreyImage;

/// A corner's USAN is smaller than this: half of the mask.
const GEOMETRIC_THRESHOLD: u32 = MASK_TOTAL / 2;

/// Pixels to each side that a corner must exceed: 5x5 neighbourhood.
const SUPPRESSION_REACH: usize = 2;

/// Finds the corners of one image, again and again, without allocating.
#[derive(Debug)]
pub struct CornerDetector {
    image: MaskedImage,
    /// Of each pixel; 0 where there is no corner.
    responses: PageAlignedSlice<u16>,
    corners: PageAlignedSlice<Feature>,
    found: usize,
}

impl CornerDetector {
    /// Prepares for `image`.
    ///
    /// Brightnesses that differ by less than about `threshold` count as equal;
    /// it is the least contrast of a corner.
    ///
    /// # Errors
    /// A side of more than 65 536 pixels.
    pub fn new(image: &GreyImage, threshold: u8) -> Result<Self, TooLarge> {
        TooLarge::check(image)?;
        // Two corners are more than SUPPRESSION_REACH apart in a row or column.
        let cell = SUPPRESSION_REACH + 1;
        let most_corners = image.width.div_ceil(cell) * image.height.div_ceil(cell);
        Ok(Self {
            image: MaskedImage::new(image, Similarity::new(threshold, FEATURE_EXPONENT)),
            responses: PageAlignedSlice::new(0, image.pixels.len()),
            corners: PageAlignedSlice::new(Feature::NONE, most_corners),
            found: 0,
        })
    }

    /// Finds the corners.
    pub fn detect(&mut self) {
        for y in self.image.rows() {
            for x in self.image.columns() {
                self.responses[y * self.image.width + x] = self.response(x, y);
            }
        }
        self.keep_maxima();
    }

    /// The corners found, in order of row and column.
    pub fn corners(&self) -> &[Feature] {
        &self.corners[..self.found]
    }

    /// How strong a corner the pixel is before its neighbours are looked at; 0 is none.
    fn response(&self, x: usize, y: usize) -> u16 {
        let Some(usan) = self.image.usan_below(x, y, GEOMETRIC_THRESHOLD) else {
            return 0;
        };
        // The paper asks for a distance without a number; it is 2 for a square
        // corner, 0 on a thin line, and less than 1 for noise around the nucleus.
        let moment = self.image.moment(x, y);
        if is_distant(moment, usan) && self.is_one_piece(x, y, moment) {
            (GEOMETRIC_THRESHOLD - usan) as u16
        } else {
            0
        }
    }

    /// Whether all pixels of the mask from the nucleus towards the centre of
    /// gravity belong to the USAN: no line or speck of another brightness between.
    fn is_one_piece(&self, x: usize, y: usize, (moment_x, moment_y): (i32, i32)) -> bool {
        let similarity = self.image.similarity_to(x, y);
        let longest = moment_x.abs().max(moment_y.abs());
        for step in 1..=RADIUS as i32 {
            let dx = divide_to_nearest(step * moment_x, longest);
            let dy = divide_to_nearest(step * moment_y, longest);
            let reach = REACH[(dy + RADIUS as i32) as usize];
            if dx.unsigned_abs() as usize > reach {
                break;
            }
            let pixel = (y as i32 + dy) as usize * self.image.width + (x as i32 + dx) as usize;
            if similarity[usize::from(self.image.pixels[pixel])] < HALF {
                return false;
            }
        }
        true
    }

    /// Lists the pixels whose response exceeds all others in their
    /// neighbourhood; of equal ones the first.
    fn keep_maxima(&mut self) {
        self.found = 0;
        for y in self.image.rows() {
            for x in self.image.columns() {
                let response = self.responses[y * self.image.width + x];
                if response > 0 && self.is_maximum(x, y, response) {
                    self.corners[self.found] = Feature {
                        y: y as u16,
                        x: x as u16,
                        response,
                    };
                    self.found += 1;
                }
            }
        }
    }

    fn is_maximum(&self, x: usize, y: usize, response: u16) -> bool {
        let own = y * self.image.width + x;
        for row in y - SUPPRESSION_REACH..=y + SUPPRESSION_REACH {
            let start = row * self.image.width + x - SUPPRESSION_REACH;
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

/// `dividend / divisor` to the nearest integer, halves away from zero, so that
/// directions that mirror each other stay so. `divisor` is positive.
fn divide_to_nearest(dividend: i32, divisor: i32) -> i32 {
    (2 * dividend + divisor * dividend.signum()) / (2 * divisor)
}
