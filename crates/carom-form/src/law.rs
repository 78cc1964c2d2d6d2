//! Laws with free numbers: friction of a joint, and drag. Unlike networks they say in words what they found.
//!
//! Friction over the velocity v and, if it is given, the load m on the gears:
//!
//!   y = −k·tanh(v/ε) − b·v,   k = c + l·|m| + (s + n·|m|)·e,   e = exp(−(v/w)²)            (1)
//!
//! with the weights (c, s, w, ε, b) and, under load, (l, n). Drag along each input:
//!
//!   y(i) = −(d(i) + q(i)·|v(i)|)·v(i)                                                     (2)
//!
//! with the weights d, then q. Both are zero while their strengths are, and dissipative while these are not negative.

use carom_scalar::Scalar;

use crate::{CoreBars, Function};

/// Speeds w and ε that untrained friction has (m/s or rad/s): both within what joints of robots do.
const STRIBECK_SPEED: f64 = 0.3;
const SMOOTHING_SPEED: f64 = 0.05;

/// The least speed w or ε (m/s or rad/s): below it friction would be a jump to any time step.
const MIN_SPEED: f64 = 1e-4;

/// Friction of a joint that falls as it begins to move, and rises with the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Friction {
    has_load: bool,
}

impl Friction {
    /// Over the velocity, or over velocity and load.
    pub fn new(has_load: bool) -> Self {
        Self { has_load }
    }

    /// The load, and how much it adds to dry friction and to its fall.
    fn load<T: Scalar>(self, x: &[T], w: &[T]) -> (T, T, T) {
        if self.has_load {
            (x[1], w[5], w[6])
        } else {
            (T::ZERO, T::ZERO, T::ZERO)
        }
    }
}

impl Function for Friction {
    fn inputs(&self) -> usize {
        1 + usize::from(self.has_load)
    }

    fn outputs(&self) -> usize {
        1
    }

    fn weights(&self) -> usize {
        5 + 2 * usize::from(self.has_load)
    }

    /// No strength, and speeds to begin with.
    fn initial(&self, _: f64, _: &mut dyn FnMut() -> f64) -> Vec<f64> {
        let mut weights = vec![0.0; self.weights()];
        weights[2] = STRIBECK_SPEED;
        weights[3] = SMOOTHING_SPEED;
        weights
    }

    fn value<T: Scalar>(&self, x: &[T], w: &[T], y: &mut [T], _: &mut [T]) {
        let (v, (load, steady, falling)) = (x[0], self.load(x, w));
        let (ratio, size) = (v / w[2], load.abs());
        let fall = (-(ratio * ratio)).exp();
        let level = w[0] + steady * size + (w[1] + falling * size) * fall;
        y[0] = -level * (v / w[3]).tanh() - w[4] * v; // (1)
    }

    /// The adjoint of (1).
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        y_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        _: &mut [T],
    ) {
        let (v, bar, (load, steady, falling)) = (x[0], y_bar[0], self.load(x, w));
        let (ratio, size) = (v / w[2], load.abs());
        let fall = (-(ratio * ratio)).exp();
        let drop = w[1] + falling * size;
        let level = w[0] + steady * size + drop * fall;
        let (share, sign) = (v / w[3], (v / w[3]).tanh());
        let (level_bar, sign_bar) = (-sign * bar, -level * bar);
        // de = −2·(v/w)·e·d(v/w).
        let ratio_bar = level_bar * drop * fall * ratio * -2.0;
        let share_bar = sign_bar * (T::ONE - sign * sign);
        bars.inputs[0] += ratio_bar / w[2] + share_bar / w[3] - w[4] * bar;
        let own = [
            level_bar,
            level_bar * fall,
            -ratio_bar * ratio / w[2],
            -share_bar * share / w[3],
            -v * bar,
        ];
        for (weight_bar, own) in bars.weights.iter_mut().zip(own) {
            *weight_bar += own;
        }
        if self.has_load {
            bars.weights[5] += level_bar * size;
            bars.weights[6] += level_bar * fall * size;
            let size_bar = level_bar * (steady + falling * fall);
            let direction = match load.value() {
                load if load > 0.0 => 1.0,
                load if load < 0.0 => -1.0,
                _ => 0.0,
            };
            bars.inputs[1] += size_bar * direction;
        }
    }

    fn weight_scales(&self, x: &[f64], z: &[f64]) -> Vec<f64> {
        let (force, speed) = (z[0], x[0]);
        let mut scales = vec![force, force, speed, speed, force / speed];
        if let Some(load) = x.get(1) {
            scales.extend([force / load; 2]);
        }
        scales
    }

    /// Strengths may not be negative, speeds not vanish.
    fn lower_bound(&self, weight: usize) -> f64 {
        if matches!(weight, 2 | 3) {
            MIN_SPEED
        } else {
            0.0
        }
    }
}

/// Linear and quadratic resistance along each of some velocities.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drag {
    count: usize,
}

impl Drag {
    /// Over so many velocities.
    pub fn new(count: usize) -> Self {
        Self { count }
    }
}

impl Function for Drag {
    fn inputs(&self) -> usize {
        self.count
    }

    fn outputs(&self) -> usize {
        self.count
    }

    fn weights(&self) -> usize {
        2 * self.count
    }

    fn initial(&self, _: f64, _: &mut dyn FnMut() -> f64) -> Vec<f64> {
        vec![0.0; self.weights()]
    }

    fn value<T: Scalar>(&self, x: &[T], w: &[T], y: &mut [T], _: &mut [T]) {
        let (linear, quadratic) = w.split_at(self.count);
        for (i, y) in y.iter_mut().enumerate() {
            *y = -(linear[i] + quadratic[i] * x[i].abs()) * x[i]; // (2)
        }
    }

    /// The adjoint of (2).
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        y_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        _: &mut [T],
    ) {
        let (linear, quadratic) = w.split_at(self.count);
        let (linear_bar, quadratic_bar) = bars.weights.split_at_mut(self.count);
        for (i, &bar) in y_bar.iter().enumerate() {
            let speed = x[i].abs();
            linear_bar[i] -= x[i] * bar;
            quadratic_bar[i] -= speed * x[i] * bar;
            bars.inputs[i] -= (linear[i] + quadratic[i] * speed * 2.0) * bar;
        }
    }

    fn weight_scales(&self, x: &[f64], z: &[f64]) -> Vec<f64> {
        let linear = x.iter().zip(z).map(|(speed, force)| force / speed);
        let quadratic = (x.iter().zip(z)).map(|(speed, force)| force / (speed * speed));
        linear.chain(quadratic).collect()
    }

    fn lower_bound(&self, _: usize) -> f64 {
        0.0
    }
}
