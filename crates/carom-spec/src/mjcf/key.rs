//! Keyframes of attached models.
//!
//! A keyframe of an attached model sets the state of what was attached with it; everything else
//! keeps its initial value. Its vectors can only be laid out when the whole model is known.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::part::{Inserted, Namespace, Part};
use crate::model_spec::{
    ActuatorDynamics, ActuatorSpec, BodySpec, JointKind, JointSpec, KeyframeSpec, ModelSpec,
};

/// A joint by the index of its body and its own index there.
type JointPlace = (usize, usize);

/// A keyframe of an attached model; `None` for vectors that it does not set.
#[derive(Clone, Debug)]
pub(super) struct AttachedKey {
    key: KeyframeSpec,
    qpos: Option<BTreeMap<JointPlace, Vec<f64>>>,
    qvel: Option<BTreeMap<JointPlace, Vec<f64>>>,
    activation: Option<BTreeMap<String, Vec<f64>>>,
    control: Option<BTreeMap<String, Vec<f64>>>,
    mocap_position: Option<BTreeMap<usize, Vec<f64>>>,
    mocap_quaternion: Option<BTreeMap<usize, Vec<f64>>>,
}

fn position_count(joint: &JointSpec) -> usize {
    match joint.kind {
        JointKind::Free => 7,
        JointKind::Ball => 4,
        JointKind::Slide | JointKind::Hinge => 1,
    }
}

fn velocity_count(joint: &JointSpec) -> usize {
    match joint.kind {
        JointKind::Free => 6,
        JointKind::Ball => 3,
        JointKind::Slide | JointKind::Hinge => 1,
    }
}

fn activation_count(actuator: &ActuatorSpec) -> usize {
    match actuator.dynamics {
        ActuatorDynamics::User => actuator.activation_count.map_or(1, |count| count as usize),
        _ => actuator.natural_state_count(),
    }
}

/// Cuts a vector into the pieces of its owners; `None` when it is empty or has the wrong length.
fn split<K: Ord>(
    vector: &[f64],
    owners: impl Iterator<Item = (K, usize)>,
) -> Option<BTreeMap<K, Vec<f64>>> {
    let mut pieces = BTreeMap::new();
    let mut rest = vector;
    for (owner, count) in owners {
        let (piece, remainder) = rest.split_at_checked(count)?;
        pieces.insert(owner, piece.to_vec());
        rest = remainder;
    }
    (rest.is_empty() && !vector.is_empty()).then_some(pieces)
}

/// Joins pieces to a vector; owners without a piece have their initial value.
fn join<K: Ord>(
    pieces: Option<BTreeMap<K, Vec<f64>>>,
    owners: impl Iterator<Item = (K, Vec<f64>)>,
) -> Vec<f64> {
    let Some(mut pieces) = pieces else {
        return Vec::new();
    };
    owners
        .flat_map(|(owner, initial)| pieces.remove(&owner).unwrap_or(initial))
        .collect()
}

impl Draft {
    fn joints(&self) -> impl Iterator<Item = (JointPlace, &JointSpec)> {
        self.order().into_iter().flat_map(|(body, _)| {
            let joints = self.bodies[body].joints.iter().enumerate();
            joints.map(move |(index, joint)| ((body, index), &joint.value))
        })
    }

    /// Takes over the keyframes of a model of which a part was inserted.
    pub(super) fn attach_keys(
        &mut self,
        child: &Draft,
        part: &Part,
        inserted: &Inserted,
        namespace: &Namespace,
    ) {
        let bodies: BTreeMap<usize, usize> = part
            .sources
            .iter()
            .zip(&inserted.bodies[1..])
            .map(|(old, new)| (*old, *new))
            .collect();
        let place = |(body, joint): JointPlace| bodies.get(&body).map(|new| (*new, joint));
        for key in &child.spec.keyframes {
            let positions = child
                .joints()
                .map(|(at, joint)| (at, position_count(joint)));
            let velocities = child
                .joints()
                .map(|(at, joint)| (at, velocity_count(joint)));
            let actuators = || {
                child
                    .spec
                    .actuators
                    .iter()
                    .map(|one| (one.name.clone(), one))
            };
            let mocaps = || {
                let order = child.order().into_iter().map(|(body, _)| body);
                order.filter(|body| child.bodies[*body].spec.mocap)
            };
            let by_joint = |pieces: BTreeMap<JointPlace, Vec<f64>>| -> BTreeMap<_, _> {
                pieces
                    .into_iter()
                    .filter_map(|(at, piece)| Some((place(at)?, piece)))
                    .collect()
            };
            let by_name = |pieces: BTreeMap<String, Vec<f64>>| -> BTreeMap<_, _> {
                pieces
                    .into_iter()
                    .map(|(name, piece)| (namespace.apply(&name), piece))
                    .collect()
            };
            let by_body = |pieces: BTreeMap<usize, Vec<f64>>| -> BTreeMap<_, _> {
                let moved = pieces.into_iter();
                moved
                    .filter_map(|(body, piece)| Some((*bodies.get(&body)?, piece)))
                    .collect()
            };
            let mut name = key.name.clone();
            namespace.rename(&mut name);
            self.attached_keys.push(AttachedKey {
                qpos: split(&key.qpos, positions).map(by_joint),
                qvel: split(&key.qvel, velocities).map(by_joint),
                activation: split(
                    &key.activation,
                    actuators().map(|(name, one)| (name, activation_count(one))),
                )
                .map(by_name),
                control: split(
                    &key.control,
                    actuators().map(|(name, one)| (name, one.control_count())),
                )
                .map(by_name),
                mocap_position: split(&key.mocap_position, mocaps().map(|body| (body, 3)))
                    .map(by_body),
                mocap_quaternion: split(&key.mocap_quaternion, mocaps().map(|body| (body, 4)))
                    .map(by_body),
                key: KeyframeSpec {
                    name,
                    span: key.span,
                    time: key.time,
                    ..KeyframeSpec::default()
                },
            });
        }
    }

    /// Lets keyframes follow bodies that were replaced by their first replica.
    pub(super) fn move_keys(&mut self, part: &Part, first: &Inserted, namespace: &Namespace) {
        let bodies: BTreeMap<usize, usize> = part
            .sources
            .iter()
            .zip(&first.bodies[1..])
            .map(|(old, new)| (*old, *new))
            .collect();
        let moved = |body: usize| bodies.get(&body).copied().unwrap_or(body);
        let kind = crate::model_spec::ObjectKind::Actuator;
        for key in &mut self.attached_keys {
            for vector in [&mut key.qpos, &mut key.qvel].into_iter().flatten() {
                let pieces = std::mem::take(vector).into_iter();
                *vector = pieces
                    .map(|((body, joint), piece)| ((moved(body), joint), piece))
                    .collect();
            }
            for vector in [&mut key.mocap_position, &mut key.mocap_quaternion]
                .into_iter()
                .flatten()
            {
                let pieces = std::mem::take(vector).into_iter();
                *vector = pieces.map(|(body, piece)| (moved(body), piece)).collect();
            }
            for vector in [&mut key.activation, &mut key.control]
                .into_iter()
                .flatten()
            {
                let pieces = std::mem::take(vector).into_iter();
                let names = &self.names;
                *vector = pieces
                    .map(|(name, piece)| {
                        let renamed = namespace.apply(&name);
                        let replaced =
                            !names.contains(kind, &name) && names.contains(kind, &renamed);
                        (if replaced { renamed } else { name }, piece)
                    })
                    .collect();
            }
        }
    }
}

fn initial_position(body: &BodySpec, joint: &JointSpec) -> Vec<f64> {
    match joint.kind {
        JointKind::Free => [&body.position[..], &body.quaternion[..]].concat(),
        JointKind::Ball => vec![1.0, 0.0, 0.0, 0.0],
        JointKind::Slide | JointKind::Hinge => vec![joint.reference_value],
    }
}

/// Lays out the vectors of all keyframes; `indices` are the draft's indices of the bodies.
pub(super) fn finish(spec: &mut ModelSpec, keys: Vec<AttachedKey>, indices: &[usize]) {
    let bodies = || indices.iter().copied().zip(&spec.bodies);
    let joints = || {
        bodies().flat_map(|(index, body)| {
            let joints = body.joints.iter().enumerate();
            joints.map(move |(place, joint)| ((index, place), body, joint))
        })
    };
    let positions = || joints().map(|(at, body, joint)| (at, initial_position(body, joint)));
    let velocities = || joints().map(|(at, _, joint)| (at, vec![0.0; velocity_count(joint)]));
    let actuators = || spec.actuators.iter().map(|one| (one.name.clone(), one));
    let mocaps = || bodies().filter(|(_, body)| body.mocap);
    let laid_out: Vec<KeyframeSpec> = keys
        .into_iter()
        .map(|attached| KeyframeSpec {
            qpos: join(attached.qpos, positions()),
            qvel: join(attached.qvel, velocities()),
            activation: join(
                attached.activation,
                actuators().map(|(name, one)| (name, vec![0.0; activation_count(one)])),
            ),
            control: join(
                attached.control,
                actuators().map(|(name, one)| (name, vec![0.0; one.control_count()])),
            ),
            mocap_position: join(
                attached.mocap_position,
                mocaps().map(|(index, body)| (index, body.position.to_vec())),
            ),
            mocap_quaternion: join(
                attached.mocap_quaternion,
                mocaps().map(|(index, body)| (index, body.quaternion.to_vec())),
            ),
            ..attached.key
        })
        .collect();
    // The model's own keyframes may be written for the bodies before the attachment.
    let full_position: Vec<f64> = positions().flat_map(|(_, initial)| initial).collect();
    let velocity_total: usize = velocities().map(|(_, initial)| initial.len()).sum();
    let activation_total = spec.actuators.iter().map(activation_count).sum();
    let control_total = spec.actuators.iter().map(ActuatorSpec::control_count).sum();
    for key in &mut spec.keyframes {
        if !key.qpos.is_empty() && key.qpos.len() < full_position.len() {
            key.qpos.extend_from_slice(&full_position[key.qpos.len()..]);
        }
        for (vector, total) in [
            (&mut key.qvel, velocity_total),
            (&mut key.activation, activation_total),
            (&mut key.control, control_total),
        ] {
            if !vector.is_empty() && vector.len() < total {
                vector.resize(total, 0.0);
            }
        }
    }
    spec.keyframes.extend(laid_out);
}
