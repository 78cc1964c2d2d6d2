//! The regressor: residuals of torques as a linear function of coefficients, and their derivatives with respect to parameters.
//!
//! Any body is a sum of point masses, and so is the torque that it takes. Ten of them, at the origin o of the body, at ±e₁, ±e₂, ±e₃ and at
//! e₁ + e₂, e₁ + e₃, e₂ + e₃, tell the columns of the numbers (2): with P(r) the torque that a point mass of 1 kg at r takes,
//!
//!   Y(m) = P(o),   Y(mcₖ) = (P(eₖ) − P(−eₖ))/2,   Y(Eₖₖ) = (P(eₖ) + P(−eₖ))/2 − P(o)                      (3)
//!   Y(Eₖₗ) = P(eₖ + eₗ) − Y(m) − Y(mcₖ) − Y(mcₗ) − Y(Eₖₖ) − Y(Eₗₗ)                                      (4)
//!
//! Each P is an inverse dynamics of the engine with the body replaced by the point mass, less one with nothing in its place. Coefficients follow
//! from parameters by dual numbers through the whole model, so that `body.*.mass`, `pseudo_inertia` or the size of a geom are all
//! known here. A parameter that changes torques in another way is refused.

use carom::math::{Mat3, Vec3};
use carom::model::BiasKind;
use carom::parameters::Parameters;
use carom::varied::{self, LANES, Varied};
use carom::{Error, Model, Scalar};
use carom_optimise::linalg::Matrix;
use rayon::prelude::*;

use super::measured::{Axis, Measured, Motor, without_constraints};
use crate::error;

/// Parameters are tried at about so many samples, whether torques depend on them as coefficients say.
const TRIED_SAMPLES: usize = 5;
/// By how much they are changed for that.
const TRIED_CHANGE: f64 = 1e-4;
/// Differences below this part of the greatest torque are rounding, or of second order.
const TRIED_TOLERANCE: f64 = 1e-5;

/// Numbers of a body in the regressor.
const BODY_COEFFICIENTS: usize = 10;

/// Products xy, xz, yz.
const PRODUCTS: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

/// What torques depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coefficient {
    /// One of the ten numbers of a body.
    Inertia {
        body: usize,
        number: usize,
    },
    Armature(usize),
    Damping(usize),
    DryFriction(usize),
    Gain(usize),
    Bias {
        actuator: usize,
        number: usize,
    },
    /// The one that torques do not depend on linearly.
    Delay(usize),
}

impl Coefficient {
    fn value<T: Scalar>(self, model: &Model<T>, inertia: &mut impl FnMut(usize) -> [T; 10]) -> T {
        match self {
            Self::Inertia { body, number } => inertia(body)[number],
            Self::Armature(dof) => model.dofs.armature[dof],
            Self::Damping(dof) => model.dofs.damping[dof],
            Self::DryFriction(dof) => model.dofs.frictionloss[dof],
            Self::Gain(actuator) => model.actuators.gain[actuator][0],
            Self::Bias { actuator, number } => model.actuators.bias[actuator][number],
            Self::Delay(actuator) => model.actuators.delay[actuator],
        }
    }
}

/// Residuals of torques as a function of parameters; see the file's documentation.
#[derive(Clone, Debug)]
pub(crate) struct Regressor {
    measured: Measured,
    samples: Vec<(usize, usize)>,
    coefficients: Vec<Coefficient>,
    /// Derivatives of the residuals with respect to the coefficients, at the base.
    matrix: Matrix,
    /// Coefficients of the base.
    base: Vec<f64>,
    /// Residuals of the base.
    residuals: Vec<f64>,
    /// Gains of the base, by actuator.
    gains: Vec<f64>,
}

impl Regressor {
    /// The regressor of the coefficients that parameters move.
    ///
    /// # Errors
    /// When torques depend on a parameter in another way.
    pub(crate) fn new(measured: Measured, parameters: &Parameters) -> Result<Self, Error> {
        let model = parameters.base();
        let mut coefficients = all_coefficients(model, &measured);
        let slopes = slopes(&coefficients, parameters, parameters.theta0())?;
        let mut is_moved =
            (0..coefficients.len()).map(|k| slopes.row(k).iter().any(|slope| *slope != 0.0));
        coefficients.retain(|_| is_moved.next().unwrap_or(false));
        let samples = measured.samples();
        let regressor = Self {
            matrix: columns(model, &measured, &samples, &coefficients),
            base: values(&coefficients, model),
            residuals: measured.residuals(model, &samples),
            gains: model.actuators.gain.iter().map(|gain| gain[0]).collect(),
            measured,
            samples,
            coefficients,
        };
        regressor.refuse_others(parameters)?;
        Ok(regressor)
    }

    /// Joints, in the order of the residuals of a sample.
    pub(crate) fn axes(&self) -> &[Axis] {
        &self.measured.axes
    }

    /// The torques that were measured.
    pub(crate) fn measured(&self) -> &Measured {
        &self.measured
    }

    /// Residuals of each trajectory.
    pub(crate) fn rows_by_trajectory(&self) -> impl Iterator<Item = usize> {
        let signals = self.measured.signals.iter();
        signals.map(|signals| signals.samples.len() * self.measured.axes.len())
    }

    /// Residuals of the base, and their derivatives with respect to the coefficients.
    pub(crate) fn at_base(&self) -> (Vec<f64>, Matrix) {
        self.of(&self.base)
    }

    /// Residuals (1) for θ.
    ///
    /// # Errors
    /// When there is no such model.
    pub(crate) fn residuals(
        &self,
        parameters: &Parameters,
        theta: &[f64],
    ) -> Result<Vec<f64>, Error> {
        let model = parameters.apply(theta)?;
        Ok(self.of(&values(&self.coefficients, &model)).0)
    }

    /// Residuals (1) for θ with their Jacobian.
    ///
    /// # Errors
    /// When there is no such model.
    pub(crate) fn linearize(
        &self,
        parameters: &Parameters,
        theta: &[f64],
    ) -> Result<(Vec<f64>, Matrix), Error> {
        let model = parameters.apply(theta)?;
        let (residuals, matrix) = self.of(&values(&self.coefficients, &model));
        let slopes = slopes(&self.coefficients, parameters, theta)?;
        Ok((residuals, matrix.times_matrix(&slopes)))
    }

    /// Residuals for coefficients, and their derivatives with respect to them.
    fn of(&self, coefficients: &[f64]) -> (Vec<f64>, Matrix) {
        let changes: Vec<f64> = coefficients
            .iter()
            .zip(&self.base)
            .map(|(one, base)| one - base)
            .collect();
        let changed = self.matrix.times(&changes);
        let mut residuals: Vec<f64> = self
            .residuals
            .iter()
            .zip(changed)
            .map(|(r, change)| r + change)
            .collect();
        let mut matrix = self.matrix.clone();
        let delays = self.coefficients.iter().enumerate();
        for (column, coefficient) in delays {
            if let Coefficient::Delay(actuator) = *coefficient {
                self.delay(
                    actuator,
                    (column, coefficients),
                    &mut residuals,
                    &mut matrix,
                );
            }
        }
        (residuals, matrix)
    }

    /// Adds what the delay of an actuator changes, which is left out of the linear part.
    fn delay(
        &self,
        actuator: usize,
        (column, coefficients): (usize, &[f64]),
        residuals: &mut [f64],
        matrix: &mut Matrix,
    ) {
        let place = |one: Coefficient| self.coefficients.iter().position(|known| *known == one);
        let gain_column = place(Coefficient::Gain(actuator));
        let gain = gain_column.map_or(self.gains[actuator], |column| coefficients[column]);
        let axes = &self.measured.axes;
        for row in 0..residuals.len() {
            let (signals, frame) = self.samples[row / axes.len()];
            let own = |motor: &&Motor| motor.actuator == actuator;
            let Some(motor) = axes[row % axes.len()].motors.iter().find(own) else {
                continue;
            };
            let control =
                |delay| self.measured.signals[signals].control(motor.control, frame, delay);
            let ((then, slope), (before, _)) =
                (control(coefficients[column]), control(self.base[column]));
            residuals[row] += motor.gear * gain * (then - before);
            matrix[(row, column)] = -motor.gear * gain * slope;
            if let Some(gain_column) = gain_column {
                matrix[(row, gain_column)] = motor.gear * then;
            }
        }
    }

    /// Refuses parameters on which torques depend in another way than by coefficients, or not at all as far as inverse dynamics knows.
    fn refuse_others(&self, parameters: &Parameters) -> Result<(), Error> {
        let step = (self.samples.len() / TRIED_SAMPLES).max(1);
        let axes = self.measured.axes.len();
        let tried: Vec<usize> = (0..self.samples.len()).step_by(step).collect();
        let samples: Vec<(usize, usize)> =
            tried.iter().map(|&sample| self.samples[sample]).collect();
        let size = self
            .residuals
            .iter()
            .fold(1e-6_f64, |most, r| most.max(r.abs()));
        let theta0 = parameters.theta0();
        for (index, name) in parameters.names().enumerate() {
            let mut theta = theta0.to_vec();
            theta[index] += TRIED_CHANGE * theta[index].abs().max(1e-2);
            let model = parameters.apply(&theta)?;
            let direct = self.measured.residuals(&model, &samples);
            let linear = self.of(&values(&self.coefficients, &model)).0;
            let linear = tried
                .iter()
                .flat_map(|sample| &linear[sample * axes..][..axes]);
            let is_known = direct
                .iter()
                .zip(linear)
                .all(|(a, b)| (a - b).abs() < TRIED_TOLERANCE * size);
            if !is_known {
                return Err(error::settings(format!(
                    "{name} is not identified from torques: they tell masses, centres and inertias, armature, damping and friction loss of joints, and gain, bias and delay of motors; hold it, or compare predictions alone"
                )));
            }
        }
        Ok(())
    }
}

/// Everything that torques depend on linearly, and delays.
fn all_coefficients(model: &Model, measured: &Measured) -> Vec<Coefficient> {
    let bodies = (1..model.bodies.mass.len()).flat_map(|body| {
        (0..BODY_COEFFICIENTS).map(move |number| Coefficient::Inertia { body, number })
    });
    let mut all: Vec<Coefficient> = bodies.collect();
    for axis in &measured.axes {
        let dof = axis.dof;
        all.extend([
            Coefficient::Armature(dof),
            Coefficient::Damping(dof),
            Coefficient::DryFriction(dof),
        ]);
        for &Motor { actuator, .. } in &axis.motors {
            all.extend([Coefficient::Gain(actuator), Coefficient::Delay(actuator)]);
            if model.structure.actuators.bias[actuator] == BiasKind::Affine {
                all.extend((0..3).map(|number| Coefficient::Bias { actuator, number }));
            }
        }
    }
    all
}

/// Values of coefficients in a model.
fn values<T: Scalar>(coefficients: &[Coefficient], model: &Model<T>) -> Vec<T> {
    let mut known: Option<(usize, [T; BODY_COEFFICIENTS])> = None;
    let mut inertia = |body: usize| match known {
        Some((last, numbers)) if last == body => numbers,
        _ => known.insert((body, body_numbers(model, body))).1,
    };
    coefficients
        .iter()
        .map(|one| one.value(model, &mut inertia))
        .collect()
}

/// The ten numbers (2) of a body: mass, first moments, second moments xx, yy, zz, xy, xz, yz about the origin of its frame.
fn body_numbers<T: Scalar>(model: &Model<T>, body: usize) -> [T; BODY_COEFFICIENTS] {
    let bodies = &model.bodies;
    let (mass, center) = (bodies.mass[body], bodies.inertial_position[body]);
    let (Vec3([xx, yy, zz]), Vec3([xy, xz, yz])) =
        (bodies.inertia[body], bodies.inertia_products[body]);
    let turn = bodies.inertial_quat[body].to_mat3();
    let own = Mat3([xx, xy, xz, xy, yy, yz, xz, yz, zz]);
    let inertia = turn.mul(&own).mul(&turn.transpose());
    let half = (inertia.0[0] + inertia.0[4] + inertia.0[8]) * 0.5;
    let second = |i: usize, j: usize| {
        let about_center = if i == j {
            half - inertia.0[4 * i]
        } else {
            -inertia.0[3 * i + j]
        };
        about_center + mass * center.0[i] * center.0[j]
    };
    let first = center.0.map(|c| mass * c);
    let [xy, xz, yz] = PRODUCTS.map(|[i, j]| second(i, j));
    [
        mass,
        first[0],
        first[1],
        first[2],
        second(0, 0),
        second(1, 1),
        second(2, 2),
        xy,
        xz,
        yz,
    ]
}

/// Derivatives of coefficients with respect to θ.
fn slopes(
    coefficients: &[Coefficient],
    parameters: &Parameters,
    theta: &[f64],
) -> Result<Matrix, Error> {
    let mut slopes = Matrix::zeros(coefficients.len(), theta.len());
    for first in (0..theta.len()).step_by(LANES) {
        let seed = |(k, &x): (usize, &f64)| {
            k.checked_sub(first)
                .map_or(Varied::constant(x), |lane| Varied::variable(x, lane))
        };
        let seeded: Vec<Varied> = theta.iter().enumerate().map(seed).collect();
        let model = varied::model(parameters, &seeded)?;
        for (row, value) in values(coefficients, &model).into_iter().enumerate() {
            for lane in 0..LANES.min(theta.len() - first) {
                slopes[(row, first + lane)] = value.tangent[lane];
            }
        }
    }
    Ok(slopes)
}

/// Columns of the coefficients: derivatives of the residuals.
fn columns(
    model: &Model,
    measured: &Measured,
    samples: &[(usize, usize)],
    coefficients: &[Coefficient],
) -> Matrix {
    let axes = measured.axes.len();
    let mut matrix = Matrix::zeros(samples.len() * axes, coefficients.len());
    let mut bodies: Vec<usize> = coefficients
        .iter()
        .filter_map(|one| match one {
            Coefficient::Inertia { body, .. } => Some(*body),
            _ => None,
        })
        .collect();
    bodies.dedup();
    let of_bodies: Vec<(usize, Vec<Vec<f64>>)> = (bodies.into_par_iter())
        .map(|body| (body, body_columns(model, measured, samples, body)))
        .collect();
    for (column, &coefficient) in coefficients.iter().enumerate() {
        for row in 0..samples.len() * axes {
            let (signals, frame) = samples[row / axes];
            let (axis, signals) = (&measured.axes[row % axes], &measured.signals[signals]);
            let (position, velocity) = (
                signals.position(frame)[axis.dof],
                signals.velocity(frame)[axis.dof],
            );
            let motor = |id: usize| axis.motors.iter().find(|motor| motor.actuator == id);
            matrix[(row, column)] = match coefficient {
                Coefficient::Inertia { body, number } => {
                    let own = of_bodies.iter().find(|(known, _)| *known == body);
                    own.map_or(0.0, |(_, columns)| -columns[number][row])
                }
                Coefficient::Armature(dof) if dof == axis.dof => -signals.acceleration(frame)[dof],
                Coefficient::Damping(dof) if dof == axis.dof => -velocity,
                Coefficient::DryFriction(dof) if dof == axis.dof => -signals.sliding(frame)[dof],
                Coefficient::Gain(id) => motor(id).map_or(0.0, |motor| {
                    motor.gear
                        * signals
                            .control(motor.control, frame, model.actuators.delay[id])
                            .0
                }),
                Coefficient::Bias { actuator, number } => motor(actuator).map_or(0.0, |motor| {
                    motor.gear * [1.0, motor.gear * position, motor.gear * velocity][number]
                }),
                _ => 0.0,
            };
        }
    }
    matrix
}

/// The torques that the ten numbers of a body take.
fn body_columns(
    model: &Model,
    measured: &Measured,
    samples: &[(usize, usize)],
    body: usize,
) -> Vec<Vec<f64>> {
    let mut other = model.clone();
    without_constraints(&mut other);
    other.bodies.inertia[body] = Vec3::ZERO;
    other.bodies.inertia_products[body] = Vec3::ZERO;
    other.bodies.mass[body] = 0.0;
    let nothing = measured.inverse_dynamics(&other, samples);
    other.bodies.mass[body] = 1.0;
    let mut point = |place: [f64; 3]| -> Vec<f64> {
        other.bodies.inertial_position[body] = Vec3(place);
        let torques = measured.inverse_dynamics(&other, samples);
        torques
            .iter()
            .zip(&nothing)
            .map(|(torque, nothing)| torque - nothing)
            .collect()
    };
    let unit = |k: usize| std::array::from_fn(|i| if i == k { 1.0 } else { 0.0 });
    let mass = point([0.0; 3]);
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for k in 0..3 {
        let (ahead, behind) = (point(unit(k)), point(unit(k).map(|x: f64| -x)));
        let pairs = || ahead.iter().zip(&behind);
        first.push(pairs().map(|(a, b)| 0.5 * (a - b)).collect::<Vec<f64>>()); // (3)
        second.push(
            pairs()
                .zip(&mass)
                .map(|((a, b), m)| 0.5 * (a + b) - m)
                .collect::<Vec<f64>>(),
        );
    }
    for [i, j] in PRODUCTS {
        let mut column = point(std::array::from_fn(|k| {
            if k == i || k == j { 1.0 } else { 0.0 }
        }));
        for known in [&mass, &first[i], &first[j], &second[i], &second[j]] {
            column
                .iter_mut()
                .zip(known)
                .for_each(|(one, known)| *one -= known); // (4)
        }
        second.push(column);
    }
    std::iter::once(mass).chain(first).chain(second).collect()
}
