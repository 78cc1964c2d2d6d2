//! Contact points on the surface of shapes.

/// Points of a uniform grid on faces of a box, edges included and each point once.
///
/// `half` are the half sizes (m), `spacing` the greatest distance of neighbours along an axis (m), and `faces` chooses
/// among −x, +x, −y, +y, −z, +z.
///
/// ```
/// let bottom = [false, false, false, false, true, false];
/// let points = carom::laws::points::box_grid([0.1, 0.05, 0.02], 0.02, bottom);
/// assert_eq!(points.len(), 11 * 6);
/// assert!(points.iter().all(|point| point[2] == -0.02));
/// ```
pub fn box_grid(half: [f64; 3], spacing: f64, faces: [bool; 6]) -> Vec<[f64; 3]> {
    let steps = half.map(|half| intervals(2.0 * half, spacing));
    let place = |axis: usize, index: usize| {
        // Exact at both ends.
        let share = 2.0 * index as f64 / steps[axis] as f64 - 1.0;
        half[axis] * share
    };
    let mut points = Vec::new();
    for face in (0..6).filter(|&face| faces[face]) {
        let (normal, side) = (face / 2, face % 2);
        let [u, v] = [(normal + 1) % 3, (normal + 2) % 3];
        for i in 0..=steps[u] {
            for j in 0..=steps[v] {
                let mut index = [0; 3];
                index[normal] = side * steps[normal];
                (index[u], index[v]) = (i, j);
                let on = |face: usize| index[face / 2] == (face % 2) * steps[face / 2];
                if !(0..face).any(|earlier| faces[earlier] && on(earlier)) {
                    points.push(std::array::from_fn(|axis| place(axis, index[axis])));
                }
            }
        }
    }
    points
}

/// How many points [`box_grid`] gives at most, as a number that cannot overflow.
pub fn box_grid_size(half: [f64; 3], spacing: f64, faces: [bool; 6]) -> f64 {
    let steps = half.map(|half| (2.0 * half / spacing).ceil().max(1.0) + 1.0);
    (0..6)
        .filter(|&face| faces[face])
        .map(|face| steps[(face / 2 + 1) % 3] * steps[(face / 2 + 2) % 3])
        .sum()
}

/// How many intervals of at most `spacing` make up a length; a little tolerance keeps 0.2/0.02 at ten.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "positive and bounded by the caller"
)]
fn intervals(length: f64, spacing: f64) -> usize {
    ((length / spacing * (1.0 - 1e-12)).ceil() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faces_share_their_edges() {
        let points = box_grid([0.1, 0.1, 0.1], 0.02, [true; 6]);
        // The surface of an 11 × 11 × 11 lattice.
        assert_eq!(points.len(), 11 * 11 * 11 - 9 * 9 * 9);
        for (index, point) in points.iter().enumerate() {
            assert!(point.iter().any(|x| x.abs() == 0.1));
            assert!(!points[..index].contains(point));
        }
        assert!(box_grid_size([0.1; 3], 0.02, [true; 6]) >= points.len() as f64);
    }

    #[test]
    fn coarse_grids_keep_the_corners() {
        let points = box_grid([0.3, 0.2, 0.1], 10.0, [true; 6]);
        assert_eq!(points.len(), 8);
        let neighbours = box_grid(
            [0.3, 0.2, 0.1],
            0.25,
            [false, false, false, false, false, true],
        );
        assert_eq!(neighbours.len(), 4 * 3);
    }
}
