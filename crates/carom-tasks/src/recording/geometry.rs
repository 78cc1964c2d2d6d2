//! Recordings beside the geometry of the model: bodies that would be inside of others, rotations that do not turn as their angular
//! velocities say, joints outside of their ranges. All of it mostly means a wrong unit, offset, order or axis.

use carom::math::{Quat, Vec3};
use carom::model::JointKind;
use carom::{Data, Input, Model, State};

use super::bind::Binder;
use super::check::median;
use super::load::Plan;
use super::mapping::RotationFormat;
use super::{Frame, Quantity, Recordings};

/// A body deeper inside of another one than this part of its size is not where it was: soft contacts and noise come to less.
const MAX_DEPTH_PER_SIZE: f64 = 0.1;
/// Trajectories, and frames of each, that are looked at.
const MAX_TRAJECTORIES: usize = 20;
const FRAMES_PER_TRAJECTORY: usize = 8;
/// Angular velocities below this (rad/s) say nothing about axes.
const MIN_TURNING: f64 = 0.2;
/// Rotations and angular velocities that are this part of the latter apart are not of the same motion.
const MAX_TURNING_ERROR: f64 = 0.5;
/// A joint may be this part of its range outside of it: limits are soft.
const MAX_OUTSIDE: f64 = 0.1;
/// Hinges that may turn further than this (rad) mostly have their range in degrees.
const MAX_TURNS: f64 = 4.0 * std::f64::consts::PI;

/// Adds warnings.
pub(super) fn check(binder: &Binder<'_>, plan: &Plan, recordings: &mut Recordings) {
    let mut warnings = Vec::new();
    warnings.extend(penetration(binder, plan, recordings));
    for (index, channel) in plan.channels.iter().enumerate() {
        match channel.quantity {
            Quantity::AngularVelocity { .. } if channel.is_recorded() => {
                warnings.extend(turning(binder, plan, index, recordings));
            }
            Quantity::JointPosition { qpos, .. } => {
                warnings.extend(range(binder.model, (qpos, index), recordings));
            }
            _ => {}
        }
    }
    recordings.warnings.extend(warnings);
}

/// A body inside of another one.
struct Inside {
    depth: f64,
    /// Depth over what is allowed.
    excess: f64,
    geoms: [usize; 2],
}

/// The deepest contact of bodies that belong to different trees.
fn deepest(model: &Model, state: &State, data: &mut Data) -> Option<Inside> {
    carom::forward(model, state, &Input::zeros(model), data);
    let structure = &model.structure;
    let root = |geom: usize| {
        let mut body = structure.geoms.body[geom];
        while body != 0 && structure.bodies.parent[body] != 0 {
            body = structure.bodies.parent[body];
        }
        body
    };
    let contacts = data.collision.contacts.iter();
    let apart = contacts.filter(|contact| root(contact.geoms[0]) != root(contact.geoms[1]));
    let found = apart.map(|contact| {
        // Planes have no size.
        let sizes = contact.geoms.map(|geom| model.geoms.bounding_radius[geom]);
        let sizes = sizes.into_iter().filter(|size| *size > 0.0);
        let size = sizes.fold(f64::INFINITY, f64::min);
        let depth = -contact.distance;
        Inside {
            depth,
            excess: depth / (MAX_DEPTH_PER_SIZE * size),
            geoms: contact.geoms,
        }
    });
    found.max_by(|one, other| one.excess.total_cmp(&other.excess))
}

/// The recorded pose that is deepest inside of something, where that is too deep.
fn penetration(binder: &Binder<'_>, plan: &Plan, recordings: &Recordings) -> Option<String> {
    let model = binder.model;
    let mut data = Data::new(model);
    let mut worst: Option<(Inside, State, String)> = None;
    let trajectories = recordings.trajectories.iter().enumerate();
    for (index, trajectory) in trajectories.take(MAX_TRAJECTORIES) {
        let (first, last) = (recordings.start, trajectory.frames().saturating_sub(1));
        let step = (last.saturating_sub(first) / FRAMES_PER_TRAJECTORY).max(1);
        for frame in (first..=last).step_by(step) {
            let Ok(state) = recordings.start(model, index, frame) else {
                continue;
            };
            let Some(found) = deepest(model, &state, &mut data) else {
                continue;
            };
            if worst
                .as_ref()
                .is_none_or(|(worst, ..)| found.excess > worst.excess)
            {
                let place = format!("in frame {frame} of {}", trajectory.label);
                worst = Some((found, state, place));
            }
        }
    }
    let (found, state, place) = worst.filter(|(found, ..)| found.excess > 1.0)?;
    let name = |geom: usize| {
        let structure = &model.structure;
        match structure.names.geoms[geom].as_str() {
            "" => format!(
                "a geom of body '{}'",
                structure.names.bodies[structure.geoms.body[geom]]
            ),
            name => format!("'{name}'"),
        }
    };
    let hint = match other_order(binder, plan, &state) {
        Some((turned, words)) => {
            let depth = deepest(model, &turned, &mut data).map_or(0.0, |found| found.excess);
            (depth < 1.0).then_some(words)
        }
        None => None,
    };
    let hint = hint.unwrap_or_else(|| {
        "check units, offsets and axes of the recording, and sizes of the model".to_owned()
    });
    Some(format!(
        "{} is {:.0} mm inside of {} {place}; {hint}",
        name(found.geoms[1]),
        1e3 * found.depth,
        name(found.geoms[0]),
    ))
}

/// A state with the quaternions of free bodies read in the other order, and what to change then.
fn other_order(binder: &Binder<'_>, plan: &Plan, state: &State) -> Option<(State, String)> {
    let mut turned = state.clone();
    let mut words = None;
    for channel in &plan.channels {
        let Quantity::Rotation(Frame::State { qpos, .. }) = channel.quantity else {
            continue;
        };
        let mut bodies = binder.mapping.bodies.iter();
        let Some(format) = bodies
            .find(|body| body.name == channel.element)
            .map(|body| body.rotation_format)
        else {
            continue;
        };
        let Some((shift, other)) = reordered(format) else {
            continue;
        };
        turned.qpos[qpos..qpos + 4].rotate_left(shift);
        words = Some(format!(
            "its size fits if quaternions are in the other order: rotation_format = \"{other}\""
        ));
    }
    words.map(|words| (turned, words))
}

/// By how much to turn (w, x, y, z) as it was read to get the quaternion of the other order, and its name.
fn reordered(format: RotationFormat) -> Option<(usize, &'static str)> {
    match format {
        RotationFormat::Wxyz => Some((3, "xyzw")),
        RotationFormat::Xyzw => Some((1, "wxyz")),
        RotationFormat::Matrix | RotationFormat::Vector => None,
    }
}

/// Compares recorded angular velocities of a body with those of its rotations.
fn turning(
    binder: &Binder<'_>,
    plan: &Plan,
    index: usize,
    recordings: &Recordings,
) -> Option<String> {
    let channel = &plan.channels[index];
    let rotation = plan.channels.iter().position(|other| {
        matches!(other.quantity, Quantity::Rotation(_)) && other.element == channel.element
    })?;
    let mut bodies = binder.mapping.bodies.iter();
    let format = bodies
        .find(|body| body.name == channel.element)?
        .rotation_format;
    let (mut sizes, mut errors) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    for trajectory in &recordings.trajectories {
        for frame in 1..trajectory.frames() {
            let at = |channel: usize, frame: usize| {
                trajectory.value(channel, frame, plan.channels[channel].width)
            };
            let found = (
                at(index, frame - 1),
                at(index, frame),
                at(rotation, frame - 1),
                at(rotation, frame),
            );
            let (Some(spin), Some(next), Some(before), Some(after)) = found else {
                continue;
            };
            let spin = Vec3(std::array::from_fn(|k| f64::midpoint(spin[k], next[k])));
            let span = trajectory.times[frame] - trajectory.times[frame - 1];
            let mut quats: [[f64; 4]; 2] =
                [before, after].map(|quat| std::array::from_fn(|k| quat[k]));
            let own = rate(quats, span);
            let in_world = Quat(quats[0]).rotate(own);
            let turned = reordered(format).map(|(shift, _)| {
                for quat in &mut quats {
                    quat.rotate_left(shift);
                }
                rate(quats, span)
            });
            sizes.push(length(spin));
            for (list, other) in errors.iter_mut().zip([Some(own), turned, Some(in_world)]) {
                list.push(other.map_or(f64::INFINITY, |other| length(other - spin)));
            }
        }
    }
    let size = median(sizes);
    let [own, turned, in_world] = errors.map(median);
    if size < MIN_TURNING || own <= MAX_TURNING_ERROR * size {
        return None;
    }
    let fits = |error: f64| error < 0.3 * own;
    let hint = match reordered(format) {
        Some((_, other)) if fits(turned) => {
            format!(
                "they agree if quaternions are in the other order: rotation_format = \"{other}\""
            )
        }
        _ if fits(in_world) => {
            "they agree if one of them is in the other axes: see angular_velocity_axes".to_owned()
        }
        _ => "check the order of quaternions, axes and units".to_owned(),
    };
    Some(format!(
        "{}: {} and its rotations are not of one motion ({own:.2} rad/s apart, where it turns at {size:.2} rad/s); {hint}",
        recordings.trajectories[0].file, channel.name
    ))
}

/// The angular velocity that takes a rotation to another in a time, in the body's axes.
fn rate([before, after]: [[f64; 4]; 2], span: f64) -> Vec3 {
    let [w, x, y, z] = Quat(before).conjugate().mul(Quat(after)).0;
    let sine = (x * x + y * y + z * z).sqrt();
    if sine < 1e-12 {
        return Vec3([0.0; 3]);
    }
    // The shorter way round.
    let angle = 2.0 * (sine * w.signum()).atan2(w.abs());
    Vec3([x, y, z].map(|part| part / sine * angle / span))
}

fn length(vector: Vec3) -> f64 {
    vector.dot(vector).sqrt()
}

/// A joint outside of its range, or with a range of many turns.
fn range(
    model: &Model,
    (qpos, channel): (usize, usize),
    recordings: &Recordings,
) -> Option<String> {
    let joints = &model.structure.joints;
    let joint = joints.qpos.iter().position(|&start| start == qpos)?;
    if !joints.limited[joint] {
        return None;
    }
    let is_hinge = joints.kind[joint] == JointKind::Hinge;
    let (unit, [low, high]) = (
        if is_hinge { "rad" } else { "m" },
        model.joints.range[joint],
    );
    let name = &model.structure.names.joints[joint];
    let numbers = recordings
        .trajectories
        .iter()
        .flat_map(|one| &one.values[channel]);
    let numbers = numbers.copied().filter(|number| number.is_finite());
    let (least, most) = numbers.fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), number| (least.min(number), most.max(number)),
    );
    let slack = MAX_OUTSIDE * (high - low);
    if least < low - slack || most > high + slack {
        let degrees = if is_hinge {
            "; is the range, or the recording, in degrees?"
        } else {
            "; is one of them in another unit?"
        };
        return Some(format!(
            "joint '{name}' is recorded from {least:.3} to {most:.3} {unit}, outside of its range of {low:.3} to {high:.3} {unit}{degrees}"
        ));
    }
    (is_hinge && high - low > MAX_TURNS && most - least < 0.1 * (high - low)).then(|| {
        format!(
            "joint '{name}' has a range of {low:.1} to {high:.1} rad, many turns, and moves from {least:.2} to {most:.2} rad; if the range is in degrees, say <compiler angle=\"degree\"/>"
        )
    })
}
