//! Projection of a site into the image of a camera, with its adjoint; focal lengths and principal points in pixels.

use std::f64::consts::PI;

use super::backward::Reverse;
use super::measure::Reader;
use crate::dual::Dual;
use crate::math::{MIN_LENGTH, Vec3};
use crate::scalar::Scalar;

impl<T: Scalar> Reader<'_, T> {
    /// Pixel at which a camera sees a site.
    pub(super) fn project(&self, site: usize, camera: usize) -> [T; 2] {
        let kinematics = self.stages.kinematics;
        let offset = kinematics.site_position[site] - kinematics.camera_position[camera];
        let local = kinematics.camera_rotation[camera].transpose_mul_vec(offset);
        let resolution = self.model.structure.cameras.resolution[camera].map(f64::from);
        let cameras = &self.model.cameras;
        let [focal_x, focal_y, ..] = cameras.intrinsic[camera];
        let focal = focal_lengths(
            cameras.fovy[camera],
            cameras.sensor_size[camera],
            [focal_x, focal_y],
            resolution,
        );
        pixel(local, focal, resolution)
    }
}

impl Reverse<'_> {
    /// The adjoint of [`Reader::project`], by dual numbers of the site's place and of the camera's optics.
    pub(super) fn project(&mut self, site: usize, camera: usize, bar: [f64; 2]) {
        let (kinematics, cameras) = (self.stages.kinematics, &self.model.cameras);
        let offset = kinematics.site_position[site] - kinematics.camera_position[camera];
        let rotation = &kinematics.camera_rotation[camera];
        let local = rotation.transpose_mul_vec(offset);
        let resolution = self.model.structure.cameras.resolution[camera].map(f64::from);
        let (size, intrinsic) = (cameras.sensor_size[camera], cameras.intrinsic[camera]);
        let focal = focal_lengths(
            Dual::<8>::variable(cameras.fovy[camera], 3),
            std::array::from_fn(|k| Dual::variable(size[k], 4 + k)),
            std::array::from_fn(|k| Dual::variable(intrinsic[k], 6 + k)),
            resolution,
        );
        let local = Vec3(std::array::from_fn(|k| Dual::variable(local[k], k)));
        let pixel = pixel(local, focal, resolution);
        let inputs: [f64; 8] =
            std::array::from_fn(|k| pixel[0].tangent[k] * bar[0] + pixel[1].tangent[k] * bar[1]);
        let [x, y, depth, fovy, width, height, focal_x, focal_y] = inputs;
        let cameras_bar = &mut self.bars.model.cameras;
        cameras_bar.fovy[camera] += fovy;
        cameras_bar.sensor_size[camera][0] += width;
        cameras_bar.sensor_size[camera][1] += height;
        cameras_bar.intrinsic[camera][0] += focal_x;
        cameras_bar.intrinsic[camera][1] += focal_y;
        let mut offset_bar = Vec3::ZERO;
        rotation.transpose_mul_vec_vjp(
            offset,
            Vec3([x, y, depth]),
            &mut self.bars.data.kinematics.camera_rotation[camera],
            &mut offset_bar,
        );
        self.bars.data.kinematics.site_position[site] += offset_bar;
        self.bars.data.kinematics.camera_position[camera] -= offset_bar;
    }
}

/// Principal point in pixels from the left and from the top.
pub(super) fn principal_point<T: Scalar>(
    size: [T; 2],
    [.., x, y]: [T; 4],
    resolution: [f64; 2],
) -> [T; 2] {
    if size[0] == T::ZERO || size[1] == T::ZERO {
        return resolution.map(|pixels| T::from(0.5 * pixels));
    }
    in_pixels([x, y], size, resolution)
}

/// Pixel at which a camera sees a point given in its frame.
fn pixel<T: Scalar>(
    Vec3([x, y, mut depth]): Vec3<T>,
    [fx, fy]: [T; 2],
    resolution: [f64; 2],
) -> [T; 2] {
    if depth.value().abs() < MIN_LENGTH {
        depth = T::from(MIN_LENGTH.copysign(depth.value()));
    }
    [
        -fx * (x / depth) + 0.5 * resolution[0],
        fy * (y / depth) + 0.5 * resolution[1],
    ]
}

/// Focal lengths in pixels: from those of the optics where the sensor has a size, from the field of view otherwise.
pub(super) fn focal_lengths<T: Scalar>(
    fovy: T,
    size: [T; 2],
    focal: [T; 2],
    resolution: [f64; 2],
) -> [T; 2] {
    if size[0] == T::ZERO || size[1] == T::ZERO {
        let half = fovy * (PI / 360.0);
        return [half.tan().recip() * (0.5 * resolution[1]); 2];
    }
    in_pixels(focal, size, resolution)
}

/// Lengths on a sensor of a size, in pixels.
fn in_pixels<T: Scalar>(length: [T; 2], size: [T; 2], resolution: [f64; 2]) -> [T; 2] {
    std::array::from_fn(|axis| {
        let (length, size, pixels) = (length[axis], size[axis], resolution[axis]);
        let exact = length / size * pixels;
        let single = single_precision_ratio(length.value(), size.value(), pixels);
        exact + T::from(single - exact.value())
    })
}

/// a / b · c in single precision: camera intrinsics are single-precision numbers, and so is their arithmetic.
#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding to single precision is the purpose"
)]
fn single_precision_ratio(a: f64, b: f64, c: f64) -> f64 {
    f64::from(a as f32 / b as f32 * c as f32)
}
