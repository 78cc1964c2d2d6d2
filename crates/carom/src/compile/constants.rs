//! Constants that dynamics at the reference configuration yields.
//!
//! With M the joint-space inertia at the reference configuration, a row J of a Jacobian has the inverse weight
//!
//!   J·M⁻¹·Jᵀ = |D^(−1/2)·L⁻ᵀ·Jᵀ|²                                                                 (1)
//!
//! (M = LᵀDL). Bodies average it over the axes of their centre of mass, joints over their dofs. A damping ratio ζ of a
//! position servo with gain k becomes the damping of the equivalent oscillator, with m = (J·M⁻¹·Jᵀ)⁻¹ for the moment
//! arms J of the actuator:
//!
//!   damping = 2·ζ·√(k·m)                                                                          (2)

use std::sync::Arc;

use carom_spec::Diagnostic;

use super::derive::Singular;
use super::report::{Report, called, code};
use super::tendons::SPRING_AT_REST;
use super::{Source, cameras, equalities};
use crate::math::Spatial;
use crate::model::{GainKind, Given, JointKind, Model, Recipe, Structure, Wrap};
use crate::scalar::Scalar;
use crate::stages::collision::Collision;
use crate::stages::inertia::Inertia;
use crate::stages::kinematics::Kinematics;
use crate::stages::tendon::Tendon;
use crate::stages::transmission::TransmissionData;
use crate::stages::{inertia, kinematics, tendon, transmission};
use crate::state::State;

/// Denominators are kept above this, as in MuJoCo.
const MIN: f64 = 1e-15;
/// Frames closer than this count as equal, as in MuJoCo.
const SAME_FRAME: f64 = 1e-6;
/// Components of an axis below this count as zero.
const ALIGNED: f64 = 1e-14;

/// What constants are made from: the mechanism at the reference configuration, without contacts.
struct AtReference<T: Scalar> {
    kinematics: Kinematics<T>,
    tendon: Tendon<T>,
    inertia: Inertia<T>,
    transmission: TransmissionData<T>,
}

impl<T: Scalar> AtReference<T> {
    fn new(model: &Model<T>) -> Self {
        let n = model.counts();
        let mut data = Self {
            kinematics: Kinematics::zeros(n),
            tendon: Tendon::zeros(n),
            inertia: Inertia::zeros(n),
            transmission: TransmissionData::zeros(n),
        };
        let state = State::reference(model);
        let Self {
            kinematics,
            tendon,
            inertia,
            transmission,
        } = &mut data;
        kinematics::forward(model, &state, kinematics);
        tendon::forward(model, &state, kinematics, tendon);
        inertia::forward(model, kinematics, tendon, inertia);
        // Constants know of no contacts, not even those that an adhesive body would pull on.
        let contacts = Collision::default();
        transmission::forward(model, &state, kinematics, tendon, &contacts, transmission);
        data
    }
}

/// Derives all such constants but length ranges.
pub(super) fn derive<T: Scalar>(
    recipe: &Recipe,
    given: &Given<T>,
    model: &mut Model<T>,
) -> Result<(), Singular> {
    sum_subtree_masses(model);
    let mut data = AtReference::new(model);
    check_regular(model, &data)?;
    let sliders = simple_sliders(recipe, model);
    body_weights(model, &data, &sliders);
    dof_weights(model, &data, &sliders);
    inertia_reference(model, &data);
    tendon_constants(model, &data);
    actuator_constants(model, &data);
    equalities::constants(model, &data.kinematics);
    cameras::constants(model, &data.kinematics);
    damping_ratios(model, &data);
    spring_lengths(model, &mut data);
    spring_dampers(given, model);
    Ok(())
}

fn sum_subtree_masses<T: Scalar>(model: &mut Model<T>) {
    let bodies = &mut model.bodies;
    bodies.subtree_mass.copy_from_slice(&bodies.mass);
    for body in (1..bodies.mass.len()).rev() {
        let mass = bodies.subtree_mass[body];
        bodies.subtree_mass[model.structure.bodies.parent[body]] += mass;
    }
}

/// Whether M can be inverted.
fn check_regular<T: Scalar>(model: &Model<T>, data: &AtReference<T>) -> Result<(), Singular> {
    let inverse = &data.inertia.diagonal_inverse;
    let is_finite = |numbers: &[T]| numbers.iter().all(|number| number.value().is_finite());
    if is_finite(inverse) && is_finite(&data.inertia.factor) {
        return Ok(());
    }
    // The factorisation does not say where it failed: dofs whose own inertia is not positive come first.
    let diagonal = |dof: usize| data.inertia.matrix[model.structure.inertia.diagonal[dof]].value();
    let is_positive = |dof: usize| diagonal(dof) > 0.0 && diagonal(dof).is_finite();
    let dof = (0..inverse.len()).find(|&dof| !is_positive(dof));
    Err(Singular { dof })
}

/// Reports a mechanism without inertia, by the name of the joint.
pub(super) fn report_singular(
    source: Source<'_>,
    structure: &Structure,
    singular: Singular,
    report: &mut Report,
) {
    let joint = singular.dof.map(|dof| structure.dofs.joint[dof]);
    let mut specs = source.spec.bodies.iter().flat_map(|body| &body.joints);
    let diagnostic = match joint.and_then(|joint| specs.nth(joint)) {
        Some(joint) => {
            let name = called("joint", &joint.name);
            Diagnostic::error(
                code::SINGULAR,
                format!("{name} moves nothing that has inertia"),
            )
            .at(joint.span)
        }
        None => Diagnostic::error(code::SINGULAR, "the inertia matrix is singular"),
    };
    report.push(diagnostic.help("remove redundant joints, or give them armature"));
}

/// x·M⁻¹·x for a vector x that is zero outside of `dofs` (increasing, with all ancestors); x is used up. (1)
fn inverse_weight<T: Scalar>(
    model: &Model<T>,
    data: &AtReference<T>,
    dofs: impl DoubleEndedIterator<Item = usize>,
    x: &mut [T],
) -> T {
    let sparsity = &model.structure.inertia;
    let mut sum = T::ZERO;
    for dof in dofs.rev() {
        let value = std::mem::take(&mut x[dof]);
        if !T::HAS_DERIVATIVES && value == T::ZERO {
            continue;
        }
        let start = sparsity.row_start[dof];
        for (offset, &ancestor) in sparsity.ancestors(dof).iter().enumerate() {
            x[ancestor] -= data.inertia.factor[start + offset] * value;
        }
        sum += value * value * data.inertia.diagonal_inverse[dof];
    }
    sum
}

fn body_weights<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>, sliders: &[bool]) {
    let structure = Arc::clone(&model.structure);
    let bodies = &structure.bodies;
    let mut x = vec![T::ZERO; structure.counts.nv];
    for body in 1..structure.counts.nbody {
        if bodies.dofs[bodies.weld[body]].is_empty() {
            continue;
        }
        if sliders[body] {
            model.bodies.inverse_weight[body] = [inverse_mass(model, body), T::ZERO];
            continue;
        }
        let dofs = bodies.moving_dofs.columns(body);
        let kinematics = &data.kinematics;
        let offset = kinematics.inertial_position[body] - kinematics.subtree_com[bodies.root[body]];
        // Spatial vectors are rotation first; inverse weights translation first.
        let mut weights = [T::ZERO; 6];
        for (component, weight) in weights.iter_mut().enumerate() {
            for &dof in dofs {
                let Spatial(motion) = kinematics.dof_axis[dof].shift_motion(offset);
                x[dof] = motion[component];
            }
            *weight = inverse_weight(model, data, dofs.iter().copied(), &mut x);
        }
        let [rx, ry, rz, tx, ty, tz] = weights;
        model.bodies.inverse_weight[body] = [(tx + ty + tz) / 3.0, (rx + ry + rz) / 3.0];
    }
}

/// The inverse weight of a body that only slides.
fn inverse_mass<T: Scalar>(model: &Model<T>, body: usize) -> T {
    T::ONE / model.bodies.mass[body].max(T::from(MIN))
}

fn dof_weights<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>, sliders: &[bool]) {
    let structure = Arc::clone(&model.structure);
    let mut x = vec![T::ZERO; structure.counts.nv];
    let mut weigh = |model: &Model<T>, dof: usize| {
        x[dof] = T::ONE;
        let path = structure.inertia.row_columns(dof).iter().copied();
        inverse_weight(model, data, path, &mut x)
    };
    for (joint, &kind) in structure.joints.kind.iter().enumerate() {
        let first = structure.joints.dof[joint];
        let body = structure.joints.body[joint];
        // Directions of one kind share their mean.
        let groups: &[usize] = match kind {
            JointKind::Free => &[0, 3],
            JointKind::Ball => &[0],
            JointKind::Slide | JointKind::Hinge => {
                model.dofs.inverse_weight[first] = if sliders[body] {
                    inverse_mass(model, body)
                } else {
                    weigh(model, first)
                };
                continue;
            }
        };
        for &group in groups {
            let start = first + group;
            let [a, b, c] = [start, start + 1, start + 2].map(|dof| weigh(model, dof));
            model.dofs.inverse_weight[start..start + 3].fill((a + b + c) / 3.0);
        }
    }
}

/// Diagonal of M without the armature of tendons.
fn inertia_reference<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>) {
    for (dof, &body) in model.structure.dofs.body.iter().enumerate() {
        let axis = data.kinematics.dof_axis[dof];
        let momentum = data.inertia.composite[body].mul_motion(axis);
        model.dofs.inertia_reference[dof] = model.dofs.armature[dof] + axis.dot(momentum);
    }
}

fn tendon_constants<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>) {
    let structure = Arc::clone(&model.structure);
    let pattern = &structure.tendons.jacobian;
    let mut x = vec![T::ZERO; structure.counts.nv];
    for tendon in 0..structure.counts.ntendon {
        model.tendons.length_reference[tendon] = data.tendon.length[tendon];
        for (&dof, entry) in pattern.columns(tendon).iter().zip(pattern.row(tendon)) {
            x[dof] = data.tendon.jacobian[entry];
        }
        model.tendons.inverse_weight[tendon] =
            inverse_weight(model, data, 0..structure.counts.nv, &mut x);
    }
}

fn actuator_constants<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>) {
    let nv = model.counts().nv;
    let mut x = vec![T::ZERO; nv];
    for output in 0..model.counts().nout {
        model.actuators.length_reference[output] = data.transmission.length[output];
        x.fill(T::ZERO);
        write_moment(model, data, output, &mut x);
        inertia::solve(model, &data.inertia, &mut x);
        let squares = x.iter().map(|&acceleration| acceleration * acceleration);
        let square = squares.fold(T::ZERO, |sum, square| sum + square);
        model.actuators.acceleration_reference[output] = square.sqrt();
    }
}

/// The moment arms of an actuator's force, added to a vector over all dofs.
fn write_moment<T: Scalar>(model: &Model<T>, data: &AtReference<T>, output: usize, x: &mut [T]) {
    let pattern = &model.structure.actuators.moment;
    for (&dof, entry) in pattern.columns(output).iter().zip(pattern.row(output)) {
        x[dof] += data.transmission.moment[entry];
    }
}

/// Turns damping ratios into damping (2).
fn damping_ratios<T: Scalar>(model: &mut Model<T>, data: &AtReference<T>) {
    let nv = model.counts().nv;
    let mut x = vec![T::ZERO; nv];
    for actuator in 0..model.counts().nactuator {
        let [_, stiffness, ratio, ..] = model.actuators.bias[actuator];
        let gain = match model.structure.actuators.gain[actuator] {
            GainKind::Pid => -stiffness,
            // The numbers of a motor mean something else.
            GainKind::DcMotor => continue,
            _ => model.actuators.gain[actuator][0],
        };
        if gain != -stiffness || ratio <= T::ZERO {
            continue;
        }
        let outputs = model.structure.actuators.outputs[actuator].clone();
        let (count, mut sum) = (outputs.len(), T::ZERO);
        for output in outputs {
            write_moment(model, data, output, &mut x);
            sum += inverse_weight(model, data, 0..nv, &mut x);
        }
        let inverse = sum / T::from(count as f64);
        let mass = T::ONE / inverse.max(T::from(MIN));
        model.actuators.bias[actuator][2] = -(ratio * 2.0 * (gain * mass).sqrt());
    }
}

/// Tendon springs whose length the file leaves out rest where joint springs do.
fn spring_lengths<T: Scalar>(model: &mut Model<T>, data: &mut AtReference<T>) {
    let at_rest = SPRING_AT_REST.map(T::from);
    if !model.tendons.spring_length.contains(&at_rest) {
        return;
    }
    let mut state = State::reference(model);
    state.qpos.copy_from_slice(&model.qpos.spring);
    kinematics::forward(model, &state, &mut data.kinematics);
    tendon::forward(model, &state, &data.kinematics, &mut data.tendon);
    let lengths = model.tendons.spring_length.iter_mut();
    for (length, &found) in lengths.zip(&data.tendon.length) {
        if *length == at_rest {
            *length = [found; 2];
        }
    }
}

/// Stiffness and damping of joints that give a time constant and a damping ratio.
fn spring_dampers<T: Scalar>(given: &Given<T>, model: &mut Model<T>) {
    let structure = Arc::clone(&model.structure);
    let min = T::from(MIN);
    for (joint, &[time, ratio]) in given.sources.spring_damper.iter().enumerate() {
        if time <= T::ZERO || ratio <= T::ZERO {
            continue;
        }
        let first = structure.joints.dof[joint];
        let dofs = structure.joints.dofs(joint);
        let weights = model.dofs.inverse_weight[dofs.clone()].iter();
        let weight = weights.fold(T::ZERO, |sum, &weight| sum + weight);
        let inertia = T::from(dofs.len() as f64) / weight.max(min);
        model.joints.stiffness[joint] = inertia / (time * time * ratio * ratio).max(min);
        // Kept as a difference: actuators have added their damping already.
        let added = inertia * 2.0 / time.max(min) - given.model.dofs.damping[first];
        model.dofs.damping[dofs]
            .iter_mut()
            .for_each(|damping| *damping += added);
    }
}

/// Bodies that only slide along axes, whose inverse weight MuJoCo takes from the mass alone (without armature).
fn simple_sliders<T: Scalar>(recipe: &Recipe, model: &Model<T>) -> Vec<bool> {
    let structure = &model.structure;
    let mut is_slider: Vec<bool> = (0..structure.counts.nbody)
        .map(|body| recipe.bodies[body].allow_simple && slides_only(body, model))
        .collect();
    for (tendon, &armature) in model.tendons.armature.iter().enumerate() {
        if armature != T::ZERO {
            for wrap in &structure.tendons.path[structure.tendons.wraps[tendon].clone()] {
                if let Some(body) = wrap_body(structure, *wrap) {
                    is_slider[body] = false;
                }
            }
        }
    }
    is_slider
}

fn wrap_body(structure: &Structure, wrap: Wrap) -> Option<usize> {
    match wrap {
        Wrap::Joint(joint) => Some(structure.joints.body[joint]),
        Wrap::Site(site) => Some(structure.sites.body[site]),
        Wrap::Sphere { geom, .. } | Wrap::Cylinder { geom, .. } => Some(structure.geoms.body[geom]),
        Wrap::Pulley => None,
    }
}

fn slides_only<T: Scalar>(body: usize, model: &Model<T>) -> bool {
    let bodies = &model.structure.bodies;
    let parent = bodies.parent[body];
    let is_near_world =
        bodies.root[body] == body || (bodies.parent[parent] == 0 && bodies.dofs[parent].is_empty());
    let has_children = bodies.subtree_end[body] > body + 1;
    let is_small = |component: &T| component.value().abs() < SAME_FRAME;
    let is_null = |vector: &[T]| vector.iter().all(is_small);
    let quat = model.bodies.inertial_quat[body].0;
    let is_centered = is_null(&model.bodies.inertial_position[body].0)
        && is_null(&quat[1..])
        && (quat[0].value().abs() - 1.0).abs() < SAME_FRAME;
    let joints = bodies.joints[body].clone();
    body > 0
        && is_near_world
        && !has_children
        && is_centered
        && !joints.is_empty()
        && joints.into_iter().all(|joint| {
            let axis = model.joints.axis[joint].0;
            let is_aligned = axis
                .iter()
                .filter(|component| component.value().abs() > ALIGNED)
                .count()
                == 1;
            model.structure.joints.kind[joint] == JointKind::Slide
                && is_null(&model.joints.position[joint].0)
                && is_aligned
        })
}
