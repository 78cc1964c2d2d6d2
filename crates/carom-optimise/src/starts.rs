//! Starting points spread over a space.

use crate::bounds::Bounds;
use crate::random::Random;

/// Points of a Latin hypercube [McKay 1979]: of `count` equal slices of every coordinate, each holds one point.
///
/// A coordinate without two bounds is spread over `reach` to both sides of the centre, cut at the bound it may have.
pub(crate) fn latin_hypercube(
    count: usize,
    bounds: &Bounds,
    center: &[f64],
    reach: f64,
    random: &mut Random,
) -> Vec<Vec<f64>> {
    let mut points = vec![vec![0.0; center.len()]; count];
    for i in 0..center.len() {
        let [low, high] = range(bounds, center, reach, i);
        for (point, slice) in points.iter_mut().zip(random.shuffled(count)) {
            let share = (slice as f64 + random.uniform()) / count as f64;
            point[i] = bounds.clamp(i, low + share * (high - low));
        }
    }
    points
}

/// A point anywhere in the same region.
pub(crate) fn anywhere(
    bounds: &Bounds,
    center: &[f64],
    reach: f64,
    random: &mut Random,
) -> Vec<f64> {
    (0..center.len())
        .map(|i| {
            let [low, high] = range(bounds, center, reach, i);
            bounds.clamp(i, low + random.uniform() * (high - low))
        })
        .collect()
}

fn range(bounds: &Bounds, center: &[f64], reach: f64, i: usize) -> [f64; 2] {
    if bounds.is_boxed(i) {
        [bounds.lower()[i], bounds.upper()[i]]
    } else {
        [
            bounds.clamp(i, center[i] - reach),
            bounds.clamp(i, center[i] + reach),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slice_holds_one_point() {
        let inf = f64::INFINITY;
        let bounds = Bounds::new(vec![0.0, -inf, 0.5], vec![1.0, inf, inf]).unwrap();
        let mut random = Random::new(4, 0);
        let points = latin_hypercube(8, &bounds, &[0.0, 1.0, 1.0], 2.0, &mut random);
        for (i, low, width) in [(0, 0.0, 1.0), (1, -1.0, 4.0), (2, 0.5, 2.5)] {
            let mut slices: Vec<f64> = points
                .iter()
                .map(|point| ((point[i] - low) / width * 8.0).floor())
                .collect();
            slices.sort_by(f64::total_cmp);
            assert_eq!(slices, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0], "{i}");
        }
    }
}
