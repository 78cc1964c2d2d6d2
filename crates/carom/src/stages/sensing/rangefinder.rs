//! Rangefinders: one ray along the z axis of a site, or one through each pixel of a camera.
//!
//! Through the centre of the pixel at column c and row r, with offsets a = (c + ½ − c₀)/f and b = (r + ½ − r₀)/g
//! from the principal point in units of the focal lengths f and g, the ray of a perspective camera is along (a, −b, −1)
//! in its frame. An orthographic camera has f = c₀ and g = r₀ half the resolution, and looks along −z from the points
//! (a, −b, 0) times half its extent.

use super::measure::Reader;
use crate::math::Vec3;
use crate::model::FrameObject;
use crate::ray::{Filter, Hit, Ray, cast};
use crate::scalar::Scalar;

/// Which values a ray reports: distance, direction, origin, point, normal, depth.
type Fields = [bool; 6];

impl<T: Scalar> Reader<'_, T> {
    /// Writes the values of a rangefinder, ray by ray.
    pub(super) fn ranges(&self, object: FrameObject, fields: Fields, values: &mut [T]) {
        let kinematics = self.stages.kinematics;
        match object {
            FrameObject::Site(site) => {
                let ray = Ray {
                    origin: kinematics.site_position[site],
                    direction: kinematics.site_rotation[site].column(2),
                };
                let hit = self.cast_from(self.model.structure.sites.body[site], &ray);
                let depth = hit.map(|hit| hit.point.distance);
                write(fields, &ray, hit, depth, values);
            }
            FrameObject::Camera(camera) => self.image(camera, fields, values),
            _ => values.fill(T::ZERO),
        }
    }

    fn image(&self, camera: usize, fields: Fields, values: &mut [T]) {
        let (structure, kinematics) = (&self.model.structure, self.stages.kinematics);
        let body = structure.cameras.body[camera];
        let position = kinematics.camera_position[camera];
        let forward = -kinematics.camera_rotation[camera].column(2);
        let [columns, rows] = structure.cameras.resolution[camera];
        let pixels = (0..rows).flat_map(|row| (0..columns).map(move |column| [column, row]));
        let per_ray = values.len() / (columns as usize * rows as usize).max(1);
        if per_ray == 0 {
            return;
        }
        for (pixel, values) in pixels.zip(values.chunks_exact_mut(per_ray)) {
            let ray = self.pixel_ray(camera, pixel);
            let hit = self.cast_from(body, &ray);
            let depth = hit.map(|hit| (ray.at(hit.point.distance) - position).dot(forward));
            write(fields, &ray, hit, depth, values);
        }
    }

    /// The first geom of another body.
    fn cast_from(&self, body: usize, ray: &Ray<T>) -> Option<Hit<T>> {
        let filter = Filter {
            exclude_body: Some(body),
            ..Filter::default()
        };
        cast(self.model, self.stages.kinematics, ray, &filter)
    }

    /// The ray through the centre of a pixel, counted from the left and from the top.
    fn pixel_ray(&self, camera: usize, pixel: [u32; 2]) -> Ray<T> {
        let kinematics = self.stages.kinematics;
        let rotation = &kinematics.camera_rotation[camera];
        let position = kinematics.camera_position[camera];
        let resolution = self.model.structure.cameras.resolution[camera].map(f64::from);
        let center = pixel.map(|index| f64::from(index) + 0.5);
        if self.model.structure.cameras.orthographic[camera] {
            let half = self.model.cameras.fovy[camera] * 0.5;
            let [x, y] = [0, 1].map(|axis| half * (center[axis] / (0.5 * resolution[axis]) - 1.0));
            return Ray {
                origin: position + rotation.mul_vec(Vec3([x, -y, T::ZERO])),
                direction: -rotation.column(2),
            };
        }
        let focal = self.focal_pixels(camera, resolution);
        let principal = self.principal_pixel(camera, resolution);
        let [x, y] = [0, 1].map(|axis| (T::from(center[axis]) - principal[axis]) / focal[axis]);
        let (direction, _) = rotation.mul_vec(Vec3([x, -y, -T::ONE])).normalized();
        Ray {
            origin: position,
            direction,
        }
    }
}

/// Writes the requested values of a ray.
fn write<T: Scalar>(
    fields: Fields,
    ray: &Ray<T>,
    hit: Option<Hit<T>>,
    depth: Option<T>,
    values: &mut [T],
) {
    let missed = -T::ONE;
    let of_hit = |vector: Vec3<T>| if hit.is_some() { vector } else { Vec3::ZERO };
    let distance = hit.map_or(missed, |hit| hit.point.distance);
    let normal = hit.map_or(Vec3::ZERO, |hit| hit.point.normal);
    let reports: [&[T]; 6] = [
        &[distance],
        &of_hit(ray.direction).0,
        &ray.origin.0,
        &of_hit(ray.at(distance)).0,
        &normal.0,
        &[depth.unwrap_or(missed)],
    ];
    let mut place = 0;
    for (report, is_wanted) in reports.into_iter().zip(fields) {
        if is_wanted {
            values[place..][..report.len()].copy_from_slice(report);
            place += report.len();
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unreadable_literal, reason = "numbers as MuJoCo prints them")]

    use crate::state::{Input, State};
    use crate::testing::model_from_mjcf;
    use crate::{Data, dynamics};

    /// Sensor values of MuJoCo 4.0.0: sites and both kinds of cameras, hits and misses, all fields, a cutoff.
    #[test]
    fn ranges_are_those_of_mujoco() {
        let model = model_from_mjcf(
            r#"<mujoco><worldbody>
              <geom type="plane" size="3 3 1"/><geom type="sphere" size="0.3" pos="0.2 0.1 0.4"/>
              <body name="probe" pos="0 0 1.5" quat="1 0.1 0.05 0.02"><joint/><geom size="0.1"/>
                <site name="down" quat="0 1 0 0"/><site name="up"/>
                <camera name="eye" resolution="2 2" fovy="40"/>
                <camera name="flat" resolution="2 1" fovy="0.5" projection="orthographic"/>
              </body></worldbody>
            <sensor>
              <rangefinder site="down" data="dist dir origin point normal depth"/>
              <rangefinder site="up" data="dist point depth"/>
              <rangefinder camera="eye" data="dist depth"/>
              <rangefinder camera="flat" data="dist origin"/>
              <rangefinder site="down" cutoff="0.5"/>
            </sensor></mujoco>"#,
        );
        let down = [
            1.5379593076222287,
            -0.10267548622766315,
            0.19547832954882025,
            -0.975318392733735,
            0.0,
            0.0,
            1.5,
            -0.15791071970847248,
            0.3006377163680534,
            0.0,
            0.0,
            0.0,
            1.0,
            1.5379593076222287,
        ];
        let up = [-1.0, 0.0, 0.0, 0.0, -1.0];
        let eye = [
            1.680320252266309,
            1.627290741435945,
            1.6197052111586467,
            1.5685886606550814,
            1.557661734538067,
            1.5085032245990708,
            0.8451168610437451,
            0.8184456751937871,
        ];
        let flat = [
            1.550106286061342,
            -0.12428423338927833,
            -0.006170401816566295,
            1.5118471714878072,
            0.8711722291306109,
            0.12428423338927833,
            0.006170401816566295,
            1.4881528285121928,
        ];
        let expected = [&down[..], &up, &eye, &flat, &[0.5]].concat();
        let mut data = Data::new(&model);
        let (state, input) = (State::reference(&model), Input::zeros(&model));
        dynamics::forward_and_sense(&model, &state, &input, &mut data);
        assert_eq!(data.sensing.values.len(), expected.len());
        for (found, expected) in data.sensing.values.iter().zip(expected) {
            assert!(
                (found - expected).abs() < 1e-14,
                "{found} instead of {expected}"
            );
        }
    }
}
