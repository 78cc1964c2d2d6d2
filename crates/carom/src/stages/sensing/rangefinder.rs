//! Rangefinders: one ray along the z axis of a site, or one through each pixel of a camera.
//!
//! Through the centre of the pixel at column c and row r, with offsets a = (c + ½ − c₀)/f and b = (r + ½ − r₀)/g
//! from the principal point in units of the focal lengths f and g, the ray of a perspective camera is along (a, −b, −1)
//! in its frame. An orthographic camera has f = c₀ and g = r₀ half the resolution, and looks along −z from the points
//! (a, −b, 0) times half its extent.

use carom_spec::model_spec::RayFields;

use super::camera::{focal_lengths, principal_point};
use super::measure::Reader;
use crate::dual::Dual;
use crate::math::Vec3;
use crate::model::{FrameObject, Model};
use crate::ray::{Filter, Hit, Ray, cast};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

impl<T: Scalar> Reader<'_, T> {
    /// Writes the values of a rangefinder, ray by ray.
    pub(super) fn ranges(&self, object: FrameObject, fields: RayFields, values: &mut [T]) {
        let kinematics = self.stages.kinematics;
        match object {
            FrameObject::Site(site) => {
                let ray = site_ray(kinematics, site);
                let body = self.model.structure.sites.body[site];
                let hit = cast_from(self.model, kinematics, body, &ray);
                let depth = hit.map(|hit| hit.point.distance);
                write(fields, &ray, hit, depth, values);
            }
            FrameObject::Camera(camera) => self.image(camera, fields, values),
            _ => values.fill(T::ZERO),
        }
    }

    fn image(&self, camera: usize, fields: RayFields, values: &mut [T]) {
        let (structure, kinematics) = (&self.model.structure, self.stages.kinematics);
        let body = structure.cameras.body[camera];
        let position = kinematics.camera_position[camera];
        let forward = -kinematics.camera_rotation[camera].column(2);
        let per_ray = fields.size(RayFields::SIZES);
        if per_ray == 0 {
            return;
        }
        let pixels = pixels(structure.cameras.resolution[camera]);
        for (pixel, values) in pixels.zip(values.chunks_exact_mut(per_ray)) {
            let ray = pixel_ray(self.model, kinematics, camera, pixel);
            let hit = cast_from(self.model, kinematics, body, &ray);
            let depth = hit.map(|hit| (ray.at(hit.point.distance) - position).dot(forward));
            write(fields, &ray, hit, depth, values);
        }
    }
}

/// Columns and rows of all pixels, in the order of the sensor's values.
pub(super) fn pixels([columns, rows]: [u32; 2]) -> impl Iterator<Item = [u32; 2]> {
    (0..rows).flat_map(move |row| (0..columns).map(move |column| [column, row]))
}

/// The ray along the z axis of a site.
pub(super) fn site_ray<T: Scalar>(kinematics: &Kinematics<T>, site: usize) -> Ray<T> {
    Ray {
        origin: kinematics.site_position[site],
        direction: kinematics.site_rotation[site].column(2),
    }
}

/// The first geom of another body.
pub(super) fn cast_from<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    body: usize,
    ray: &Ray<T>,
) -> Option<Hit<T>> {
    let filter = Filter {
        exclude_body: Some(body),
        ..Filter::default()
    };
    cast(model, kinematics, ray, &filter)
}

/// The ray through the centre of a pixel, counted from the left and from the top.
pub(super) fn pixel_ray<T: Scalar>(
    model: &Model<T>,
    kinematics: &Kinematics<T>,
    camera: usize,
    pixel: [u32; 2],
) -> Ray<T> {
    let rotation = &kinematics.camera_rotation[camera];
    let position = kinematics.camera_position[camera];
    let local = Optics::of(model, camera).ray(pixel);
    if model.structure.cameras.orthographic[camera] {
        return Ray {
            origin: position + rotation.mul_vec(local),
            direction: -rotation.column(2),
        };
    }
    Ray {
        origin: position,
        direction: rotation.mul_vec(local).normalized().0,
    }
}

/// The numbers of a camera.
pub(super) struct Optics<T> {
    pub(super) fovy: T,
    pub(super) sensor_size: [T; 2],
    pub(super) intrinsic: [T; 4],
    resolution: [f64; 2],
    orthographic: bool,
}

impl<T: Scalar> Optics<T> {
    fn of(model: &Model<T>, camera: usize) -> Self {
        let (structure, numbers) = (&model.structure.cameras, &model.cameras);
        Self {
            fovy: numbers.fovy[camera],
            sensor_size: numbers.sensor_size[camera],
            intrinsic: numbers.intrinsic[camera],
            resolution: structure.resolution[camera].map(f64::from),
            orthographic: structure.orthographic[camera],
        }
    }

    /// In the frame of the camera: the start of the ray of an orthographic camera, the direction of that of another.
    pub(super) fn ray(&self, pixel: [u32; 2]) -> Vec3<T> {
        let (resolution, intrinsic) = (self.resolution, self.intrinsic);
        let center = pixel.map(|index| f64::from(index) + 0.5);
        if self.orthographic {
            let half = self.fovy * 0.5;
            let [x, y] = [0, 1].map(|axis| half * (center[axis] / (0.5 * resolution[axis]) - 1.0));
            return Vec3([x, -y, T::ZERO]);
        }
        let [focal_x, focal_y, ..] = intrinsic;
        let focal = focal_lengths(self.fovy, self.sensor_size, [focal_x, focal_y], resolution);
        let principal = principal_point(self.sensor_size, intrinsic, resolution);
        let [x, y] = [0, 1].map(|axis| (T::from(center[axis]) - principal[axis]) / focal[axis]);
        Vec3([x, -y, -T::ONE])
    }
}

impl Optics<f64> {
    /// The numbers of a camera as variables: field of view, sensor size, intrinsics.
    pub(super) fn variables(model: &Model, camera: usize) -> Optics<Dual<7>> {
        let plain = Self::of(model, camera);
        let (size, intrinsic) = (plain.sensor_size, plain.intrinsic);
        Optics {
            fovy: Dual::variable(plain.fovy, 0),
            sensor_size: std::array::from_fn(|k| Dual::variable(size[k], 1 + k)),
            intrinsic: std::array::from_fn(|k| Dual::variable(intrinsic[k], 3 + k)),
            resolution: plain.resolution,
            orthographic: plain.orthographic,
        }
    }
}

/// Writes the requested values of a ray.
pub(super) fn write<T: Scalar>(
    fields: RayFields,
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
    for (report, is_wanted) in reports.into_iter().zip(fields.0) {
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
