//! A trained network as a [`Dynamics`]: rollouts, gradients, evaluation and planning work on it as on a model.
//!
//! States are those of a model whose bodies are free or fixed; the model gives the scene. Derivatives are exact: those of the
//! network by its adjoint, those of features and of shape matching by dual numbers.

use std::ops::AddAssign;

use carom::cotangent::StateBar;
use carom::math::{Mat3, Quat, Vec3};
use carom::report::StepReport;
use carom::system::{NoDerivative, Passing, Seen, Shape, StepBar};
use carom::{Dual, Dynamics, Input, Scalar, State};

use crate::learned::{Learned, StepWork};
use crate::network::{Features, Real};
use crate::scene::motion::{self, MOMENTS, Moments};
use crate::scene::{
    Body, Heading, MESH_PUSH, OBJECT_PUSH, Scene, Twist, edge_features, face_features,
    mesh_features, object_features, push,
};

/// Tangents of a body: position, rotation in its own axes, velocity, angular velocity in its own axes.
const TANGENTS: usize = 12;

/// Numbers of a body in a configuration, and in a velocity.
const POSE: usize = 7;
const TWIST: usize = 6;

/// A network in a scene.
#[derive(Clone, Debug)]
pub struct GraphSystem<F> {
    learned: Learned<F>,
    scene: Scene,
    /// Centre of each moving solid in the frame of its body.
    centers: Vec<Vec3>,
    /// Where what does not move is.
    fixed: Vec<Body>,
    reference: State,
}

/// Cotangents of the weights.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WeightsBar(pub Vec<f64>);

impl AddAssign<&WeightsBar> for WeightsBar {
    fn add_assign(&mut self, other: &WeightsBar) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (sum, term) in self.0.iter_mut().zip(&other.0) {
            *sum += term;
        }
    }
}

/// Memory of a thread for steps.
#[derive(Clone, Debug)]
pub struct SystemWork<F> {
    step: StepWork<F>,
    bodies: Vec<Body>,
}

/// Memory of a thread for backward passes.
#[derive(Clone, Debug)]
pub struct SystemReverse<F> {
    work: SystemWork<F>,
    features_bar: Features<F>,
    readout_bar: Vec<F>,
    gradient: Vec<F>,
    bars: Vec<[f64; TANGENTS]>,
}

/// Numbers of a body in a state, over a scalar.
#[derive(Clone, Copy, Debug)]
struct Coordinates<T> {
    position: Vec3<T>,
    rotation: Mat3<T>,
    linear: Vec3<T>,
    angular: Vec3<T>,
}

impl<T: Scalar> Coordinates<T> {
    fn body(&self, center: Vec3) -> Body<T> {
        let from_origin = self.rotation.mul_vec(center.map(T::from));
        let angular = self.rotation.mul_vec(self.angular);
        Body {
            position: self.position + from_origin,
            rotation: self.rotation,
            twist: Twist {
                linear: self.linear + angular.cross(from_origin),
                angular,
            },
        }
    }

    fn of(body: &Body<T>, center: Vec3) -> Self {
        let from_origin = body.rotation.mul_vec(center.map(T::from));
        Self {
            position: body.position - from_origin,
            rotation: body.rotation,
            linear: body.twist.linear - body.twist.angular.cross(from_origin),
            angular: body.rotation.transpose_mul_vec(body.twist.angular),
        }
    }
}

impl Coordinates<f64> {
    fn read(state: &State, body: usize) -> Self {
        let (q, v) = (&state.qpos[POSE * body..], &state.qvel[TWIST * body..]);
        Self {
            position: Vec3::new(q[0], q[1], q[2]),
            rotation: Quat::new(q[3], q[4], q[5], q[6]).normalized().to_mat3(),
            linear: Vec3::new(v[0], v[1], v[2]),
            angular: Vec3::new(v[3], v[4], v[5]),
        }
    }

    fn write(&self, state: &mut State, body: usize) {
        let quat = Quat::from_mat3(&self.rotation);
        let q = &mut state.qpos[POSE * body..][..POSE];
        q[..3].copy_from_slice(&self.position.0);
        q[3..].copy_from_slice(&quat.0);
        let v = &mut state.qvel[TWIST * body..][..TWIST];
        v[..3].copy_from_slice(&self.linear.0);
        v[3..].copy_from_slice(&self.angular.0);
    }

    /// The same with a derivative along each tangent, the first of them at a place.
    fn varied<const N: usize>(&self, first: usize) -> Coordinates<Dual<N>> {
        let vary = |value: Vec3, from: usize| {
            Vec3(std::array::from_fn(|axis| {
                Dual::variable(value[axis], first + from + axis)
            }))
        };
        let turn = Quat::exp(vary(Vec3::ZERO, 3)).to_mat3();
        Coordinates {
            position: vary(self.position, 0),
            rotation: self.rotation.map(Dual::from).mul(&turn),
            linear: vary(self.linear, 6),
            angular: vary(self.angular, 9),
        }
    }
}

impl<const N: usize> Coordinates<Dual<N>> {
    /// Tangents of all coordinates, in the order of the seeds.
    fn tangents(&self) -> [Dual<N>; TANGENTS] {
        let plain: Mat3<Dual<N>> = self.rotation.map(|number| Dual::from(number.value()));
        let turn = plain.transpose().mul(&self.rotation).0;
        let half = |one: usize, two: usize| (turn[one] - turn[two]) * 0.5;
        let rotation = Vec3::new(half(7, 5), half(2, 6), half(3, 1));
        let all = [self.position, rotation, self.linear, self.angular];
        let mut out = [Dual::default(); TANGENTS];
        for (out, number) in out.iter_mut().zip(all.iter().flat_map(|vector| vector.0)) {
            *out = number;
        }
        out
    }
}

impl<F: Real> GraphSystem<F> {
    /// A network in a scene; `centers` says where the centres of what moves are in the frames of their bodies, `fixed` where
    /// the rest is, `reference` where everything starts.
    pub fn new(
        learned: Learned<F>,
        scene: Scene,
        centers: Vec<Vec3>,
        fixed: Vec<Body>,
        reference: State,
    ) -> Self {
        Self {
            learned,
            scene,
            centers,
            fixed,
            reference,
        }
    }

    /// The network.
    pub fn learned(&self) -> &Learned<F> {
        &self.learned
    }

    /// The scene.
    pub fn scene(&self) -> &Scene {
        &self.scene
    }

    /// The bodies of a state, what does not move last.
    pub fn bodies(&self, state: &State, out: &mut Vec<Body>) {
        out.clear();
        let moving = self.centers.iter().enumerate();
        out.extend(moving.map(|(body, &center)| Coordinates::read(state, body).body(center)));
        out.extend_from_slice(&self.fixed);
    }

    /// The adjoint of shape matching: from cotangents of the next state to those of the bodies, and of what the network says.
    fn matching_backward(
        &self,
        state: &State,
        next: &StateBar,
        reverse: &mut SystemReverse<F>,
    ) -> Result<(), NoDerivative> {
        let SystemReverse {
            work,
            readout_bar,
            bars,
            ..
        } = reverse;
        readout_bar.clear();
        for (body, &center) in self.centers.iter().enumerate() {
            let solid = &self.scene.solids[body];
            let varied = Coordinates::read(state, body)
                .varied::<{ TANGENTS + MOMENTS }>(0)
                .body(center);
            let heading = Heading::of(&varied.rotation, 0);
            let numbers = work.step.said[body].numbers();
            let said =
                Moments::from_numbers(|place| Dual::variable(numbers[place], TANGENTS + place));
            let step = self.learned.setting.step;
            let Some(moved) = motion::next(solid, &varied, &heading, &said, step) else {
                return Err(NoDerivative::NotUnique);
            };
            let tangents = Coordinates::of(&moved, center).tangents();
            let (q, v) = (&next.qpos[TWIST * body..], &next.qvel[TWIST * body..]);
            let mut bar = [0.0; TANGENTS + MOMENTS];
            for (tangent, weight) in tangents.iter().zip(q[..TWIST].iter().chain(&v[..TWIST])) {
                for (sum, slope) in bar.iter_mut().zip(&tangent.tangent) {
                    *sum += weight * slope;
                }
            }
            bars[body].copy_from_slice(&bar[..TANGENTS]);
            let said_bar = Moments::from_numbers(|place| bar[TANGENTS + place]);
            let scales = self.learned.normalizer.outputs;
            for &vertex in &solid.vertices {
                let node_bar = said_bar.node_bar(vertex, solid.vertices.len());
                for (vector, scale) in node_bar.iter().zip(scales) {
                    readout_bar.extend(vector.0.iter().map(|bar| F::of(bar * scale)));
                }
            }
        }
        Ok(())
    }

    /// The adjoint of the features: adds to the cotangents of the bodies.
    fn features_backward(&self, state: &State, reverse: &mut SystemReverse<F>) {
        let SystemReverse {
            work,
            features_bar,
            bars,
            ..
        } = reverse;
        let Self {
            learned,
            scene,
            centers,
            fixed,
            ..
        } = self;
        let (setting, scales) = (&learned.setting, &learned.normalizer.features);
        let bar_of = |kind: usize, row: usize, place: usize| {
            let count = scales[kind].len();
            features_bar.rows[kind][row * count + place].wide() * scales[kind][place][1]
        };
        let mut node = 0;
        for (body, &center) in centers.iter().enumerate() {
            let solid = &scene.solids[body];
            let varied = Coordinates::read(state, body)
                .varied::<TANGENTS>(0)
                .body(center);
            let heading = Heading::of(&varied.rotation, 0);
            let mut add = |kind: usize, row: usize, features: &[Dual<TANGENTS>]| {
                for (place, feature) in features.iter().enumerate() {
                    let weight = bar_of(kind, row, place);
                    for (sum, slope) in bars[body].iter_mut().zip(&feature.tangent) {
                        *sum += weight * slope;
                    }
                }
            };
            let mut row = [Dual::default(); crate::scene::OBJECT_FEATURES];
            object_features(solid, &varied, &heading, setting.step, &mut row);
            add(1, body, &row);
            for &vertex in &solid.vertices {
                let mut row = [Dual::default(); crate::scene::MESH_FEATURES];
                mesh_features(&varied, vertex, &heading, setting.step, &mut row);
                add(0, node, &row);
                let mut row = [Dual::default(); crate::scene::EDGE_FEATURES];
                edge_features(&varied, vertex, &heading, setting.step, &mut row);
                add(2, node, &row);
                node += 1;
            }
        }
        let batch = &work.step.batch;
        for (edge, &(index, to)) in batch.edges.iter().enumerate() {
            let contact = &batch.contacts.found[index];
            let varied: [Body<Dual<{ 2 * TANGENTS }>>; 2] = std::array::from_fn(|side| {
                let solid = contact.solids[side];
                match centers.get(solid) {
                    Some(&center) => Coordinates::read(state, solid)
                        .varied(TANGENTS * side)
                        .body(center),
                    None => constant(&fixed[solid - centers.len()]),
                }
            });
            let headings: [Heading<_>; 2] =
                std::array::from_fn(|side| Heading::of(&varied[side].rotation, 0));
            let mut row = [Dual::default(); crate::scene::FACE_FEATURES];
            let counts = face_features(
                (scene, contact),
                [&varied[0], &varied[1]],
                [&headings[0], &headings[1]],
                (to, setting),
                &mut row,
            );
            let mut sum = [0.0; 2 * TANGENTS];
            let weights = (0..row.len()).map(|place| bar_of(3, edge, place));
            let rows = row.iter().chain([&counts]);
            let mut add = |number: &Dual<{ 2 * TANGENTS }>, weight: f64| {
                for (sum, slope) in sum.iter_mut().zip(&number.tangent) {
                    *sum += weight * slope;
                }
            };
            for (feature, weight) in rows.zip(weights.chain([features_bar.cut[edge].wide()])) {
                add(feature, weight);
            }
            let receiver = contact.solids[to];
            let (twist, _) = push(
                (scene, contact),
                [&varied[0], &varied[1]],
                &headings[to],
                (to, setting),
            );
            let part = batch.parts[edge];
            for axis in 0..3 {
                let place = OBJECT_PUSH + axis;
                add(&twist.linear[axis], part * bar_of(1, receiver, place));
                add(&twist.angular[axis], part * bar_of(1, receiver, place + 3));
            }
            let before = scene.solids[..receiver].iter();
            let first: usize = before.map(|solid| solid.vertices.len()).sum();
            for (place, &vertex) in scene.solids[receiver].vertices.iter().enumerate() {
                let local = vertex.map(Dual::from);
                let from_center = headings[to].see(varied[to].rotation.mul_vec(local));
                let change = twist.linear + twist.angular.cross(from_center);
                for axis in 0..3 {
                    add(
                        &change[axis],
                        part * bar_of(0, first + place, MESH_PUSH + axis),
                    );
                }
            }
            for (side, part) in sum.chunks_exact(TANGENTS).enumerate() {
                if let Some(bar) = bars.get_mut(contact.solids[side]) {
                    for (sum, part) in bar.iter_mut().zip(part) {
                        *sum += part;
                    }
                }
            }
        }
    }
}

fn constant<const N: usize>(body: &Body) -> Body<Dual<N>> {
    let vector = |vector: Vec3| vector.map(Dual::from);
    Body {
        position: vector(body.position),
        rotation: body.rotation.map(Dual::from),
        twist: Twist {
            linear: vector(body.twist.linear),
            angular: vector(body.twist.angular),
        },
    }
}

impl<F: Real> Dynamics for GraphSystem<F> {
    type Work = SystemWork<F>;
    type Reverse = SystemReverse<F>;
    type Bar = WeightsBar;
    type Trace = ();

    fn shape(&self) -> Shape {
        Shape {
            nq: POSE * self.centers.len(),
            nv: TWIST * self.centers.len(),
            ..Shape::default()
        }
    }

    fn parameters(&self) -> usize {
        self.learned.net.layout.count
    }

    fn reference(&self) -> State {
        self.reference.clone()
    }

    fn input(&self) -> Input {
        Input {
            ctrl: Vec::new(),
            force: Vec::new(),
            body_force: Vec::new(),
            equality_active: Vec::new(),
            timestep: self.learned.setting.step,
        }
    }

    fn work(&self) -> SystemWork<F> {
        SystemWork {
            step: StepWork::default(),
            bodies: Vec::new(),
        }
    }

    fn step(&self, state: &mut State, input: &Input, work: &mut SystemWork<F>) -> StepReport {
        self.bodies(state, &mut work.bodies);
        let is_whole = (self.learned).step(&self.scene, &mut work.bodies, &mut work.step);
        for (body, &center) in self.centers.iter().enumerate() {
            Coordinates::of(&work.bodies[body], center).write(state, body);
        }
        if !is_whole {
            // What fits no body is no motion: the rollout ends here.
            state.qpos.fill(f64::NAN);
        }
        state.time += input.timestep;
        StepReport {
            contacts: work.step.batch.contacts.found.len(),
            ..StepReport::default()
        }
    }

    fn reverse(&self) -> SystemReverse<F> {
        SystemReverse {
            work: self.work(),
            features_bar: Features::default(),
            readout_bar: Vec::new(),
            gradient: vec![F::default(); self.learned.net.layout.count],
            bars: vec![[0.0; TANGENTS]; self.centers.len()],
        }
    }

    fn backward(
        &self,
        seen: Seen<'_>,
        passing: Passing<'_>,
        bar: &mut StepBar,
        reverse: &mut SystemReverse<F>,
    ) -> Result<(), NoDerivative> {
        let state = seen.state;
        let SystemWork { step, bodies } = &mut reverse.work;
        self.bodies(state, bodies);
        self.learned.ask(&self.scene, bodies, step);
        self.matching_backward(state, passing.next, reverse)?;
        let SystemReverse {
            work,
            features_bar,
            readout_bar,
            gradient,
            ..
        } = reverse;
        for (bar, rows) in features_bar.rows.iter_mut().zip(&work.step.features.rows) {
            bar.clear();
            bar.resize(rows.len(), F::default());
        }
        features_bar.cut.clear();
        (features_bar.cut).resize(work.step.features.cut.len(), F::default());
        let StepWork {
            batch,
            features,
            activations,
            ..
        } = &mut work.step;
        self.learned.net.backward(
            &batch.topology,
            features,
            (readout_bar, activations),
            gradient,
            Some(features_bar),
        );
        self.features_backward(state, reverse);
        bar.state.set_zero();
        bar.state.time = passing.next.time;
        for (body, known) in reverse.bars.iter().enumerate() {
            bar.state.qpos[TWIST * body..][..TWIST].copy_from_slice(&known[..TWIST]);
            bar.state.qvel[TWIST * body..][..TWIST].copy_from_slice(&known[TWIST..]);
        }
        Ok(())
    }

    fn take_bar(&self, reverse: &mut SystemReverse<F>, _: f64) -> WeightsBar {
        let bar = WeightsBar(reverse.gradient.iter().map(|bar| bar.wide()).collect());
        reverse.gradient.fill(F::default());
        bar
    }

    fn add(&self, qpos: &mut [f64], tangent: &[f64], factor: f64) {
        for (q, change) in qpos.chunks_exact_mut(POSE).zip(tangent.chunks_exact(TWIST)) {
            for axis in 0..3 {
                q[axis] += factor * change[axis];
            }
            let turn = Quat::exp(Vec3::new(change[3], change[4], change[5]) * factor);
            let quat = Quat::new(q[3], q[4], q[5], q[6]).mul(turn);
            q[3..].copy_from_slice(&quat.0);
        }
    }

    fn difference(&self, from: &[f64], to: &[f64], tangent: &mut [f64]) {
        let poses = from.chunks_exact(POSE).zip(to.chunks_exact(POSE));
        for ((from, to), change) in poses.zip(tangent.chunks_exact_mut(TWIST)) {
            for axis in 0..3 {
                change[axis] = to[axis] - from[axis];
            }
            let quat = |q: &[f64]| Quat::new(q[3], q[4], q[5], q[6]).normalized();
            change[3..].copy_from_slice(&quat(to).difference(quat(from)).0);
        }
    }
}

#[cfg(test)]
#[path = "system_tests.rs"]
mod tests;
