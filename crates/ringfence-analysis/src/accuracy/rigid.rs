//! The rotation and shift that bring points nearest to others: B. K. P. Horn, "Closed-form solution
//! of absolute orientation using unit quaternions" (Journal of the Optical Society of America A,
//! 1987). Only sums, products, quotients and square roots, which IEEE 754 rounds in one way: the same
//! on every machine.

type Point = [f64; 3];
type Symmetric = [[f64; 4]; 4];

/// Sweeps after which the rotations of Jacobi's method no longer change anything.
const SWEEPS: usize = 30;

/// A rotation, then a shift.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rigid {
    rotation: [Point; 3],
    shift: Point,
}

impl Rigid {
    /// Leaves every point where it is.
    pub const NONE: Self = Self {
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        shift: [0.0; 3],
    };

    /// The one after which the first points of all pairs are nearest to the second, in the least
    /// squares sense; there is at least one pair.
    pub fn nearest(pairs: &[(Point, Point)]) -> Self {
        let count = pairs.len() as f64;
        let centre = |of: fn(&(Point, Point)) -> Point| {
            let sum = pairs.iter().map(of).fold([0.0; 3], add);
            sum.map(|coordinate| coordinate / count)
        };
        let (from_centre, to_centre) = (centre(|pair| pair.0), centre(|pair| pair.1));
        let mut products = [[0.0; 3]; 3];
        for (from, to) in pairs {
            let (from, to) = (subtract(*from, from_centre), subtract(*to, to_centre));
            for (row, from) in products.iter_mut().zip(from) {
                for (product, to) in row.iter_mut().zip(to) {
                    *product += from * to;
                }
            }
        }
        let rotation = matrix_of(longest_axis(quaternion_form(products)));
        let turned = Self {
            rotation,
            shift: [0.0; 3],
        };
        let shift = subtract(to_centre, turned.apply(from_centre));
        Self { rotation, shift }
    }

    /// Where a point comes to lie.
    pub fn apply(&self, point: Point) -> Point {
        add(self.rotation.map(|row| dot(row, point)), self.shift)
    }
}

/// How far two points are apart.
pub fn distance(a: Point, b: Point) -> f64 {
    let difference = subtract(a, b);
    dot(difference, difference).sqrt()
}

fn add(a: Point, b: Point) -> Point {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

fn subtract(a: Point, b: Point) -> Point {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

/// Horn's matrix: the unit quaternion of the rotation makes its quadratic form greatest.
fn quaternion_form(s: [[f64; 3]; 3]) -> Symmetric {
    let [[xx, xy, xz], [yx, yy, yz], [zx, zy, zz]] = s;
    [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ]
}

/// The unit eigenvector of the greatest eigenvalue, by Jacobi's method.
fn longest_axis(mut form: Symmetric) -> [f64; 4] {
    // A column an eigenvector; the first of equal eigenvalues wins, so that nothing turns nothing.
    let mut axes: Symmetric = [[0.0; 4]; 4];
    for (index, axis) in axes.iter_mut().enumerate() {
        axis[index] = 1.0;
    }
    for _ in 0..SWEEPS {
        for p in 0..3 {
            for q in p + 1..4 {
                turn(&mut form, &mut axes, p, q);
            }
        }
    }
    let longest = (1..4).fold(0, |best, index| {
        if form[index][index] > form[best][best] {
            index
        } else {
            best
        }
    });
    axes.map(|row| row[longest])
}

/// Turns the axes `p` and `q` so that the form has nothing off its diagonal there.
fn turn(form: &mut Symmetric, axes: &mut Symmetric, p: usize, q: usize) {
    if form[p][q] == 0.0 {
        return;
    }
    let ratio = (form[q][q] - form[p][p]) / (2.0 * form[p][q]);
    let tangent = 1.0_f64.copysign(ratio) / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
    let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
    let sine = tangent * cosine;
    let turned = |a: f64, b: f64| (cosine * a - sine * b, sine * a + cosine * b);
    for row in form.iter_mut().chain(axes) {
        (row[p], row[q]) = turned(row[p], row[q]);
    }
    let pairs: [(f64, f64); 4] = std::array::from_fn(|k| turned(form[p][k], form[q][k]));
    form[p] = pairs.map(|pair| pair.0);
    form[q] = pairs.map(|pair| pair.1);
}

fn matrix_of([w, x, y, z]: [f64; 4]) -> [Point; 3] {
    [
        [
            w * w + x * x - y * y - z * z,
            2.0 * (x * y - w * z),
            2.0 * (x * z + w * y),
        ],
        [
            2.0 * (x * y + w * z),
            w * w - x * x + y * y - z * z,
            2.0 * (y * z - w * x),
        ],
        [
            2.0 * (x * z - w * y),
            2.0 * (y * z + w * x),
            w * w - x * x - y * y + z * z,
        ],
    ]
}
