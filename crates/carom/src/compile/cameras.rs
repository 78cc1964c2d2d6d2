//! Cameras: targets, intrinsics and what tracking modes keep of the reference configuration.

use carom_spec::model_spec::CameraSpec;

use super::Source;
use super::report::{Checked, Report, code};
use crate::math::{Quat, Vec3};
use crate::model::{Model, Structure};
use crate::scalar::Scalar;
use crate::stages::kinematics::Kinematics;

/// Focal length that stands for "none given" when the file does not set the near plane (m).
const DEFAULT_NEAR_PLANE: f32 = 0.01;

/// Fills the structure of cameras.
pub(super) fn structure(source: Source<'_>, structure: &mut Structure, report: &mut Report) {
    for (body, description) in source.spec.bodies.iter().enumerate() {
        for camera in &description.cameras {
            let checked = &mut report.checked("camera", &camera.name, camera.span);
            check(camera, checked);
            let target = camera.target.as_ref();
            let target = target.and_then(|target| checked.resolve(&source.lookup.bodies, target));
            let cameras = &mut structure.cameras;
            cameras.mode.push(camera.mode);
            cameras.body.push(body);
            cameras.target.push(target);
            cameras.resolution.push(camera.resolution);
            cameras.orthographic.push(camera.orthographic);
        }
    }
    structure.counts.ncamera = structure.cameras.body.len();
}

fn has_sensor_size(camera: &CameraSpec) -> bool {
    camera.sensor_size.iter().all(|&side| side > 0.0)
}

fn check(camera: &CameraSpec, checked: &mut Checked<'_>) {
    let intrinsics = [
        camera.focal_length,
        camera.focal_pixels,
        camera.principal_length,
        camera.principal_pixels,
    ];
    let has_intrinsics = intrinsics.iter().flatten().any(|&number| number != 0.0);
    let has_sensor_size = has_sensor_size(camera);
    let problems = [
        (camera.field_of_view >= 180.0, "has a fovy of 180 or more"),
        (
            has_intrinsics && !has_sensor_size,
            "has focal or principal without sensorsize",
        ),
        (
            has_sensor_size && camera.resolution.contains(&0),
            "has sensorsize without a positive resolution",
        ),
    ];
    for (_, problem) in problems.iter().filter(|(found, _)| *found) {
        checked.error(code::CAMERA, format!("{checked} {problem}"));
    }
}

/// Fills the numbers of cameras.
pub(super) fn numbers(source: Source<'_>, model: &mut Model) {
    let near_plane = near_plane(source);
    let cameras = source.spec.bodies.iter().flat_map(|body| &body.cameras);
    for (id, camera) in cameras.enumerate() {
        let numbers = &mut model.cameras;
        numbers.position[id] = Vec3(camera.position);
        numbers.quat[id] = Quat(camera.quaternion).normalized();
        let (intrinsic, fovy) = intrinsic(camera, near_plane);
        numbers.intrinsic[id] = intrinsic;
        numbers.fovy[id] = fovy;
        numbers.sensor_size[id] = camera.sensor_size.map(|side| f64::from(single(side)));
    }
}

/// The near plane as the viewer's settings give it.
fn near_plane(source: Source<'_>) -> f32 {
    let is_near = |setting: &&carom_spec::model_spec::VisualSetting| {
        setting.element == "map" && setting.attribute == "znear"
    };
    let written = source.spec.visual.iter().rfind(is_near);
    written
        .and_then(|setting| setting.value.trim().parse().ok())
        .unwrap_or(DEFAULT_NEAR_PLANE)
}

/// Focal lengths, principal point (m) and field of view (degrees). MuJoCo keeps them in single precision, and so do
/// we, since projections depend on them.
fn intrinsic(camera: &CameraSpec, near_plane: f32) -> ([f64; 4], f64) {
    if !has_sensor_size(camera) {
        let near = f64::from(near_plane);
        return ([near, near, 0.0, 0.0], camera.field_of_view);
    }
    let sensor_size = camera.sensor_size.map(single);
    // Pixel values win over lengths.
    let length = |axis: usize, pixels: f64, length: f64| {
        if pixels == 0.0 {
            return single(length);
        }
        let density = f64::from(camera.resolution[axis]);
        single(pixels) / (single(density) / sensor_size[axis])
    };
    let intrinsic = [
        length(0, camera.focal_pixels[0], camera.focal_length[0]),
        length(1, camera.focal_pixels[1], camera.focal_length[1]),
        length(0, camera.principal_pixels[0], camera.principal_length[0]),
        length(1, camera.principal_pixels[1], camera.principal_length[1]),
    ];
    let half_angle = f64::from((sensor_size[1] / 2.0).atan2(intrinsic[1]));
    let fovy = half_angle * 360.0 / std::f64::consts::PI;
    (intrinsic.map(f64::from), fovy)
}

#[allow(
    clippy::cast_possible_truncation,
    reason = "rounding to single precision is what is wanted"
)]
fn single(number: f64) -> f32 {
    number as f32
}

/// Derives the poses that tracking cameras keep: those of a camera fixed to its body at the reference configuration.
pub(super) fn constants<T: Scalar>(model: &mut Model<T>, kinematics: &Kinematics<T>) {
    for (id, &body) in model.structure.cameras.body.iter().enumerate() {
        let cameras = &mut model.cameras;
        let from_body = kinematics.body_rotation[body].mul_vec(cameras.position[id]);
        let world = kinematics.body_position[body] + from_body;
        cameras.position_from_body[id] = world - kinematics.body_position[body];
        let followed = model.structure.cameras.target[id].unwrap_or(body);
        cameras.position_from_com[id] = world - kinematics.subtree_com[followed];
        cameras.rotation_reference[id] = kinematics.body_quat[body].mul(cameras.quat[id]).to_mat3();
    }
}
