//! Least squares with bounds [Stark 1995]: coordinates at a bound are held, the others solved for; the first to meet its
//! bound is held too; one that the solution pulls off its bound is freed again.

use super::{Matrix, add_scaled, largest, least_squares, transpose_times};

/// Where a coordinate is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Free,
    Lower,
    Upper,
}

/// x that makes ‖A·x − b‖ least with lower ≤ x ≤ upper. Zero must lie within the bounds.
pub fn bounded_least_squares(matrix: &Matrix, b: &[f64], lower: &[f64], upper: &[f64]) -> Vec<f64> {
    let size = matrix.columns();
    let mut x = vec![0.0; size];
    let start_slope = slope(matrix, b, &x);
    let mut places: Vec<Place> = (0..size)
        .map(|i| match start_slope[i] {
            s if lower[i] >= 0.0 && s > 0.0 => Place::Lower,
            s if upper[i] <= 0.0 && s < 0.0 => Place::Upper,
            _ => Place::Free,
        })
        .collect();
    let scale = largest(&start_slope);
    // Freed coordinates must show a pull that is more than rounding.
    let least_pull = 1e-12 * scale;
    for _ in 0..3 * size + 10 {
        if !settle_free(matrix, b, [lower, upper], &mut places, &mut x) {
            continue;
        }
        let pull = slope(matrix, b, &x);
        let mut strongest = (least_pull, None);
        for i in 0..size {
            let outward = match places[i] {
                Place::Lower if lower[i] < upper[i] => -pull[i],
                Place::Upper if lower[i] < upper[i] => pull[i],
                _ => continue,
            };
            if outward > strongest.0 {
                strongest = (outward, Some(i));
            }
        }
        match strongest.1 {
            Some(i) => places[i] = Place::Free,
            None => break,
        }
    }
    x
}

/// Aᵀ(A·x − b).
fn slope(matrix: &Matrix, b: &[f64], x: &[f64]) -> Vec<f64> {
    let mut rest = matrix.times(x);
    add_scaled(&mut rest, -1.0, b);
    transpose_times(matrix, &rest)
}

/// Solve for the free coordinates. Whether all stayed within their bounds; else the move ends where the first meets its own,
/// which is held.
fn settle_free(
    matrix: &Matrix,
    b: &[f64],
    [lower, upper]: [&[f64]; 2],
    places: &mut [Place],
    x: &mut [f64],
) -> bool {
    let free: Vec<usize> = (0..x.len()).filter(|&i| places[i] == Place::Free).collect();
    if free.is_empty() {
        return true;
    }
    let mut held = x.to_vec();
    for &i in &free {
        held[i] = 0.0;
    }
    let mut target = b.to_vec();
    add_scaled(&mut target, -1.0, &matrix.times(&held));
    let solution = least_squares(&matrix.columns_at(&free), &target);
    let mut share = 1.0;
    let mut first = None;
    for (&i, &z) in free.iter().zip(&solution) {
        let bound = z.clamp(lower[i], upper[i]);
        if bound != z {
            let part = (bound - x[i]) / (z - x[i]);
            if part < share || first.is_none() {
                share = part.clamp(0.0, 1.0);
                first = Some((i, bound));
            }
        }
    }
    for (&i, &z) in free.iter().zip(&solution) {
        x[i] = (x[i] + share * (z - x[i])).clamp(lower[i], upper[i]);
    }
    let Some((i, bound)) = first else {
        for (&i, &z) in free.iter().zip(&solution) {
            x[i] = z;
        }
        return true;
    };
    x[i] = bound;
    places[i] = if bound == lower[i] {
        Place::Lower
    } else {
        Place::Upper
    };
    false
}

#[cfg(test)]
mod tests {
    use super::super::testing::random_matrix;
    use super::*;
    use crate::random::Random;

    #[test]
    fn solutions_meet_the_conditions_of_a_minimum() {
        for seed in 0..200 {
            let mut random = Random::new(seed, 1);
            let size = 1 + random.below(7);
            let a = random_matrix(size + 2, size, seed);
            let b = random.normals(size + 2);
            let lower: Vec<f64> = (0..size).map(|_| -0.6 * random.uniform()).collect();
            let upper: Vec<f64> = (0..size)
                .map(|_| 0.6 * (random.uniform() - 0.3).max(0.0))
                .collect();
            let x = bounded_least_squares(&a, &b, &lower, &upper);
            let slope = slope(&a, &b, &x);
            for i in 0..size {
                assert!(lower[i] <= x[i] && x[i] <= upper[i]);
                let fine = match x[i] {
                    v if v == lower[i] && v == upper[i] => true,
                    v if v == lower[i] => slope[i] > -1e-10,
                    v if v == upper[i] => slope[i] < 1e-10,
                    _ => slope[i].abs() < 1e-10,
                };
                assert!(fine, "{seed} {i}: {} {}", x[i], slope[i]);
            }
        }
    }

    #[test]
    fn without_bounds_it_is_least_squares() {
        let a = random_matrix(6, 3, 1);
        let b = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let infinite = [f64::INFINITY; 3];
        let x = bounded_least_squares(&a, &b, &infinite.map(|v| -v), &infinite);
        assert_eq!(x, least_squares(&a, &b));
    }
}
