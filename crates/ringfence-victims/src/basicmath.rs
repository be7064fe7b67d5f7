//! The mathematics of a control task: roots of cubic polynomials, integer
//! square roots, degrees to radians and back.
//!
//! `libm` is the crate, not the C library: that one has other code for each
//! processor and release.

use std::f64::consts::PI;

use crate::page_aligned::PageAlignedSlice;
use crate::random::Random;

/// Coefficients are integers of at most this size.
const LARGEST_COEFFICIENT: u32 = 1000;

/// `a x^3 + b x^2 + c x + d`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cubic {
    /// Of `x^3`; not 0.
    pub a: f64,
    /// Of `x^2`.
    pub b: f64,
    /// Of `x`.
    pub c: f64,
    /// Constant.
    pub d: f64,
}

impl Cubic {
    /// The real roots, one or three; the others are NaN. Which of the two a
    /// double root gives is up to rounding.
    ///
    /// One root is Cardano's, three are Viète's, as W. H. Press et al. write
    /// them in "Numerical Recipes", section 5.6.
    pub fn roots(&self) -> [f64; 3] {
        let (b, c, d) = (self.b / self.a, self.c / self.a, self.d / self.a);
        let q = (b * b - 3.0 * c) / 9.0;
        let r = (2.0 * b * b * b - 9.0 * b * c + 27.0 * d) / 54.0;
        let shift = b / 3.0;
        let discriminant = q * q * q - r * r;
        if discriminant >= 0.0 && q > 0.0 {
            let angle = libm::acos(r / (q * q * q).sqrt());
            let root = |turn: f64| -2.0 * q.sqrt() * libm::cos((angle + turn) / 3.0) - shift;
            return [root(0.0), root(2.0 * PI), root(-2.0 * PI)];
        }
        let larger = -libm::cbrt(r.abs() + (-discriminant).sqrt()).copysign(r);
        let smaller = if larger == 0.0 { 0.0 } else { q / larger };
        [larger + smaller - shift, f64::NAN, f64::NAN]
    }
}

/// The greatest integer whose square is not above `number`, bit by bit from
/// the highest, as one does it by hand on paper.
pub fn integer_square_root(number: u32) -> u32 {
    let (mut rest, mut root) = (number, 0);
    let mut bit = 1 << (u32::BITS - 2);
    while bit > 0 {
        // `root` is twice the root so far, at the place of `bit`.
        let subtrahend = root + bit;
        root >>= 1;
        if rest >= subtrahend {
            rest -= subtrahend;
            root += bit;
        }
        bit >>= 2;
    }
    root
}

/// As many numbers from 0 in equal steps, nearly to the greatest.
pub fn numbers(size: u32) -> impl Iterator<Item = u32> {
    (0..size).map(move |index| index * (u32::MAX / size))
}

/// An angle in radians.
pub fn radians(degrees: f64) -> f64 {
    degrees * PI / 180.0
}

/// An angle in degrees.
pub fn degrees(radians: f64) -> f64 {
    radians * 180.0 / PI
}

/// The three calculations, again and again.
#[derive(Debug)]
pub struct BasicMath {
    size: u32,
    cubics: PageAlignedSlice<Cubic>,
    roots: PageAlignedSlice<[f64; 3]>,
    square_roots: PageAlignedSlice<u32>,
    radians: PageAlignedSlice<f64>,
    degrees: PageAlignedSlice<f64>,
}

impl BasicMath {
    /// For `size` polynomials, which depend on the seed, and as many numbers and angles.
    pub fn new(size: u32, seed: u64) -> Self {
        let length = size as usize;
        let mut random = Random::new(seed);
        let none = Cubic {
            a: 1.0,
            b: 0.0,
            c: 0.0,
            d: 0.0,
        };
        let mut cubics = PageAlignedSlice::new(none, length);
        for cubic in cubics.iter_mut() {
            let width = 2 * LARGEST_COEFFICIENT + 1;
            let mut coefficient =
                || f64::from(random.below(width)) - f64::from(LARGEST_COEFFICIENT);
            let (b, c, d) = (coefficient(), coefficient(), coefficient());
            let a = f64::from(1 + random.below(LARGEST_COEFFICIENT));
            *cubic = Cubic { a, b, c, d };
        }
        Self {
            size,
            cubics,
            roots: PageAlignedSlice::new([0.0; 3], length),
            square_roots: PageAlignedSlice::new(0, length),
            radians: PageAlignedSlice::new(0.0, length),
            degrees: PageAlignedSlice::new(0.0, length),
        }
    }

    /// Calculates everything.
    pub fn calculate(&mut self) {
        for (roots, cubic) in self.roots.iter_mut().zip(self.cubics.iter()) {
            *roots = cubic.roots();
        }
        for (number, root) in numbers(self.size).zip(self.square_roots.iter_mut()) {
            *root = integer_square_root(number);
        }
        for (index, angle) in (0..self.size).zip(self.radians.iter_mut()) {
            *angle = radians(360.0 * f64::from(index) / f64::from(self.size));
        }
        for (angle, other) in self.degrees.iter_mut().zip(self.radians.iter()) {
            *angle = degrees(*other);
        }
    }

    /// The polynomials.
    pub fn cubics(&self) -> &[Cubic] {
        &self.cubics
    }

    /// The roots of each polynomial.
    pub fn roots(&self) -> &[[f64; 3]] {
        &self.roots
    }

    /// The square roots of [`numbers`].
    pub fn square_roots(&self) -> &[u32] {
        &self.square_roots
    }

    /// A full turn from 0 in equal steps, in radians.
    pub fn radians(&self) -> &[f64] {
        &self.radians
    }

    /// The same, turned back into degrees.
    pub fn degrees(&self) -> &[f64] {
        &self.degrees
    }
}
