//! Grey images in the binary PGM format (`P5`), one byte a pixel.
//!
//! An own reader, since a recorded program should not change its code with the
//! releases of an image library, and because the format is this small.
//! Source: netpbm, `pgm(5)`.

/// Most pixels of an image that is read: bounds memory for a damaged header.
pub const MAX_PIXELS: usize = 1 << 26;

/// A grey image, row after row from the top.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GreyImage {
    /// Pixels in a row; positive.
    pub width: usize,
    /// Rows; positive.
    pub height: usize,
    /// `width * height` brightnesses, 0 (black) to 255.
    pub pixels: Vec<u8>,
}

impl GreyImage {
    /// The part of this size in the middle; `None` if the image is smaller or the part is empty.
    pub fn middle(&self, width: usize, height: usize) -> Option<Self> {
        let left = self.width.checked_sub(width)? / 2;
        let top = self.height.checked_sub(height)? / 2;
        let rows = self.pixels.chunks_exact(self.width).skip(top).take(height);
        let pixels = rows.flat_map(|row| &row[left..left + width]).copied();
        (width > 0 && height > 0).then(|| Self {
            width,
            height,
            pixels: pixels.collect(),
        })
    }
}

/// Why bytes are not a PGM image that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PgmError {
    /// It starts differently.
    #[error("not a binary PGM image: expected `P5` at byte 0")]
    NotPgm,
    /// The header cannot be read.
    #[error("byte {offset} of the PGM header: expected {expected}")]
    Header {
        /// Where, from 0.
        offset: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// The pixels are incomplete.
    #[error("{found} bytes of pixels, expected {expected}; is the file truncated?")]
    Pixels {
        /// Bytes after the header.
        found: usize,
        /// Width times height.
        expected: usize,
    },
}

/// Reads an image; what follows its pixels is ignored. Also the entry for fuzzing.
///
/// # Errors
/// See [`PgmError`].
pub fn parse(bytes: &[u8]) -> Result<GreyImage, PgmError> {
    if !bytes.starts_with(b"P5") {
        return Err(PgmError::NotPgm);
    }
    let mut header = Header { bytes, offset: 2 };
    let width = header.number(1..=MAX_PIXELS, "a width of 1 to 2^26 pixels")?;
    let height = header.number(
        1..=MAX_PIXELS / width,
        "a height so that the image has at most 2^26 pixels",
    )?;
    header.number(255..=255, "the greatest brightness 255, one byte a pixel")?;
    if !header.rest().first().is_some_and(u8::is_ascii_whitespace) {
        return Err(header.expected("one white space before the pixels"));
    }
    header.offset += 1;
    let expected = width * height;
    match header.rest().get(..expected) {
        Some(pixels) => Ok(GreyImage {
            width,
            height,
            pixels: pixels.to_vec(),
        }),
        None => Err(PgmError::Pixels {
            found: header.rest().len(),
            expected,
        }),
    }
}

struct Header<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Header<'a> {
    fn rest(&self) -> &'a [u8] {
        &self.bytes[self.offset..]
    }

    fn expected(&self, expected: &'static str) -> PgmError {
        PgmError::Header {
            offset: self.offset,
            expected,
        }
    }

    /// Skips white space and comments, of which there must be some.
    fn skip_space(&mut self) -> Result<(), PgmError> {
        let start = self.offset;
        loop {
            match self.rest() {
                [b'#', comment @ ..] => {
                    let length = comment.iter().position(|byte| *byte == b'\n');
                    self.offset += 1 + length.unwrap_or(comment.len());
                }
                [space, ..] if space.is_ascii_whitespace() => self.offset += 1,
                _ if self.offset == start => return Err(self.expected("white space")),
                _ => return Ok(()),
            }
        }
    }

    fn number(
        &mut self,
        range: std::ops::RangeInclusive<usize>,
        expected: &'static str,
    ) -> Result<usize, PgmError> {
        self.skip_space()?;
        let digits = self.rest();
        let length = digits
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let value = std::str::from_utf8(&digits[..length])
            .ok()
            .and_then(|digits| digits.parse().ok())
            .filter(|value| range.contains(value))
            .ok_or_else(|| self.expected(expected))?;
        self.offset += length;
        Ok(value)
    }
}

/// Writes an image.
pub fn format(image: &GreyImage) -> Vec<u8> {
    let mut bytes = format!("P5\n{} {}\n255\n", image.width, image.height).into_bytes();
    bytes.extend_from_slice(&image.pixels);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn round_trip(width in 1..20usize, height in 1..20usize, seed: u8) {
            let pixels = (0..width * height).map(|i| (i as u8).wrapping_mul(seed)).collect();
            let image = GreyImage { width, height, pixels };
            let bytes = format(&image);
            for length in 0..bytes.len() {
                prop_assert!(parse(&bytes[..length]).is_err());
            }
            prop_assert_eq!(parse(&bytes), Ok(image));
        }

        #[test]
        fn any_bytes_are_read_or_refused(tail: Vec<u8>, text in "[ 0-9#\n]{0,40}") {
            let _ = parse(&tail);
            let _ = parse(&[b"P5".as_slice(), text.as_bytes(), &tail].concat());
        }
    }

    #[test]
    fn the_middle_of_an_image() {
        let image = GreyImage {
            width: 4,
            height: 3,
            pixels: (0..12).collect(),
        };
        let middle = image.middle(2, 1).unwrap();
        assert_eq!((middle.width, middle.height), (2, 1));
        assert_eq!(middle.pixels, [5, 6]);
        assert_eq!(image.middle(4, 3), Some(image.clone()));
        for (width, height) in [(5, 1), (1, 4), (0, 1), (1, 0)] {
            assert_eq!(image.middle(width, height), None);
        }
    }

    #[test]
    fn comments_are_skipped() {
        let image = parse(b"P5 # from a camera\n2 # wide\n1\n255\nab").unwrap();
        assert_eq!((image.width, image.height), (2, 1));
        assert_eq!(image.pixels, b"ab");
    }

    #[test]
    fn errors_say_what_was_expected() {
        for (bytes, message) in [
            ("P6 1 1 255 a", "expected `P5`"),
            ("P5 0 1 255 a", "byte 3 of the PGM header: expected a width"),
            ("P5 1 99999999999999999999 255 a", "expected a height"),
            (
                "P5 1 1 65535 ab",
                "byte 7 of the PGM header: expected the greatest",
            ),
            ("P5 2 2 255\nabc", "3 bytes of pixels, expected 4"),
            (
                "P51 1 255 a",
                "byte 2 of the PGM header: expected white space",
            ),
        ] {
            let found = parse(bytes.as_bytes()).unwrap_err().to_string();
            assert!(found.contains(message), "{bytes}: {found}");
        }
    }
}
