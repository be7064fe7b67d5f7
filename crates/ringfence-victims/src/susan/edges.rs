//! Edges: section 3 of the paper, without its last step, the thinning of
//! junctions and the closing of gaps.
//!
//! At an edge the USAN is less than three quarters of the mask, and smaller
//! than at the pixels on both sides of the edge. Which sides these are, the
//! moments of the USAN say.

use super::masked_image::{DIAMETER, MASK_TOTAL, MaskedImage, is_distant};
use super::similarity::{FEATURE_EXPONENT, FULL, Similarity};
use super::{Feature, TooLarge};
use crate::page_aligned::PageAlignedSlice;
use crate::pgm::GreyImage;

/// The USAN at an edge is smaller than this: three quarters of the mask.
const GEOMETRIC_THRESHOLD: u32 = MASK_TOTAL * 3 / 4;

/// A smaller USAN is a line through the nucleus, rather than one side of an edge.
const LINE: u32 = DIAMETER as u32 * FULL;

/// Finds the edges of one image, again and again, without allocating.
#[derive(Debug)]
pub struct EdgeDetector {
    image: MaskedImage,
    /// Of each pixel; 0 where there is no edge.
    responses: PageAlignedSlice<u16>,
    edges: PageAlignedSlice<Feature>,
    found: usize,
}

impl EdgeDetector {
    /// Prepares for `image`.
    ///
    /// Brightnesses that differ by less than about `threshold` count as equal;
    /// it is the least contrast of an edge.
    ///
    /// # Errors
    /// A side of more than 65 536 pixels.
    pub fn new(image: &GreyImage, threshold: u8) -> Result<Self, TooLarge> {
        TooLarge::check(image)?;
        let pixels = image.pixels.len();
        Ok(Self {
            image: MaskedImage::new(image, Similarity::new(threshold, FEATURE_EXPONENT)),
            responses: PageAlignedSlice::new(0, pixels),
            edges: PageAlignedSlice::new(Feature::NONE, pixels),
            found: 0,
        })
    }

    /// Finds the edges.
    pub fn detect(&mut self) {
        for y in self.image.rows() {
            for x in self.image.columns() {
                let usan = self.image.usan_below(x, y, GEOMETRIC_THRESHOLD);
                let response = GEOMETRIC_THRESHOLD - usan.unwrap_or(GEOMETRIC_THRESHOLD);
                self.responses[y * self.image.width + x] = response as u16;
            }
        }
        self.keep_maxima();
    }

    /// The pixels of edges found, in order of row and column.
    pub fn edges(&self) -> &[Feature] {
        &self.edges[..self.found]
    }

    /// Lists the pixels whose response exceeds that of both neighbours across
    /// the edge; of equal ones the first.
    fn keep_maxima(&mut self) {
        self.found = 0;
        for y in self.image.rows() {
            for x in self.image.columns() {
                let own = y * self.image.width + x;
                let response = self.responses[own];
                if response == 0 {
                    continue;
                }
                let step = self.step_across(x, y, response);
                if response > self.responses[own - step] && response >= self.responses[own + step] {
                    self.edges[self.found] = Feature {
                        y: y as u16,
                        x: x as u16,
                        response,
                    };
                    self.found += 1;
                }
            }
        }
    }

    /// How many pixels further in the image the neighbour across the edge is.
    fn step_across(&self, x: usize, y: usize, response: u16) -> usize {
        let usan = GEOMETRIC_THRESHOLD - u32::from(response);
        let moment = self.image.moment(x, y);
        let (cosine, sine) = if usan >= LINE && is_distant(moment, usan) {
            // An edge between pixels: the centre of gravity lies across it.
            let (x, y) = moment;
            (x * x - y * y, 2 * x * y)
        } else {
            // An edge that is a pixel wide: the USAN lies along it.
            let (cosine, sine) = self.image.double_angle(x, y);
            (-cosine, -sine)
        };
        // Twice the angle divides the four directions of neighbours at its diagonals.
        match (cosine.abs() >= sine.abs(), cosine >= 0, sine > 0) {
            (true, true, _) => 1,
            (true, false, _) => self.image.width,
            (false, _, true) => self.image.width + 1,
            (false, _, false) => self.image.width - 1,
        }
    }
}
