//! A legged robot as one rigid body that forces at its feet push: what a plan of forces is made with [Carlo 2018].
//!
//! In a frame that turns with the heading, with the angles θ (roll, pitch, yaw), the place p of the centre of mass, the angular velocity
//! ω and the velocity v,
//!
//!   θ̇ = T·ω,   ṗ = v,   ω̇ = I⁻¹·Σ rᵢ × fᵢ,   v̇ = Σ fᵢ/m + g                                         (1)
//!
//! T, I and r are held as they are now. Nothing feeds back from θ and p, so a step of length h with constant forces is exact in
//! closed form, and so is the state after k of them:
//!
//!   (ω, v)ₖ = (ω, v)₀ + Σⱼ h·B·fⱼ + k·h·(0, g)                                                  (2)
//!   (θ, p)ₖ = (θ, p)₀ + k·h·S·(ω, v)₀ + Σⱼ (k − j − ½)·h²·S·B·fⱼ + ½·(k·h)²·(0, g)                   (3)
//!
//! over the forces of the steps j < k, with S = diag(T, 1). The cost Σₖ (xₖ − x*ₖ)ᵀ·W·(xₖ − x*ₖ) + ε·|f|² of a horizon of N steps therefore has the
//! Hessian
//!
//!   H = 2·(C¹ ⊗ Bᵀ·W₁·B + C² ⊗ (S·B)ᵀ·W₂·S·B) + 2ε·1                                            (4)
//!
//! of two small matrices and two tables of sums over k > max(i, j): h²  and  (k − i − ½)·(k − j − ½)·h⁴.

use carom::math::{Mat3, Vec3};

use super::qp::{Pyramid, PyramidProgram};

/// Weights of the errors of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// Of roll, pitch and yaw (1/rad²).
    pub angles: [f64; 3],
    /// Of the place (1/m²).
    pub place: [f64; 3],
    /// Of the angular velocity (s²/rad²).
    pub angular: [f64; 3],
    /// Of the velocity (s²/m²).
    pub linear: [f64; 3],
    /// Of the forces (1/N²).
    pub force: f64,
}

impl Default for Weights {
    /// Those with which Laikago and its like trot.
    fn default() -> Self {
        Self {
            angles: [5.0, 5.0, 0.2],
            place: [0.0, 0.0, 10.0],
            angular: [0.0, 0.0, 1.0],
            linear: [1.0, 1.0, 0.0],
            force: 5e-6,
        }
    }
}

/// How far a plan looks ahead.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Horizon {
    /// Number of steps.
    pub steps: usize,
    /// Length of a step (s).
    pub step: f64,
}

impl Default for Horizon {
    fn default() -> Self {
        Self {
            steps: 10,
            step: 0.025,
        }
    }
}

/// A state in the frame of the heading: yaw and horizontal place count from now.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BodyState {
    /// Roll, pitch, yaw (rad).
    pub angles: Vec3,
    /// Place of the centre of mass; its height counts from the ground (m).
    pub place: Vec3,
    /// Angular velocity (rad/s).
    pub angular: Vec3,
    /// Velocity (m/s).
    pub linear: Vec3,
}

/// The body and the feet that stand.
#[derive(Clone, Debug, PartialEq)]
pub struct SingleBody {
    /// Mass (kg).
    pub mass: f64,
    /// Inertia about the centre of mass, axes of the trunk (kg·m²).
    pub inertia: Mat3,
    /// Gravity (m/s²).
    pub gravity: Vec3,
}

impl SingleBody {
    /// From angular velocity to rates of the angles, heading frame.
    pub fn rates(angles: Vec3) -> Mat3 {
        let (sin, cos) = angles[1].sin_cos();
        Mat3::from_rows(
            Vec3([1.0 / cos, 0.0, 0.0]),
            Vec3([0.0, 1.0, 0.0]),
            Vec3([sin / cos, 0.0, 1.0]),
        )
    }

    /// From trunk axes to the heading frame: pitch after roll.
    pub fn rotation(angles: Vec3) -> Mat3 {
        let ((sr, cr), (sp, cp)) = (angles[0].sin_cos(), angles[1].sin_cos());
        Mat3::from_rows(
            Vec3([cp, sp * sr, sp * cr]),
            Vec3([0.0, cr, -sr]),
            Vec3([-sp, cp * sr, cp * cr]),
        )
    }

    /// I⁻¹ in the heading frame.
    fn inverse_inertia(&self, angles: Vec3) -> Mat3 {
        let rotation = Self::rotation(angles);
        rotation
            .mul(&self.inertia)
            .mul(&rotation.transpose())
            .inverse()
    }

    /// The state after a step with constant forces at `feet`, which are given relative to the centre of mass: (1) for that long, with
    /// T, I and the feet as `frozen` has them.
    pub fn step(
        &self,
        state: &BodyState,
        frozen: Vec3,
        pushes: &[(Vec3, Vec3)],
        h: f64,
    ) -> BodyState {
        let (mut torque, mut force) = (Vec3::ZERO, Vec3::ZERO);
        for &(arm, push) in pushes {
            torque += arm.cross(push);
            force += push;
        }
        let spin = self.inverse_inertia(frozen).mul_vec(torque);
        let acceleration = force * (1.0 / self.mass) + self.gravity;
        let rates = Self::rates(frozen);
        BodyState {
            angles: state.angles + rates.mul_vec(state.angular * h + spin * (0.5 * h * h)),
            place: state.place + state.linear * h + acceleration * (0.5 * h * h),
            angular: state.angular + spin * h,
            linear: state.linear + acceleration * h,
        }
    }
}

/// What a plan is for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Task {
    /// Now.
    pub state: BodyState,
    /// What is wanted now; angles and place go on with the wanted velocities.
    pub wanted: BodyState,
    /// Weights.
    pub weights: Weights,
    /// Horizon.
    pub horizon: Horizon,
}

/// Makes the quadratic program of a plan over the forces at the feet that stand, step after step and in each foot after foot. The
/// feet are given relative to the centre of mass, heading frame.
#[derive(Clone, Debug, Default)]
pub struct Condenser {
    /// B: columns of angular and linear acceleration, one a component of force.
    accelerations: Vec<[f64; 6]>,
    /// S·B.
    rates: Vec<[f64; 6]>,
    by_speed: Vec<f64>,
    by_place: Vec<f64>,
}

impl Condenser {
    /// Writes (4) and its gradient at zero force.
    pub fn condense(
        &mut self,
        body: &SingleBody,
        task: &Task,
        feet: &[(Vec3, Pyramid)],
        program: &mut PyramidProgram,
    ) {
        self.columns(body, task.state.angles, feet);
        let (width, steps, h) = (3 * feet.len(), task.horizon.steps, task.horizon.step);
        let (speed, place) = weights(&task.weights);
        products(&self.accelerations, &speed, &mut self.by_speed);
        products(&self.rates, &place, &mut self.by_place);
        let size = width * steps;
        program.hessian.resize(size * size, 0.0);
        for i in 0..steps {
            for j in i..steps {
                let (mut of_speed, mut of_place) = (0.0, 0.0);
                for k in j + 1..=steps {
                    of_speed += 2.0 * h * h;
                    let arms = ((k - i) as f64 - 0.5) * ((k - j) as f64 - 0.5);
                    of_place += 2.0 * arms * h * h * h * h;
                }
                for row in 0..width {
                    let from = (i * width + row) * size + j * width;
                    let entries = &mut program.hessian[from..from + width];
                    let blocks = self.by_speed[row * width..].iter();
                    let blocks = blocks.zip(&self.by_place[row * width..]);
                    for (entry, (by_speed, by_place)) in entries.iter_mut().zip(blocks) {
                        *entry = of_speed * by_speed + of_place * by_place;
                    }
                }
            }
        }
        for diagonal in 0..size {
            program.hessian[diagonal * size + diagonal] += 2.0 * task.weights.force;
        }
        self.gradient(body, task, [&speed, &place], program);
        program.pyramids.clear();
        for _ in 0..steps {
            program.pyramids.extend(feet.iter().map(|foot| foot.1));
        }
    }

    fn columns(&mut self, body: &SingleBody, angles: Vec3, feet: &[(Vec3, Pyramid)]) {
        let (inverse, rates) = (body.inverse_inertia(angles), SingleBody::rates(angles));
        self.accelerations.clear();
        self.rates.clear();
        for &(arm, _) in feet {
            for axis in 0..3 {
                let mut unit = Vec3::ZERO;
                unit[axis] = 1.0;
                let spin = inverse.mul_vec(arm.cross(unit));
                let turn = rates.mul_vec(spin);
                let push = unit * (1.0 / body.mass);
                self.accelerations
                    .push([spin[0], spin[1], spin[2], push[0], push[1], push[2]]);
                self.rates
                    .push([turn[0], turn[1], turn[2], push[0], push[1], push[2]]);
            }
        }
    }

    /// 2·Σₖ Bₖᵀ·W·(xₖ without forces − x*ₖ).
    fn gradient(
        &self,
        body: &SingleBody,
        task: &Task,
        [speed, place]: [&[f64; 6]; 2],
        program: &mut PyramidProgram,
    ) {
        let (width, steps, h) = (
            self.accelerations.len(),
            task.horizon.steps,
            task.horizon.step,
        );
        let (state, wanted) = (&task.state, &task.wanted);
        let turning = SingleBody::rates(state.angles).mul_vec(state.angular);
        program.gradient.clear();
        program.gradient.resize(width * steps, 0.0);
        for k in 1..=steps {
            let time = k as f64 * h;
            let fall = body.gravity;
            let angles = state.angles - wanted.angles + (turning - wanted.angular) * time;
            let moved = (state.linear - wanted.linear) * time + fall * (0.5 * time * time);
            let places = state.place - wanted.place + moved;
            let angular = state.angular - wanted.angular;
            let linear = state.linear - wanted.linear + fall * time;
            let weigh = |first: Vec3, second: Vec3, weights: &[f64; 6]| -> [f64; 6] {
                std::array::from_fn(|row| {
                    let error = if row < 3 { first[row] } else { second[row - 3] };
                    2.0 * weights[row] * error
                })
            };
            let (of_place, of_speed) =
                (weigh(angles, places, place), weigh(angular, linear, speed));
            for (j, gradients) in program.gradient.chunks_exact_mut(width).take(k).enumerate() {
                let arm = ((k - j) as f64 - 0.5) * h * h;
                let columns = self.accelerations.iter().zip(&self.rates);
                for (gradient, (acceleration, rate)) in gradients.iter_mut().zip(columns) {
                    *gradient += h * dot(acceleration, &of_speed) + arm * dot(rate, &of_place);
                }
            }
        }
    }
}

/// Of angular and linear velocity, and of angles and place.
fn weights(weights: &Weights) -> ([f64; 6], [f64; 6]) {
    let both = |[a, b, c]: [f64; 3], [d, e, f]: [f64; 3]| [a, b, c, d, e, f];
    (
        both(weights.angular, weights.linear),
        both(weights.angles, weights.place),
    )
}

/// aᵀ·W·b of all pairs of columns.
fn products(columns: &[[f64; 6]], weights: &[f64; 6], into: &mut Vec<f64>) {
    into.clear();
    for a in columns {
        for b in columns {
            into.push((0..6).map(|row| a[row] * weights[row] * b[row]).sum());
        }
    }
}

fn dot(a: &[f64; 6], b: &[f64; 6]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
