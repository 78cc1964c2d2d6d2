//! The numbers of a model from those that its description gives: the last passes of the compiler, over any scalar.
//!
//! In order: bounds and mass of geoms, inertia of bodies, frames aligned with it, total mass, reference configuration,
//! keyframes, what actuators inherit from and add to their targets, and the constants of the reference configuration.
//! Discrete decisions (which geoms count, which moments coincide, …) look at values alone.

use std::sync::Arc;

use super::constants;
use super::geoms::virtual_inertia;
use super::inertia::{self, Part, sum_of_parts};
use super::primitive::{self, Solid};
use super::principal_frame::{Tolerance, principal, with_derivatives};
use crate::math::{MIN_LENGTH, Pose, Quat, Vec3};
use crate::model::{
    GeomShape, Given, JointKind, MassSource, Model, Recipe, Structure, Transmission,
};
use crate::scalar::Scalar;

/// Lower bound of denominators, as in MuJoCo.
const MIN: f64 = 1e-15;

/// Why constants cannot be derived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Singular {
    /// The first dof whose own inertia is not positive, if it is a single one.
    pub dof: Option<usize>,
}

/// The model that follows from given numbers by a recipe, as compiling a description with these numbers would give.
///
/// Length ranges that the compiler found by simulation are kept: they are among the given numbers.
///
/// # Errors
///
/// When the inertia of the mechanism cannot be inverted at the reference configuration.
pub fn derive<T: Scalar>(recipe: &Recipe, given: &Given<T>) -> Result<Model<T>, Singular> {
    let mut model = numbers(recipe, given);
    model.find_coincidences();
    constants::derive(recipe, given, &mut model)?;
    length_ranges(recipe, &mut model);
    Ok(model)
}

/// All numbers that need no dynamics.
pub(super) fn numbers<T: Scalar>(recipe: &Recipe, given: &Given<T>) -> Model<T> {
    let mut model = given.model.clone();
    geoms(recipe, &mut model);
    for body in 1..model.counts().nbody {
        body_inertia(recipe, given, body, &mut model);
        if recipe.bodies[body].aligned {
            align(&mut model, body);
        }
    }
    scale_to_total_mass(recipe.total_mass, &mut model);
    free_references(&mut model);
    keyframes(recipe, &mut model);
    inherit_ranges(recipe, &mut model);
    for actuator in 0..model.counts().nactuator {
        add_armature(&mut model, actuator);
        add_damping(&mut model, actuator);
    }
    model
}

/// Frames of meshes, bounds, and the parameters of fluids that follow from sizes.
fn geoms<T: Scalar>(recipe: &Recipe, model: &mut Model<T>) {
    let structure = Arc::clone(&model.structure);
    let geoms = &mut model.geoms;
    for (geom, &kind) in structure.geoms.kind.iter().enumerate() {
        match structure.geoms.shape[geom] {
            GeomShape::Primitive => {
                let size = geoms.size[geom].0;
                geoms.bounding_box[geom] = primitive::bounding_box(kind, size);
                geoms.bounding_radius[geom] = primitive::bounding_radius(kind, size);
            }
            GeomShape::Mesh(mesh) if !recipe.geoms[geom].fitted => {
                let frame = Pose::new(model.meshes.position[mesh], model.meshes.quat[mesh]);
                let pose = Pose::new(geoms.position[geom], geoms.quat[geom]).mul(frame);
                (geoms.position[geom], geoms.quat[geom]) = (pose.position, pose.quat);
            }
            GeomShape::Mesh(_) => {}
            GeomShape::HeightField(field) => {
                let size = model.height_fields.size[field];
                let (radius, bounds, size) = primitive::height_field_bounds(size);
                geoms.bounding_radius[geom] = radius;
                geoms.bounding_box[geom] = bounds;
                geoms.size[geom] = Vec3(size);
            }
        }
        if geoms.fluid[geom][0].value() != 0.0 {
            let virtual_inertia = virtual_inertia(kind, geoms.size[geom].0);
            geoms.fluid[geom][6..].copy_from_slice(&virtual_inertia);
        }
    }
}

/// Takes or sums up the inertia of a body.
fn body_inertia<T: Scalar>(recipe: &Recipe, given: &Given<T>, body: usize, model: &mut Model<T>) {
    let from_geoms = recipe.bodies[body].inertia_from_geoms;
    let counted = if from_geoms {
        counted_geoms(recipe, given, body, model)
    } else {
        Vec::new()
    };
    let mut part = match counted[..] {
        [] => in_principal_axes(written_inertia(model, body)),
        [geom] => in_principal_axes(geom),
        _ => sum_of_parts(&counted),
    };
    part.bound(recipe.inertia_bounds, recipe.balance_inertia);
    let bodies = &mut model.bodies;
    bodies.mass[body] = part.mass;
    bodies.inertia[body] = Vec3(part.inertia);
    bodies.inertia_products[body] = Vec3(part.products);
    bodies.inertial_position[body] = part.pose.position;
    bodies.inertial_quat[body] = part.pose.quat;
}

/// The inertia as it is given.
fn written_inertia<T: Scalar>(model: &Model<T>, body: usize) -> Part<T> {
    let bodies = &model.bodies;
    let pose = Pose::new(bodies.inertial_position[body], bodies.inertial_quat[body]);
    Part {
        products: bodies.inertia_products[body].0,
        ..Part::new(bodies.mass[body], pose, bodies.inertia[body].0)
    }
}

/// A part in the principal axes that are nearest to its own.
fn in_principal_axes<T: Scalar>(part: Part<T>) -> Part<T> {
    let ([xx, yy, zz], [xy, xz, yz]) = (part.inertia, part.products);
    let full = [xx, yy, zz, xy, xz, yz];
    let is_diagonal = part.products.iter().all(|entry| entry.value() == 0.0);
    let principal = match (is_diagonal, T::HAS_DERIVATIVES) {
        (true, false) => return part,
        (true, true) => with_derivatives(full, (Quat::identity(), part.inertia.map(T::value))),
        (false, _) => principal(full, Tolerance::FOLLOW),
    };
    Part {
        pose: Pose::new(
            part.pose.position,
            part.pose.quat.mul(principal.quat).normalized(),
        ),
        inertia: principal.moments,
        products: principal.products,
        ..part
    }
}

/// The geoms that count for the inertia of a body.
fn counted_geoms<T: Scalar>(
    recipe: &Recipe,
    given: &Given<T>,
    body: usize,
    model: &Model<T>,
) -> Vec<Part<T>> {
    let geoms = model.structure.bodies.geoms[body].clone();
    let parts = geoms.filter_map(|geom| geom_part(recipe, given, geom, model));
    parts
        .filter(|part| part.mass.value() > inertia::MIN)
        .collect()
}

/// A geom as a part of its body.
fn geom_part<T: Scalar>(
    recipe: &Recipe,
    given: &Given<T>,
    geom: usize,
    model: &Model<T>,
) -> Option<Part<T>> {
    let sources = &given.sources;
    let mass = match recipe.geoms[geom].mass {
        MassSource::None => return None,
        MassSource::Mass => Some(sources.geom_mass[geom]),
        MassSource::Density => None,
    };
    let pose = Pose::new(model.geoms.position[geom], model.geoms.quat[geom]);
    let density = sources.geom_density[geom];
    let solid = match model.structure.geoms.shape[geom] {
        GeomShape::Mesh(mesh) if recipe.meshes[mesh].moves => {
            let moments = &sources.mesh_moments[mesh];
            return Some(moved_mesh(moments, pose, mass, density));
        }
        GeomShape::Mesh(mesh) => Solid::Mesh {
            volume: sources.mesh_volume[mesh],
            inertia_box: sources.mesh_inertia_box[mesh].0,
        },
        _ => Solid::Primitive {
            kind: model.structure.geoms.kind[geom],
            size: model.geoms.size[geom].0,
            shell: recipe.geoms[geom].shell,
        },
    };
    let (mass, inertia) = solid.mass_and_inertia(mass, density);
    Some(Part::new(mass, pose, inertia))
}

/// A mesh whose centre and axes need no longer be those of its frame.
fn moved_mesh<T: Scalar>(moments: &[T; 10], pose: Pose<T>, mass: Option<T>, density: T) -> Part<T> {
    let [volume, x, y, z, inertia @ ..] = *moments;
    let mass = mass.unwrap_or(density * volume);
    let [xx, yy, zz, xy, xz, yz] = inertia.map(|moment| moment * mass / volume);
    Part {
        products: [xy, xz, yz],
        ..Part::new(
            mass,
            Pose::new(pose.transform_point(Vec3([x, y, z])), pose.quat),
            [xx, yy, zz],
        )
    }
}

/// Mass and volume of a geom that counts for the inertia of its body.
pub(crate) fn geom_mass(recipe: &Recipe, given: &Given, geom: usize) -> (f64, f64) {
    let mut unit = given.clone();
    unit.sources.geom_density[geom] = 1.0;
    let part = |recipe: &Recipe, given: &Given| {
        let part = geom_part(recipe, given, geom, &given.model);
        part.map_or(0.0, |part| part.mass)
    };
    let mass = part(recipe, given);
    let mut by_density = recipe.clone();
    by_density.geoms[geom].mass = MassSource::Density;
    (mass, part(&by_density, &unit))
}

/// Mass, inertial frame and principal moments of a body in the frame that its description gives it.
pub(crate) fn inertia_before_alignment(
    recipe: &Recipe,
    given: &Given,
    body: usize,
) -> (f64, Pose, Vec3) {
    let mut model = given.model.clone();
    geoms(recipe, &mut model);
    body_inertia(recipe, given, body, &mut model);
    let bodies = &model.bodies;
    let pose = Pose::new(bodies.inertial_position[body], bodies.inertial_quat[body]);
    (bodies.mass[body], pose, bodies.inertia[body])
}

/// Moves the frame of a body to its inertial frame, and what is attached to it the other way.
fn align<T: Scalar>(model: &mut Model<T>, body: usize) {
    let bodies = &mut model.bodies;
    let inertial = Pose::new(bodies.inertial_position[body], bodies.inertial_quat[body]);
    let inverse = inertial.inverse();
    let pose = Pose::new(bodies.position[body], bodies.quat[body]).mul(inertial);
    (bodies.position[body], bodies.quat[body]) = (pose.position, pose.quat);
    (bodies.inertial_position[body], bodies.inertial_quat[body]) = (Vec3::ZERO, Quat::identity());
    let structure = Arc::clone(&model.structure);
    let moved = |position: &mut Vec3<T>, quat: &mut Quat<T>| {
        let pose = inverse.mul(Pose::new(*position, *quat));
        (*position, *quat) = (pose.position, pose.quat);
    };
    for geom in structure.bodies.geoms[body].clone() {
        moved(&mut model.geoms.position[geom], &mut model.geoms.quat[geom]);
    }
    for site in of_body(&structure.sites.body, body) {
        moved(&mut model.sites.position[site], &mut model.sites.quat[site]);
    }
    for camera in of_body(&structure.cameras.body, body) {
        let cameras = &mut model.cameras;
        moved(&mut cameras.position[camera], &mut cameras.quat[camera]);
    }
}

/// The elements that belong to a body.
fn of_body(bodies: &[usize], body: usize) -> impl Iterator<Item = usize> {
    let elements = bodies.iter().enumerate();
    elements.filter_map(move |(id, &owner)| (owner == body).then_some(id))
}

/// Scales masses and inertias to a total.
fn scale_to_total_mass<T: Scalar>(total: Option<f64>, model: &mut Model<T>) {
    let Some(total) = total.filter(|&total| total > 0.0) else {
        return;
    };
    let bodies = &mut model.bodies;
    let sum = bodies.mass[1..]
        .iter()
        .fold(T::ZERO, |sum, &mass| sum + mass);
    let min = T::from(MIN);
    let scale = (T::from(total) / sum.max(min)).max(min);
    for body in 1..bodies.mass.len() {
        bodies.mass[body] *= scale;
        bodies.inertia[body] *= scale;
        bodies.inertia_products[body] *= scale;
    }
}

/// Free joints start where their bodies are.
fn free_references<T: Scalar>(model: &mut Model<T>) {
    let joints = &model.structure.joints;
    for (joint, &kind) in joints.kind.iter().enumerate() {
        if kind == JointKind::Free {
            let (start, body) = (joints.qpos[joint], joints.body[joint]);
            for numbers in [&mut model.qpos.reference, &mut model.qpos.spring] {
                numbers[start..start + 3].copy_from_slice(&model.bodies.position[body].0);
                numbers[start + 3..start + 7].copy_from_slice(&model.bodies.quat[body].0);
            }
        }
    }
}

/// Completes keyframes with the reference state.
fn keyframes<T: Scalar>(recipe: &Recipe, model: &mut Model<T>) {
    let structure = Arc::clone(&model.structure);
    let n = &structure.counts;
    for (id, key) in recipe.keyframes.iter().enumerate() {
        let qpos = &mut model.keyframes.qpos[id * n.nq..][..n.nq];
        qpos[key.qpos..].copy_from_slice(&model.qpos.reference[key.qpos..]);
        normalize_quaternions(&structure, qpos);
        for (body, mocap) in structure.bodies.mocap.iter().enumerate() {
            let Some(mocap) = *mocap else { continue };
            let place = id * n.nmocap + mocap;
            if mocap >= key.mocap_position {
                model.keyframes.mocap_position[place] = model.bodies.position[body];
            }
            let quat = &mut model.keyframes.mocap_quat[place];
            if mocap >= key.mocap_quat {
                *quat = model.bodies.quat[body];
            } else if quat.dot(*quat).sqrt().value() >= MIN_LENGTH {
                // MuJoCo leaves a zero quaternion as it is.
                *quat = quat.normalized();
            }
        }
    }
}

fn normalize_quaternions<T: Scalar>(structure: &Structure, qpos: &mut [T]) {
    for (start, _) in structure.joints.rotations() {
        if let Some(numbers) = qpos[start..].first_chunk_mut() {
            *numbers = Quat(*numbers).normalized().0;
        }
    }
}

/// The range of an actuator's joint or tendon.
fn target_range<T: Scalar>(model: &Model<T>, actuator: usize) -> Option<[T; 2]> {
    match model.structure.actuators.transmission[actuator] {
        Transmission::Joint(joint) | Transmission::JointInParent(joint) => {
            Some(model.joints.range[joint])
        }
        Transmission::Tendon(tendon) => Some(model.tendons.range[tendon]),
        _ => None,
    }
}

/// Ranges of controls or activations that are those of the target, scaled about their middle.
fn inherit_ranges<T: Scalar>(recipe: &Recipe, model: &mut Model<T>) {
    for (id, actuator) in recipe.actuators.iter().enumerate() {
        let (Some(scale), Some([low, high])) = (actuator.inherits, target_range(model, id)) else {
            continue;
        };
        let middle = (high + low) * 0.5;
        let radius = (high - low) * 0.5 * scale;
        let range = [middle - radius, middle + radius];
        if actuator.inherits_activation {
            model.actuators.activation_range[id] = range;
        } else {
            model.actuators.control_range[id] = range;
        }
    }
}

/// Length ranges that are the limits of the target.
fn length_ranges<T: Scalar>(recipe: &Recipe, model: &mut Model<T>) {
    for (id, actuator) in recipe.actuators.iter().enumerate() {
        if actuator.length_from_limits
            && let Some(range) = target_range(model, id)
        {
            model.actuators.length_range[id] = range;
        }
    }
}

/// The gear of an actuator on a joint or tendon, and its moment row.
fn gear_and_row<T: Scalar>(model: &Model<T>, actuator: usize) -> (T, usize) {
    let row = model.structure.actuators.outputs[actuator].start;
    (model.actuators.gear[actuator][0], row)
}

/// Adds an actuator's armature, seen through its gear, to its joint or tendon.
fn add_armature<T: Scalar>(model: &mut Model<T>, actuator: usize) {
    let (gear, row) = gear_and_row(model, actuator);
    let armature = model.actuators.armature[actuator] * gear * gear;
    match model.structure.actuators.transmission[actuator] {
        Transmission::Joint(_) | Transmission::JointInParent(_) => {
            for &dof in model.structure.actuators.moment.columns(row) {
                model.dofs.armature[dof] += armature;
            }
        }
        Transmission::Tendon(tendon) => model.tendons.armature[tendon] += armature,
        _ => {}
    }
}

/// Adds an actuator's damping, seen through its gear, to its joint or tendon.
fn add_damping<T: Scalar>(model: &mut Model<T>, actuator: usize) {
    let (gear, row) = gear_and_row(model, actuator);
    let scale = gear * gear;
    let damping = model.actuators.damping[actuator] * scale;
    let poly = model.actuators.damping_poly[actuator].map(|coefficient| coefficient * scale);
    let add = |linear: &mut T, higher: &mut [T; 2]| {
        *linear += damping;
        for (sum, coefficient) in higher.iter_mut().zip(poly) {
            *sum += coefficient;
        }
    };
    match model.structure.actuators.transmission[actuator] {
        Transmission::Joint(_) | Transmission::JointInParent(_) => {
            for &dof in model.structure.actuators.moment.columns(row) {
                add(
                    &mut model.dofs.damping[dof],
                    &mut model.dofs.damping_poly[dof],
                );
            }
        }
        Transmission::Tendon(tendon) => add(
            &mut model.tendons.damping[tendon],
            &mut model.tendons.damping_poly[tendon],
        ),
        _ => {}
    }
}
