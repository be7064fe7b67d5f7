//! Draws features into an image.

use super::Feature;
use crate::pgm::GreyImage;

/// A copy of `image`, darkened, with a white square around each feature that
/// is `reach` pixels away from it: at 0 the pixel itself.
pub fn annotate(image: &GreyImage, features: &[Feature], reach: usize) -> GreyImage {
    let mut annotated = image.clone();
    for pixel in &mut annotated.pixels {
        *pixel /= 2;
    }
    for feature in features {
        let (x, y) = (usize::from(feature.x), usize::from(feature.y));
        for row in y.saturating_sub(reach)..=(y + reach).min(image.height - 1) {
            for column in x.saturating_sub(reach)..=(x + reach).min(image.width - 1) {
                if row.abs_diff(y) == reach || column.abs_diff(x) == reach {
                    annotated.pixels[row * image.width + column] = u8::MAX;
                }
            }
        }
    }
    annotated
}
