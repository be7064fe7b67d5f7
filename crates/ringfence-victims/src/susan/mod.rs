//! SUSAN: corners, edges and smoothing of a grey image.
//!
//! Written from S. M. Smith and J. M. Brady, "SUSAN - A New Approach to Low
//! Level Image Processing", International Journal of Computer Vision 23(1),
//! 1997. A circular mask is laid over each pixel, its *nucleus*. The part of
//! the mask that is as bright as the nucleus is the *USAN*: most of the mask
//! inside a surface, about half of it at an edge, less at a corner.

mod annotate;
mod corners;
mod edges;
mod masked_image;
mod similarity;
mod smoothing;

pub use annotate::annotate;
pub use corners::CornerDetector;
pub use edges::EdgeDetector;
pub use masked_image::RADIUS;
pub use smoothing::Smoother;

use crate::pgm::GreyImage;

/// A corner or a pixel of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Feature {
    /// Row from the top.
    pub y: u16,
    /// Column from the left.
    pub x: u16,
    /// By how much its USAN is smaller than the threshold; positive.
    pub response: u16,
}

impl Feature {
    /// Fills lists before there is anything to list.
    const NONE: Self = Self {
        y: 0,
        x: 0,
        response: 0,
    };
}

/// An image whose features have coordinates of more than 16 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an image of {width} x {height} pixels; each side may have at most 65536")]
pub struct TooLarge {
    width: usize,
    height: usize,
}

impl TooLarge {
    fn check(image: &GreyImage) -> Result<(), Self> {
        let most = usize::from(u16::MAX) + 1;
        let (width, height) = (image.width, image.height);
        if width > most || height > most {
            return Err(Self { width, height });
        }
        Ok(())
    }
}
