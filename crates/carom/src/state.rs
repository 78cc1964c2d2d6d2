//! What changes while simulating: state and input.

use crate::dual::Dual;
use crate::history::{self, History};
use crate::math::{Components, Quat, Spatial, Vec3};
use crate::model::Model;
use crate::scalar::Scalar;

/// State of a simulation.
#[derive(Clone, Debug, PartialEq)]
pub struct State<T: Scalar = f64> {
    /// Time (s).
    pub time: T,
    /// Configuration, nq. Quaternions (w, x, y, z) need not be normalised.
    pub qpos: Vec<T>,
    /// Velocity, nv.
    pub qvel: Vec<T>,
    /// Activations, na.
    pub act: Vec<T>,
    /// Positions of the mocap bodies (m).
    pub mocap_position: Vec<Vec3<T>>,
    /// Orientations of the mocap bodies.
    pub mocap_quat: Vec<Quat<T>>,
    /// Past controls and sensor values, one for each of the model's histories.
    pub history: Vec<History<T>>,
    /// Acceleration from which the constraint solver starts, nv.
    pub warmstart: Vec<T>,
}

impl<T: Scalar> State<T> {
    /// The model's default state.
    pub fn reference(model: &Model<T>) -> Self {
        let n = model.counts();
        let mut state = Self {
            time: T::ZERO,
            qpos: model.qpos.reference.clone(),
            qvel: vec![T::ZERO; n.nv],
            act: vec![T::ZERO; n.na],
            mocap_position: vec![Vec3::default(); n.nmocap],
            mocap_quat: vec![Quat::identity(); n.nmocap],
            history: history::all_before_start(model),
            warmstart: vec![T::ZERO; n.nv],
        };
        for (body, mocap) in model.structure.bodies.mocap.iter().enumerate() {
            if let Some(mocap) = *mocap {
                state.mocap_position[mocap] = model.bodies.position[body];
                state.mocap_quat[mocap] = model.bodies.quat[body];
            }
        }
        state
    }

    /// The state of a keyframe; none if there is no such keyframe.
    pub fn keyframe(model: &Model<T>, keyframe: usize) -> Option<Self> {
        let n = model.counts();
        if keyframe >= n.nkeyframe {
            return None;
        }
        let slice = |values: &[T], length: usize| values[keyframe * length..][..length].to_vec();
        let keys = &model.keyframes;
        let mut state = Self::reference(model);
        state.time = keys.time[keyframe];
        state.qpos = slice(&keys.qpos, n.nq);
        state.qvel = slice(&keys.qvel, n.nv);
        state.act = slice(&keys.act, n.na);
        state.mocap_position = keys.mocap_position[keyframe * n.nmocap..][..n.nmocap].to_vec();
        state.mocap_quat = keys.mocap_quat[keyframe * n.nmocap..][..n.nmocap].to_vec();
        Some(state)
    }

    /// The same state over another scalar.
    pub fn map<U: Scalar>(&self, mut convert: impl FnMut(T) -> U) -> State<U> {
        let positions = self.mocap_position.iter();
        let mocap_position = positions.map(|position| position.map(&mut convert));
        let mocap_position = mocap_position.collect();
        let quats = self.mocap_quat.iter();
        let mocap_quat = quats.map(|quat| quat.map(&mut convert)).collect();
        let histories = self.history.iter();
        let history = histories.map(|past| past.map(&mut convert)).collect();
        let mut all = |numbers: &[T]| numbers.iter().map(|&number| convert(number)).collect();
        State {
            qpos: all(&self.qpos),
            qvel: all(&self.qvel),
            act: all(&self.act),
            warmstart: all(&self.warmstart),
            time: convert(self.time),
            mocap_position,
            mocap_quat,
            history,
        }
    }

    /// Copies another state of the same model without allocating.
    pub fn copy_from(&mut self, other: &Self) {
        self.time = other.time;
        self.qpos.copy_from_slice(&other.qpos);
        self.qvel.copy_from_slice(&other.qvel);
        self.act.copy_from_slice(&other.act);
        self.mocap_position.copy_from_slice(&other.mocap_position);
        self.mocap_quat.copy_from_slice(&other.mocap_quat);
        for (history, other) in self.history.iter_mut().zip(&other.history) {
            history.copy_from(other);
        }
        self.warmstart.copy_from_slice(&other.warmstart);
    }
}

impl<const N: usize> State<Dual<N>> {
    /// Takes over the values of a state, and keeps the derivatives.
    pub fn set_values(&mut self, plain: &State) {
        let set = |numbers: &mut [Dual<N>], values: &[f64]| {
            for (number, &value) in numbers.iter_mut().zip(values) {
                number.value = value;
            }
        };
        self.time.value = plain.time;
        set(&mut self.qpos, &plain.qpos);
        set(&mut self.qvel, &plain.qvel);
        set(&mut self.act, &plain.act);
        set(&mut self.warmstart, &plain.warmstart);
        for (history, plain) in self.history.iter_mut().zip(&plain.history) {
            set(history.values_mut(), plain.values());
        }
    }
}

/// What acts on the mechanism from outside during a step.
#[derive(Clone, Debug, PartialEq)]
pub struct Input<T: Scalar = f64> {
    /// Controls, nu.
    pub ctrl: Vec<T>,
    /// Applied generalised forces, nv.
    pub force: Vec<T>,
    /// Applied torque and force on each body at its centre of mass, world axes (N·m, N).
    pub body_force: Vec<Spatial<T>>,
    /// Which equality constraints hold.
    pub equality_active: Vec<bool>,
    /// Length of the step (s).
    pub timestep: T,
}

impl<T: Scalar> Input<T> {
    /// No controls and no applied forces, over a step of the model's own length.
    pub fn zeros(model: &Model<T>) -> Self {
        let n = model.counts();
        Self {
            ctrl: vec![T::ZERO; n.nu],
            force: vec![T::ZERO; n.nv],
            body_force: vec![Spatial::default(); n.nbody],
            equality_active: model.structure.equalities.active.clone(),
            timestep: model.option.timestep[0],
        }
    }
}
