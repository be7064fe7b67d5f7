//! Draws corners into an image.

use super::Corner;
use crate::pgm::GreyImage;

/// Half the side of the square around a corner, in pixels.
const REACH: usize = 2;

/// A copy of `image`, darkened, with a white square around each corner.
pub fn annotate(image: &GreyImage, corners: &[Corner]) -> GreyImage {
    let mut annotated = image.clone();
    for pixel in &mut annotated.pixels {
        *pixel /= 2;
    }
    for corner in corners {
        let (x, y) = (usize::from(corner.x), usize::from(corner.y));
        for row in y.saturating_sub(REACH)..=(y + REACH).min(image.height - 1) {
            for column in x.saturating_sub(REACH)..=(x + REACH).min(image.width - 1) {
                if row.abs_diff(y) == REACH || column.abs_diff(x) == REACH {
                    annotated.pixels[row * image.width + column] = u8::MAX;
                }
            }
        }
    }
    annotated
}
