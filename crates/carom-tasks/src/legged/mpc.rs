//! Forces at the feet by convex model-predictive control.

use carom::math::Vec3;

use super::controller::{FEET, FRICTION, ForcePolicy, OBSERVED, STANDS, WANTED};
use super::qp::{InteriorPoint, Pyramid, PyramidProgram, Solved};
use super::robot::Robot;
use super::single_body::{BodyState, Condenser, Horizon, SingleBody, Task, Weights};
use super::{FORCES, LEGS};

/// Plans forces over a horizon with the legs that stand now, and gives those of its first step.
#[derive(Clone, Debug)]
pub struct Mpc {
    /// The body.
    pub body: SingleBody,
    /// Weights of errors.
    pub weights: Weights,
    /// How far it looks ahead.
    pub horizon: Horizon,
    /// The least and the largest normal force of a foot, as parts of the weight of the robot.
    pub normal: [f64; 2],
    /// The solver, with its tolerance.
    pub solver: InteriorPoint,
    /// How the last program was solved.
    pub solved: Solved,
    condenser: Condenser,
    program: PyramidProgram,
    feet: Vec<(Vec3, Pyramid)>,
}

impl Mpc {
    /// With the usual weights and horizon.
    pub fn new(robot: &Robot) -> Self {
        Self {
            body: robot.body.clone(),
            weights: Weights::default(),
            horizon: Horizon::default(),
            normal: [0.1, 10.0],
            solver: InteriorPoint::default(),
            solved: Solved {
                iterations: 0,
                converged: true,
            },
            condenser: Condenser::default(),
            program: PyramidProgram::default(),
            feet: Vec::with_capacity(LEGS),
        }
    }

    /// The quadratic program of the last call.
    pub fn program(&self) -> &PyramidProgram {
        &self.program
    }
}

impl ForcePolicy for Mpc {
    fn forces(&mut self, observed: &[f64; OBSERVED], forces: &mut [f64; FORCES]) {
        let vector =
            |place: usize| Vec3([observed[place], observed[place + 1], observed[place + 2]]);
        let angles = vector(3);
        let turn = SingleBody::rotation(angles);
        let weight = self.body.mass * self.body.gravity.norm();
        forces.fill(0.0);
        self.feet.clear();
        let mut height = 0.0;
        for leg in (0..LEGS).filter(|leg| observed[STANDS + leg] > 0.5) {
            let arm = turn.mul_vec(vector(FEET + 3 * leg));
            height -= arm[2];
            let pyramid = Pyramid {
                friction: observed[FRICTION + leg],
                low: self.normal[0] * weight,
                high: self.normal[1] * weight,
            };
            self.feet.push((arm, pyramid));
        }
        if self.feet.is_empty() {
            return;
        }
        height /= self.feet.len() as f64;
        let task = Task {
            state: BodyState {
                angles,
                place: Vec3([0.0, 0.0, height]),
                angular: turn.mul_vec(vector(6)),
                linear: turn.mul_vec(vector(0)),
            },
            wanted: BodyState {
                place: vector(WANTED),
                linear: vector(WANTED + 3),
                angles: vector(WANTED + 6),
                angular: vector(WANTED + 9),
            },
            weights: self.weights,
            horizon: self.horizon,
        };
        self.condenser
            .condense(&self.body, &task, &self.feet, &mut self.program);
        self.solved = self.solver.solve(&self.program);
        let found = self.solver.solution().as_chunks::<3>().0;
        let standing = (0..LEGS).filter(|leg| observed[STANDS + leg] > 0.5);
        for (leg, force) in standing.zip(found) {
            forces[3 * leg..3 * leg + 3].copy_from_slice(force);
        }
    }
}
