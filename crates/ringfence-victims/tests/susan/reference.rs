//! SUSAN as the paper reads, on floating-point numbers where it has them; only
//! the weights are rounded to hundredths.

use ringfence_victims::pgm::GreyImage;
use ringfence_victims::susan::Feature;

/// What rounding errors may move a comparison by.
const EPSILON: f64 = 1e-9;

struct Reference<'a> {
    image: &'a GreyImage,
    threshold: f64,
    exponent: i32,
}

fn mask() -> impl Iterator<Item = (i64, i64)> {
    square(3).filter(|(dx, dy)| distance(*dx, *dy) <= 3.4)
}

fn square(reach: i64) -> impl Iterator<Item = (i64, i64)> {
    (-reach..=reach).flat_map(move |dy| (-reach..=reach).map(move |dx| (dx, dy)))
}

fn distance(dx: i64, dy: i64) -> f64 {
    (dx as f64).hypot(dy as f64)
}

impl Reference<'_> {
    fn pixel(&self, x: i64, y: i64) -> f64 {
        f64::from(self.image.pixels[y as usize * self.image.width + x as usize])
    }

    /// Whether the mask fits around a pixel.
    fn fits(&self, x: i64, y: i64) -> bool {
        let (width, height) = (self.image.width as i64, self.image.height as i64);
        x >= 3 && y >= 3 && x < width - 3 && y < height - 3
    }

    /// All pixels, row after row.
    fn places(&self) -> impl Iterator<Item = (i64, i64)> + use<> {
        let (width, height) = (self.image.width as i64, self.image.height as i64);
        (0..height).flat_map(move |y| (0..width).map(move |x| (x, y)))
    }

    fn similarity(&self, a: (i64, i64), b: (i64, i64)) -> f64 {
        let difference = self.pixel(a.0, a.1) - self.pixel(b.0, b.1);
        (100.0 * (-(difference / self.threshold).powi(self.exponent)).exp()).round()
    }

    /// The sum over the mask of what `term` makes of the place in it, times the similarity.
    fn sum(&self, x: i64, y: i64, term: impl Fn(f64, f64) -> f64) -> f64 {
        mask()
            .map(|(dx, dy)| term(dx as f64, dy as f64) * self.similarity((x, y), (x + dx, y + dy)))
            .sum()
    }

    fn centre(&self, x: i64, y: i64) -> (f64, f64) {
        let usan = self.sum(x, y, |_, _| 1.0);
        (
            self.sum(x, y, |dx, _| dx) / usan,
            self.sum(x, y, |_, dy| dy) / usan,
        )
    }

    /// By how much the USAN is below a part of the mask; 0 if it is not.
    fn response(&self, x: i64, y: i64, part: f64) -> i64 {
        if !self.fits(x, y) {
            return 0;
        }
        let below = part * 100.0 * mask().count() as f64 - self.sum(x, y, |_, _| 1.0);
        below.max(0.0) as i64
    }

    fn corner_response(&self, x: i64, y: i64) -> i64 {
        let response = self.response(x, y, 0.5);
        if response == 0 {
            return 0;
        }
        let (centre_x, centre_y) = self.centre(x, y);
        if centre_x.hypot(centre_y) < 1.0 - EPSILON {
            return 0;
        }
        let longest = centre_x.abs().max(centre_y.abs());
        let towards = |step: f64, part: f64| {
            // Halves away from zero, in spite of rounding errors.
            let exact = step * part / longest;
            (exact.abs() + 0.5 + EPSILON).floor().copysign(exact) as i64
        };
        for step in [1.0, 2.0, 3.0] {
            let place = (towards(step, centre_x), towards(step, centre_y));
            if !mask().any(|inside| inside == place) {
                break;
            }
            if self.similarity((x, y), (x + place.0, y + place.1)) < 50.0 {
                return 0;
            }
        }
        response
    }

    /// The angle of the line across the edge through a pixel.
    fn angle_across(&self, x: i64, y: i64) -> f64 {
        let usan = self.sum(x, y, |_, _| 1.0);
        let (centre_x, centre_y) = self.centre(x, y);
        if usan >= 700.0 && centre_x.hypot(centre_y) >= 1.0 - EPSILON {
            return centre_y.atan2(centre_x);
        }
        let along_x = self.sum(x, y, |dx, _| dx * dx);
        let along_y = self.sum(x, y, |_, dy| dy * dy);
        let mixed = self.sum(x, y, |dx, dy| dx * dy);
        // The axis across has the smaller moment; without axes it is the first.
        if (along_x - along_y).abs() + mixed.abs() == 0.0 {
            return 0.0;
        }
        (2.0 * mixed).atan2(along_x - along_y) / 2.0 + std::f64::consts::FRAC_PI_2
    }

    /// The neighbour across the edge, of the four in front: the one whose
    /// direction is the closest, and rather beside or below than askew.
    fn across(&self, x: i64, y: i64) -> (i64, i64) {
        let angle = self.angle_across(x, y);
        let mut best = ((0, 0), -1.0);
        for (dx, dy) in [(1, 0), (0, 1), (1, 1), (-1, 1)] {
            let cosine = (dx as f64 * angle.cos() + dy as f64 * angle.sin()) / distance(dx, dy);
            if cosine.abs() > best.1 + EPSILON {
                best = ((dx, dy), cosine.abs());
            }
        }
        best.0
    }
}

fn feature(x: i64, y: i64, response: i64) -> Feature {
    Feature {
        y: y as u16,
        x: x as u16,
        response: response as u16,
    }
}

pub fn corners(image: &GreyImage, threshold: u8) -> Vec<Feature> {
    let reference = Reference {
        image,
        threshold: f64::from(threshold),
        exponent: 6,
    };
    let mut corners = Vec::new();
    for (x, y) in reference.places() {
        let own = reference.corner_response(x, y);
        let beaten = || {
            square(2).any(|(dx, dy)| {
                let rival = reference.corner_response(x + dx, y + dy);
                rival > own || (rival == own && (dy, dx) < (0, 0))
            })
        };
        if own > 0 && !beaten() {
            corners.push(feature(x, y, own));
        }
    }
    corners
}

pub fn edges(image: &GreyImage, threshold: u8) -> Vec<Feature> {
    let reference = Reference {
        image,
        threshold: f64::from(threshold),
        exponent: 6,
    };
    let response = |x, y| reference.response(x, y, 0.75);
    let mut edges = Vec::new();
    for (x, y) in reference.places() {
        let own = response(x, y);
        if own > 0 {
            let (dx, dy) = reference.across(x, y);
            if own > response(x - dx, y - dy) && own >= response(x + dx, y + dy) {
                edges.push(feature(x, y, own));
            }
        }
    }
    edges
}

pub fn smoothed(image: &GreyImage, threshold: u8) -> GreyImage {
    let reference = Reference {
        image,
        threshold: f64::from(threshold),
        exponent: 2,
    };
    let weight = |dx: f64, dy: f64| match dx.hypot(dy) {
        0.0 => 0.0,
        r => (100.0 * (-r.powi(2) / (2.0 * 2.0f64.powi(2))).exp()).round(),
    };
    let mut smoothed = image.clone();
    for (x, y) in reference.places().filter(|(x, y)| reference.fits(*x, *y)) {
        let total = reference.sum(x, y, weight);
        let sum = reference.sum(x, y, |dx, dy| {
            weight(dx, dy) * reference.pixel(x + dx as i64, y + dy as i64)
        });
        let value = if total > 0.0 {
            (sum / total + 0.5 + EPSILON).floor()
        } else {
            let mut around: Vec<_> = square(1)
                .filter(|place| *place != (0, 0))
                .map(|(dx, dy)| reference.pixel(x + dx, y + dy))
                .collect();
            around.sort_by(f64::total_cmp);
            ((around[3] + around[4]) / 2.0).floor()
        };
        smoothed.pixels[y as usize * image.width + x as usize] = value as u8;
    }
    smoothed
}
