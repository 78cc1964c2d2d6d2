//! The adjoint of rangefinders: rays are cast again, and each hit passes its cotangents to the geom and to the ray.

use carom_spec::model_spec::RayFields;

use super::backward::Reverse;
use super::rangefinder::{Optics, cast_from, pixel_ray, pixels, site_ray};
use crate::math::{Mat3, Vec3};
use crate::model::FrameObject;
use crate::ray::{Ray, SurfacePoint, meet_backward};
use crate::stages::collision::add_tangent;

/// Where a ray starts from.
#[derive(Clone, Copy)]
struct Eye {
    body: usize,
    /// Position of a camera and the way it looks; depth is measured from there.
    camera: Option<[Vec3; 2]>,
}

/// Cotangents of a ray and of its eye.
struct RayBar {
    ray: Ray,
    position: Vec3,
    forward: Vec3,
}

impl Reverse<'_> {
    /// Passes on the cotangents of all rays of a rangefinder.
    pub(super) fn ranges(&mut self, object: FrameObject, fields: RayFields, bars: &[f64]) {
        let structure = &*self.model.structure;
        let kinematics = self.stages.kinematics;
        match object {
            FrameObject::Site(site) => {
                let ray = site_ray(kinematics, site);
                let eye = Eye {
                    body: structure.sites.body[site],
                    camera: None,
                };
                let RayBar { ray: bar, .. } = self.range(fields, bars, &ray, eye);
                let targets = &mut self.bars.data.kinematics;
                targets.site_position[site] += bar.origin;
                targets.site_rotation[site] +=
                    Mat3::from_columns(Vec3::ZERO, Vec3::ZERO, bar.direction);
            }
            FrameObject::Camera(camera) => {
                let forward = -kinematics.camera_rotation[camera].column(2);
                let eye = Eye {
                    body: structure.cameras.body[camera],
                    camera: Some([kinematics.camera_position[camera], forward]),
                };
                let rays = bars.chunks_exact(fields.size(RayFields::SIZES).max(1));
                for (pixel, bars) in pixels(structure.cameras.resolution[camera]).zip(rays) {
                    let ray = pixel_ray(self.model, kinematics, camera, pixel);
                    let bar = self.range(fields, bars, &ray, eye);
                    self.pixel(camera, pixel, &bar);
                }
            }
            _ => {}
        }
    }

    /// The cotangents of a ray from those of its values.
    fn range(&mut self, fields: RayFields, bars: &[f64], ray: &Ray, eye: Eye) -> RayBar {
        let (model, kinematics) = (self.model, self.stages.kinematics);
        let mut out = RayBar {
            ray: Ray::ZERO,
            position: Vec3::ZERO,
            forward: Vec3::ZERO,
        };
        if bars.iter().all(|&bar| bar == 0.0) {
            return out;
        }
        let hit = cast_from(model, kinematics, eye.body, ray);
        let point = hit.map(|hit| ray.at(hit.point.distance));

        let [
            distance_bar,
            direction_bar,
            origin_bar,
            mut point_bar,
            normal_bar,
            depth_bar,
        ] = unpacked(fields, bars);
        out.ray.origin += origin_bar;
        let (Some(hit), Some(point)) = (hit, point) else {
            return out;
        };
        let mut hit_bar = SurfacePoint {
            distance: distance_bar[0],
            normal: normal_bar,
        };
        if let Some([position, forward]) = eye.camera {
            point_bar += forward * depth_bar[0];
            out.position -= forward * depth_bar[0];
            out.forward += (point - position) * depth_bar[0];
        } else {
            hit_bar.distance += depth_bar[0];
        }
        out.ray.origin += point_bar;
        out.ray.direction += direction_bar + point_bar * hit.point.distance;
        hit_bar.distance += point_bar.dot(ray.direction);
        let targets = (&mut self.bars.data.kinematics, &mut *self.bars.model);
        let met = meet_backward(model, kinematics, (hit.geom, ray), &hit_bar, targets);
        out.ray.origin += met.origin;
        out.ray.direction += met.direction;
        out
    }

    /// From the ray of a pixel to the camera.
    fn pixel(&mut self, camera: usize, pixel: [u32; 2], bar: &RayBar) {
        let rotation = &self.stages.kinematics.camera_rotation[camera];
        let local = Optics::variables(self.model, camera).ray(pixel);
        let plain = local.value();
        let targets = &mut self.bars.data.kinematics;
        targets.camera_position[camera] += bar.position + bar.ray.origin;
        let mut axis_bar = -bar.forward;
        let mut turned_bar = Vec3::ZERO;
        if self.model.structure.cameras.orthographic[camera] {
            axis_bar -= bar.ray.direction;
            turned_bar = bar.ray.origin;
        } else {
            let turned = rotation.mul_vec(plain);
            turned.normalized_vjp(bar.ray.direction, 0.0, &mut turned_bar);
        }
        let rotation_bar = &mut targets.camera_rotation[camera];
        *rotation_bar += Mat3::from_columns(Vec3::ZERO, Vec3::ZERO, axis_bar);
        let mut local_bar = Vec3::ZERO;
        rotation.mul_vec_vjp(plain, turned_bar, rotation_bar, &mut local_bar);
        let mut sums = [0.0; 7];
        for axis in 0..3 {
            add_tangent(&mut sums, local[axis], local_bar[axis]);
        }
        let [fovy, width, height, intrinsic @ ..] = sums;
        let cameras = &mut self.bars.model.cameras;
        cameras.fovy[camera] += fovy;
        cameras.sensor_size[camera][0] += width;
        cameras.sensor_size[camera][1] += height;
        for (sum, bar) in cameras.intrinsic[camera].iter_mut().zip(intrinsic) {
            *sum += bar;
        }
    }
}

/// The cotangents of all six reports, zero where they are not wanted; single numbers come first in their vector.
fn unpacked(fields: RayFields, bars: &[f64]) -> [Vec3; 6] {
    let mut reports = [Vec3::ZERO; 6];
    let mut place = 0;
    for ((report, is_wanted), length) in reports.iter_mut().zip(fields.0).zip(RayFields::SIZES) {
        if is_wanted {
            report.0[..length].copy_from_slice(&bars[place..][..length]);
            place += length;
        }
    }
    reports
}
