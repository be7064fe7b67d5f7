//! How alike two brightnesses are.

use crate::page_aligned::PageAlignedSlice;

/// Similarity of equal brightnesses, the paper's 1.0.
pub const FULL: u32 = 100;

/// A pixel this similar belongs to the USAN rather than not.
pub const HALF: u8 = FULL as u8 / 2;

/// Greatest difference of two brightnesses.
const MOST: usize = u8::MAX as usize;

/// How sharply brightnesses are told apart for corners and edges (the paper's equation 4).
pub const FEATURE_EXPONENT: i32 = 6;

/// How sharply for smoothing: as a Gaussian (section 5).
pub const SMOOTHING_EXPONENT: i32 = 2;

/// The paper's comparison function as a table over the difference of two
/// brightnesses: `exp(-(difference / threshold)^exponent)` of [`FULL`], rounded.
#[derive(Debug)]
pub struct Similarity(PageAlignedSlice<u8>);

impl Similarity {
    /// For a threshold in steps of brightness, of which 0 counts as 1, and an even exponent.
    pub fn new(threshold: u8, exponent: i32) -> Self {
        let threshold = f64::from(threshold.max(1));
        let mut table = PageAlignedSlice::new(0, 2 * MOST + 1);
        for (index, value) in table.iter_mut().enumerate() {
            let difference = index as f64 - MOST as f64;
            let similarity = (-(difference / threshold).powi(exponent)).exp();
            *value = (f64::from(FULL) * similarity).round() as u8;
        }
        Self(table)
    }

    /// Similarity of `nucleus` to each brightness, 0 to [`FULL`].
    #[inline]
    pub fn to(&self, nucleus: u8) -> &[u8; MOST + 1] {
        let differences = &self.0[MOST - usize::from(nucleus)..];
        differences
            .first_chunk()
            .expect("the table holds all differences")
    }
}
