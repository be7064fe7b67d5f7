//! The calculations against what defines them.

use proptest::prelude::*;
use ringfence_victims::basicmath::{
    BasicMath, Cubic, degrees, integer_square_root, numbers, radians,
};

/// The value of a polynomial, and the sum of its terms' sizes, which bounds its rounding error.
fn value(cubic: &Cubic, x: f64) -> (f64, f64) {
    let terms = [cubic.a * x * x * x, cubic.b * x * x, cubic.c * x, cubic.d];
    (terms.iter().sum(), terms.map(f64::abs).iter().sum())
}

/// Cauchy's bound: no root is farther from 0.
fn largest_root(cubic: &Cubic) -> f64 {
    let others = [cubic.b, cubic.c, cubic.d];
    1.0 + others
        .map(|c| (c / cubic.a).abs())
        .into_iter()
        .fold(0.0, f64::max)
}

fn coefficient() -> impl Strategy<Value = f64> {
    (-1000i32..=1000).prop_map(f64::from)
}

fn from_roots(a: f64, [x, y, z]: [f64; 3]) -> Cubic {
    Cubic {
        a,
        b: -a * (x + y + z),
        c: a * (x * y + y * z + z * x),
        d: -a * x * y * z,
    }
}

proptest! {
    #[test]
    fn polynomials_vanish_at_their_roots(
        a in 1u32..1000, b in coefficient(), c in coefficient(), d in coefficient(),
    ) {
        let cubic = Cubic { a: a.into(), b, c, d };
        let roots = cubic.roots();
        prop_assert!(!roots[0].is_nan());
        prop_assert_eq!(roots[1].is_nan(), roots[2].is_nan());
        let (_, scale) = value(&cubic, largest_root(&cubic));
        for root in roots.into_iter().filter(|root| !root.is_nan()) {
            let (residual, _) = value(&cubic, root);
            prop_assert!(residual.abs() <= 1e-12 * scale, "{cubic:?} at {root}: {residual}");
        }
    }

    #[test]
    fn three_roots_that_are_apart_are_found(
        a in 1u32..10, low in -100i32..100, gap in 1i32..100, other in 1i32..100, negative: bool,
    ) {
        let expected = [low, low + gap, low + gap + other].map(f64::from);
        let a = if negative { -f64::from(a) } else { a.into() };
        let mut roots = from_roots(a, expected).roots();
        roots.sort_by(f64::total_cmp);
        for (root, expected) in roots.into_iter().zip(expected) {
            prop_assert!((root - expected).abs() < 1e-6, "{root}, expected {expected}");
        }
    }

    #[test]
    fn one_root_is_found_beside_two_complex_ones(
        a in 1u32..10, root in -100i32..100, real in -100i32..100, imaginary in 1i32..100,
    ) {
        // (x - root) ((x - real)^2 + imaginary^2)
        let [root, real, imaginary] = [root, real, imaginary].map(f64::from);
        let (a, square) = (f64::from(a), real * real + imaginary * imaginary);
        let cubic = Cubic {
            a,
            b: -a * (root + 2.0 * real),
            c: a * (square + 2.0 * real * root),
            d: -a * root * square,
        };
        let found = cubic.roots();
        prop_assert!((found[0] - root).abs() < 1e-6, "{found:?}, expected {root}");
        prop_assert!(found[1].is_nan());
    }

    #[test]
    fn a_triple_root_is_found(root in -100i32..100) {
        let root = f64::from(root);
        let found = from_roots(1.0, [root; 3]).roots();
        // A rounding error of the constant moves a triple root by its cube root.
        prop_assert!((found[0] - root).abs() < 1e-3, "{found:?}, expected {root}");
    }

    #[test]
    fn integer_square_roots_are_those_of_the_standard_library(number: u32) {
        for number in [number, number >> 16, number >> 28] {
            prop_assert_eq!(integer_square_root(number), number.isqrt());
        }
    }

    #[test]
    fn angles_come_back(angle in -1e6..1e6f64) {
        prop_assert!((radians(angle) - angle.to_radians()).abs() <= 1e-12 * angle.abs());
        prop_assert!((degrees(radians(angle)) - angle).abs() <= 1e-12 * angle.abs());
    }

    #[test]
    fn a_job_does_all_of_it(size in 1u32..50, seed: u64) {
        let mut state = BasicMath::new(size, seed);
        state.calculate();
        let roots: Vec<_> = state.cubics().iter().map(Cubic::roots).collect();
        prop_assert_eq!(roots.len() as u32, size);
        for (expected, found) in roots.iter().flatten().zip(state.roots().iter().flatten()) {
            prop_assert_eq!(expected.to_bits(), found.to_bits());
        }
        let square_roots: Vec<_> = numbers(size).map(u32::isqrt).collect();
        prop_assert_eq!(state.square_roots(), square_roots);
        for (index, (angle, radians)) in state.degrees().iter().zip(state.radians()).enumerate() {
            let expected = 360.0 * index as f64 / f64::from(size);
            prop_assert!((angle - expected).abs() < 1e-9);
            prop_assert!((radians.to_degrees() - expected).abs() < 1e-9);
        }
    }
}

#[test]
fn integer_square_roots_at_the_ends() {
    for number in [
        0,
        1,
        2,
        3,
        4,
        u32::MAX,
        65_535 * 65_535,
        65_535 * 65_535 - 1,
    ] {
        assert_eq!(integer_square_root(number), number.isqrt(), "{number}");
    }
}
