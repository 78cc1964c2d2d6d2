//! On which side of a plane a point lies, decided exactly.
//!
//! The sign of (b − a) × (c − a) · (d − a) is computed in double precision first. When rounding could have changed it,
//! the determinant is evaluated without error as a sum of doubles that do not overlap, [Shewchuk 1997]. Exact signs
//! are what lets the convex hull treat coplanar and collinear points consistently.

use std::cmp::Ordering;

use super::Point;
use super::vector::subtract;

/// Half of the distance between 1 and the next double: the relative rounding error.
const ROUNDING: f64 = f64::EPSILON / 2.0;
/// Bound of the rounding error of the determinant, relative to the sum of magnitudes [Shewchuk 1997].
const DETERMINANT_ERROR: f64 = (7.0 + 56.0 * ROUNDING) * ROUNDING;

/// `Greater` if d is on the side of the plane from which a, b, c run anticlockwise; `Equal` if on the plane.
pub(super) fn side_of_plane(a: Point, b: Point, c: Point, d: Point) -> Ordering {
    let [u, v, w] = [b, c, d].map(|point| subtract(point, a));
    let minors = [
        [v[1] * w[2], v[2] * w[1]],
        [v[2] * w[0], v[0] * w[2]],
        [v[0] * w[1], v[1] * w[0]],
    ];
    let mut determinant = 0.0;
    let mut magnitude = 0.0;
    for axis in 0..3 {
        let [plus, minus] = minors[axis];
        determinant += u[axis] * (plus - minus);
        magnitude += u[axis].abs() * (plus.abs() + minus.abs());
    }
    let bound = DETERMINANT_ERROR * magnitude;
    if determinant > bound {
        Ordering::Greater
    } else if determinant < -bound {
        Ordering::Less
    } else {
        exact_side(a, b, c, d)
    }
}

/// The sign of the determinant without rounding.
fn exact_side(a: Point, b: Point, c: Point, d: Point) -> Ordering {
    let differences = |point: Point| -> [Expansion; 3] {
        std::array::from_fn(|axis| Expansion::difference(point[axis], a[axis]))
    };
    let (u, v, w) = (differences(b), differences(c), differences(d));
    let mut determinant = Expansion::default();
    for axis in 0..3 {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        let plus = v[next].times(&w[last]);
        let minus = v[last].times(&w[next]);
        determinant.add(&u[axis].times(&plus));
        determinant.add(&u[axis].times(&minus.negated()));
    }
    determinant.sign()
}

/// An exact sum of doubles, from the smallest to the largest, without overlap.
#[derive(Clone, Default)]
struct Expansion(Vec<f64>);

impl Expansion {
    /// x − y.
    fn difference(x: f64, y: f64) -> Self {
        let mut expansion = Self::default();
        expansion.add_double(x);
        expansion.add_double(-y);
        expansion
    }

    /// Adds one double.
    fn add_double(&mut self, number: f64) {
        let mut carry = number;
        let mut kept = 0;
        for index in 0..self.0.len() {
            let (sum, error) = two_sum(carry, self.0[index]);
            carry = sum;
            if error != 0.0 {
                self.0[kept] = error;
                kept += 1;
            }
        }
        self.0.truncate(kept);
        if carry != 0.0 {
            self.0.push(carry);
        }
    }

    fn add(&mut self, other: &Self) {
        for &component in &other.0 {
            self.add_double(component);
        }
    }

    fn times(&self, other: &Self) -> Self {
        let mut product = Self::default();
        for &x in &self.0 {
            for &y in &other.0 {
                let high = x * y;
                product.add_double(x.mul_add(y, -high));
                product.add_double(high);
            }
        }
        product
    }

    fn negated(&self) -> Self {
        Self(self.0.iter().map(|component| -component).collect())
    }

    /// The largest component decides.
    fn sign(&self) -> Ordering {
        let last = self.0.last().copied().unwrap_or(0.0);
        last.partial_cmp(&0.0).unwrap_or(Ordering::Equal)
    }
}

/// The rounded sum and its error.
fn two_sum(x: f64, y: f64) -> (f64, f64) {
    let sum = x + y;
    let part = sum - x;
    (sum, (x - (sum - part)) + (y - part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn far_points_are_decided_by_their_side() {
        let (a, b, c) = ([0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]);
        assert_eq!(side_of_plane(a, b, c, [0.2, 0.3, 1.0]), Ordering::Greater);
        assert_eq!(side_of_plane(a, b, c, [0.2, 0.3, -1.0]), Ordering::Less);
        assert_eq!(side_of_plane(a, b, c, [7.0, -3.0, 0.0]), Ordering::Equal);
    }

    #[test]
    fn last_bits_count() {
        // A tilted plane through points with many digits: x + y + z = 3·s up to rounding of s itself.
        let s = f64::from(0.1_f32);
        let (a, b, c) = (
            [3.0 * s, 0.0, 0.0],
            [0.0, 3.0 * s, 0.0],
            [0.0, 0.0, 3.0 * s],
        );
        assert_eq!(side_of_plane(a, b, c, [s, s, s]), Ordering::Equal);
        let above = f64::from_bits(s.to_bits() + 1);
        assert_eq!(side_of_plane(a, b, c, [s, s, above]), Ordering::Greater);
        let below = f64::from_bits(s.to_bits() - 1);
        assert_eq!(side_of_plane(a, b, c, [s, s, below]), Ordering::Less);
    }
}
