//! Orientations in all notations of MJCF, and poses of frames.

use super::attribute::Attributes;
use super::codes;

/// Below this length a vector has no direction.
const MIN_LENGTH: f64 = 1e-14;

/// Unit quaternion without rotation.
pub(crate) const IDENTITY: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

/// How angles are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AngleNotation {
    pub(crate) degrees: bool,
    /// Axes of Euler angles; capitals are fixed axes, small letters move along.
    pub(crate) euler_sequence: [u8; 3],
}

impl Default for AngleNotation {
    fn default() -> Self {
        Self {
            degrees: true,
            euler_sequence: *b"xyz",
        }
    }
}

impl AngleNotation {
    fn radians(self, angle: f64) -> f64 {
        if self.degrees {
            angle / 180.0 * std::f64::consts::PI
        } else {
            angle
        }
    }

    /// The rotation by Euler angles as written.
    pub(crate) fn euler(self, angles: [f64; 3]) -> [f64; 4] {
        let mut quaternion = IDENTITY;
        for (axis, angle) in self.euler_sequence.into_iter().zip(angles) {
            let half = self.radians(angle) / 2.0;
            let mut rotation = [half.cos(), 0.0, 0.0, 0.0];
            let index = match axis.to_ascii_lowercase() {
                b'x' => 1,
                b'y' => 2,
                _ => 3,
            };
            rotation[index] = half.sin();
            quaternion = if axis.is_ascii_lowercase() {
                multiply(quaternion, rotation)
            } else {
                multiply(rotation, quaternion)
            };
        }
        normalized(quaternion)
    }
}

impl Attributes<'_, '_> {
    /// Sets a quaternion from whichever orientation attribute is written.
    pub(super) fn set_orientation(&self, notation: AngleNotation, quaternion: &mut [f64; 4]) {
        self.exclusive(&["quat", "axisangle", "xyaxes", "zaxis", "euler"]);
        if let Some(written) = self.get::<[f64; 4]>("quat") {
            if written == [0.0; 4] {
                self.error(codes::ORIENTATION, "quat", "cannot be zero");
            } else {
                *quaternion = normalized(written);
            }
        }
        if let Some([x, y, z, angle]) = self.get::<[f64; 4]>("axisangle") {
            match unit([x, y, z]) {
                Some(axis) => *quaternion = axis_angle(axis, notation.radians(angle)),
                None => self.error(
                    codes::ORIENTATION,
                    "axisangle",
                    "needs an axis that is not zero",
                ),
            }
        }
        if let Some(axes) = self.get::<[f64; 6]>("xyaxes") {
            match from_xy_axes(axes) {
                Some(rotation) => *quaternion = rotation,
                None => self.error(
                    codes::ORIENTATION,
                    "xyaxes",
                    "needs two axes that are neither zero nor parallel",
                ),
            }
        }
        if let Some(axis) = self.get::<[f64; 3]>("zaxis") {
            match unit(axis) {
                Some(axis) => *quaternion = from_z_axis(axis),
                None => self.error(codes::ORIENTATION, "zaxis", "cannot be zero"),
            }
        }
        if let Some(angles) = self.get::<[f64; 3]>("euler") {
            *quaternion = notation.euler(angles);
        }
    }
}

/// Position and orientation of one frame in another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pose {
    pub(crate) position: [f64; 3],
    pub(crate) quaternion: [f64; 4],
}

impl Pose {
    pub(crate) const IDENTITY: Self = Self {
        position: [0.0; 3],
        quaternion: IDENTITY,
    };

    /// The pose of `child`, given in this frame, in the frame around this one.
    pub(super) fn then(&self, child: Pose) -> Pose {
        Pose {
            position: self.point(child.position),
            quaternion: normalized(multiply(self.quaternion, child.quaternion)),
        }
    }

    /// A point of this frame in the frame around it.
    pub(super) fn point(&self, point: [f64; 3]) -> [f64; 3] {
        let rotated = rotate(self.quaternion, point);
        std::array::from_fn(|axis| self.position[axis] + rotated[axis])
    }
}

fn norm(vector: &[f64]) -> f64 {
    let length = vector.iter().map(|entry| entry * entry).sum::<f64>().sqrt();
    if length.is_finite() {
        return length;
    }
    // The squares of huge entries overflow.
    let largest = vector
        .iter()
        .fold(0.0, |largest: f64, entry| largest.max(entry.abs()));
    let scaled = vector.iter().map(|entry| entry / largest);
    largest * scaled.map(|entry| entry * entry).sum::<f64>().sqrt()
}

/// The vector with length one; `None` when it is too short.
pub(crate) fn unit(vector: [f64; 3]) -> Option<[f64; 3]> {
    let length = norm(&vector);
    (length * length >= MIN_LENGTH).then(|| vector.map(|entry| entry / length))
}

/// The quaternion with length one; lengths that are already one stay as they are.
pub(super) fn normalized(quaternion: [f64; 4]) -> [f64; 4] {
    let length = norm(&quaternion);
    if length * length < MIN_LENGTH || (length - 1.0).abs() <= MIN_LENGTH {
        return quaternion;
    }
    quaternion.map(|entry| entry / length)
}

/// Hamilton product.
pub(super) fn multiply(a: [f64; 4], b: [f64; 4]) -> [f64; 4] {
    [
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    ]
}

/// The rotation back.
pub(super) fn conjugate([w, x, y, z]: [f64; 4]) -> [f64; 4] {
    [w, -x, -y, -z]
}

/// Rotates a vector.
pub(crate) fn rotate(quaternion: [f64; 4], vector: [f64; 3]) -> [f64; 3] {
    if quaternion == IDENTITY {
        return vector;
    }
    let [w, x, y, z] = quaternion;
    let axis = [x, y, z];
    // v + 2w(q × v) + 2 q × (q × v)
    let once = cross(axis, vector);
    let twice = cross(axis, once);
    std::array::from_fn(|i| vector[i] + 2.0 * (w * once[i] + twice[i]))
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ]
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn axis_angle(axis: [f64; 3], angle: f64) -> [f64; 4] {
    let (sine, cosine) = (angle / 2.0).sin_cos();
    [cosine, sine * axis[0], sine * axis[1], sine * axis[2]]
}

/// The smallest rotation that takes the z axis to a unit vector.
pub(crate) fn from_z_axis(axis: [f64; 3]) -> [f64; 4] {
    let normal = cross([0.0, 0.0, 1.0], axis);
    // Parallel: any axis in the plane will do for half a turn.
    let (sine, direction) = unit(normal).map_or((0.0, [1.0, 0.0, 0.0]), |direction| {
        (norm(&normal), direction)
    });
    axis_angle(direction, sine.atan2(axis[2]))
}

fn from_xy_axes(axes: [f64; 6]) -> Option<[f64; 4]> {
    let [x0, x1, x2, y0, y1, y2] = axes;
    let x = unit([x0, x1, x2])?;
    let written = [y0, y1, y2];
    let along = dot(x, written);
    let y = unit(std::array::from_fn(|i| written[i] - along * x[i]))?;
    let z = unit(cross(x, y))?;
    Some(from_columns(x, y, z))
}

/// The quaternion of the rotation with the given columns, by its largest entry.
fn from_columns(x: [f64; 3], y: [f64; 3], z: [f64; 3]) -> [f64; 4] {
    let (xx, yy, zz) = (x[0], y[1], z[2]);
    let largest = |sum: f64| 0.5 * (1.0 + sum).sqrt();
    let quaternion = if xx + yy + zz > 0.0 {
        let w = largest(xx + yy + zz);
        [
            w,
            0.25 * (y[2] - z[1]) / w,
            0.25 * (z[0] - x[2]) / w,
            0.25 * (x[1] - y[0]) / w,
        ]
    } else if xx > yy && xx > zz {
        let i = largest(xx - yy - zz);
        [
            0.25 * (y[2] - z[1]) / i,
            i,
            0.25 * (y[0] + x[1]) / i,
            0.25 * (z[0] + x[2]) / i,
        ]
    } else if yy > zz {
        let j = largest(yy - xx - zz);
        [
            0.25 * (z[0] - x[2]) / j,
            0.25 * (y[0] + x[1]) / j,
            j,
            0.25 * (z[1] + y[2]) / j,
        ]
    } else {
        let k = largest(zz - xx - yy);
        [
            0.25 * (x[1] - y[0]) / k,
            0.25 * (z[0] + x[2]) / k,
            0.25 * (z[1] + y[2]) / k,
            k,
        ]
    };
    normalized(quaternion)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-14)
    }

    #[test]
    fn rotation_matches_its_columns() {
        for columns in [
            [[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
            [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]],
            [[-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]],
            [[-1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]],
            [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        ] {
            let [x, y, z] = columns;
            let quaternion = from_columns(x, y, z);
            assert!(close(&rotate(quaternion, [1.0, 0.0, 0.0]), &x));
            assert!(close(&rotate(quaternion, [0.0, 1.0, 0.0]), &y));
            assert!(close(&rotate(quaternion, [0.0, 0.0, 1.0]), &z));
        }
    }

    #[test]
    fn z_axis_is_reached_even_when_opposite() {
        for axis in [
            [0.0, 0.0, -1.0],
            [0.0, 0.0, 1.0],
            [0.6, 0.0, 0.8],
            [0.0, -1.0, 0.0],
        ] {
            assert!(close(&rotate(from_z_axis(axis), [0.0, 0.0, 1.0]), &axis));
        }
    }

    #[test]
    fn capital_euler_axes_are_fixed() {
        let moving = AngleNotation {
            degrees: true,
            euler_sequence: *b"xyz",
        };
        let fixed = AngleNotation {
            degrees: true,
            euler_sequence: *b"ZYX",
        };
        // Rotations about moving x, y, z are those about fixed z, y, x.
        assert!(close(
            &moving.euler([10.0, 20.0, 30.0]),
            &fixed.euler([30.0, 20.0, 10.0])
        ));
    }
}
