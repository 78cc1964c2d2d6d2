//! Forms of learned terms: functions y = f(x, w) of inputs x and weights w that stand for laws nobody has written down.
//!
//! A [`Form`] is a [`Core`] (a network, a polynomial, a quotient of polynomials, a table) between scaled inputs and an end
//! that makes it physical:
//!
//!   x̂ = (x − c)/s                                                                           (1)
//!   z = core(x̂, w), or ½·(core(x̂, w) − core(R·x̂, w)) if odd, R turns the sign of some inputs          (2)
//!   u = z, or −g·L·Lᵀ·v if dissipative, L lower triangular with the entries z, gain g ≥ 0           (3)
//!   y = u, or B·tanh(u/B) if bounded                                                         (4)
//!
//! A dissipative form takes out energy whatever its weights are: vᵀ·u = −g·|Lᵀ·v|² ≤ 0. A form is zero for its
//! [initial weights](Form::initial): an untrained term changes nothing.
//!
//! Values and adjoints are generic over [`Scalar`], weights are plain. So dual numbers pass through a form. The adjoint over
//! dual numbers that move along ẋ has the second derivatives that implicit integrators need as its tangents:
//! d/dε ∂fᵀ/∂x(x + ε·ẋ)·ȳ = ∂/∂x ȳᵀ·(∂f/∂x·ẋ). Nothing is allocated: the caller brings [`Form::room`] numbers.
//!
//! ```
//! use carom_form::{Activation, Core, Form, Mlp};
//!
//! // A friction over position and velocity that never creates energy.
//! let form = Form::new(Core::Mlp(Mlp::new(2, &[8], 1, Activation::Tanh))).dissipative(&[1]);
//! let weights = vec![0.3; form.weights()];
//! let (mut force, mut room) = ([0.0], vec![0.0; form.room()]);
//! form.value(&[0.2, 1.5], &weights, &mut force, &mut room);
//! assert!(force[0] * 1.5 < 0.0);
//! ```

mod activation;
mod mlp;
mod polynomial;
mod table;
#[cfg(test)]
mod tests;

pub use activation::Activation;
pub use mlp::Mlp;
pub use polynomial::Polynomial;
pub use table::{Axis, Table};

use carom_scalar::Scalar;

/// What is learned of a form.
#[derive(Clone, Debug, PartialEq)]
pub enum Core {
    /// A network of dense layers.
    Mlp(Mlp),
    /// A polynomial, or a quotient of two.
    Polynomial(Polynomial),
    /// A spline over one or two inputs.
    Table(Table),
}

/// Calls the same method of whichever core it is.
macro_rules! of_core {
    ($core:expr, $one:ident => $call:expr, $table:ident => $other:expr) => {
        match $core {
            Core::Mlp($one) => $call,
            Core::Polynomial($one) => $call,
            Core::Table($table) => $other,
        }
    };
}

/// Cotangents of inputs and weights, which adjoints add to.
#[derive(Debug)]
pub struct Bars<'a, T> {
    /// Of the inputs.
    pub inputs: &'a mut [T],
    /// Of the weights.
    pub weights: &'a mut [T],
}

/// A function of inputs and weights; see the [crate] documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Form {
    core: Core,
    /// Centre and scale of each input.
    scales: Vec<[f64; 2]>,
    /// Inputs whose sign R turns; none if the form is not odd.
    odd: Vec<usize>,
    /// Inputs that are the velocities v; none if the form is not dissipative.
    velocities: Vec<usize>,
    bound: Option<f64>,
}

impl Form {
    /// A core by itself.
    pub fn new(core: Core) -> Self {
        let inputs = of_core!(&core, one => one.inputs(), table => table.inputs());
        Self {
            core,
            scales: vec![[0.0, 1.0]; inputs],
            odd: Vec::new(),
            velocities: Vec::new(),
            bound: None,
        }
    }

    /// With inputs that are centred and scaled: those of the data, for example.
    #[must_use]
    pub fn scaled(mut self, scales: Vec<[f64; 2]>) -> Self {
        self.scales = scales;
        self
    }

    /// With the sign of y turned where the sign of these inputs is, as friction does with the velocity. Their centre is zero.
    #[must_use]
    pub fn odd(mut self, inputs: &[usize]) -> Self {
        self.odd = inputs.to_vec();
        for &input in inputs {
            self.scales[input][0] = 0.0;
        }
        self
    }

    /// With y = −g·L·Lᵀ·v for the velocities v among the inputs: the core gives the entries of L, row by row.
    #[must_use]
    pub fn dissipative(mut self, velocities: &[usize]) -> Self {
        self.velocities = velocities.to_vec();
        self
    }

    /// With |y| below a bound.
    #[must_use]
    pub fn bounded(mut self, bound: f64) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Entries of L for so many velocities: outputs that the core of a dissipative form must have.
    pub fn entries(velocities: usize) -> usize {
        velocities * (velocities + 1) / 2
    }

    /// Numbers that go in.
    pub fn inputs(&self) -> usize {
        self.scales.len()
    }

    /// Numbers that come out.
    pub fn outputs(&self) -> usize {
        if self.velocities.is_empty() {
            self.core_outputs()
        } else {
            self.velocities.len()
        }
    }

    /// Numbers that are learned; the gain g of a dissipative form is the last one.
    pub fn weights(&self) -> usize {
        self.core_weights() + usize::from(self.is_dissipative())
    }

    /// The lowest value that a weight may have: a gain below zero would create energy.
    pub fn lower_bound(&self, weight: usize) -> f64 {
        if self.is_dissipative() && weight == self.core_weights() {
            0.0
        } else {
            f64::NEG_INFINITY
        }
    }

    /// Numbers of work area that values and adjoints need.
    pub fn room(&self) -> usize {
        let core = of_core!(&self.core, one => one.room(), _table => 0);
        core + 2 * self.inputs() + 2 * self.core_outputs() + 3 * self.outputs()
    }

    /// Weights to train from, for which the form is zero. `normal` gives numbers of the standard normal distribution.
    pub fn initial(&self, mut normal: impl FnMut() -> f64) -> Vec<f64> {
        // With L = 0 a dissipative form would have no gradient: its gain is zero instead.
        let (z, normal) = (if self.is_dissipative() { 0.5 } else { 0.0 }, &mut normal);
        let count = self.core_weights();
        let mut weights =
            of_core!(&self.core, one => one.initial(z, normal), _table => vec![z; count]);
        weights.resize(self.weights(), 0.0);
        weights
    }

    fn is_dissipative(&self) -> bool {
        !self.velocities.is_empty()
    }

    fn core_outputs(&self) -> usize {
        of_core!(&self.core, one => one.outputs(), _table => 1)
    }

    fn core_weights(&self) -> usize {
        of_core!(&self.core, one => one.weights(), table => table.weights())
    }

    fn core_value<T: Scalar>(&self, x: &[T], w: &[f64], z: &mut [T], room: &mut [T]) {
        of_core!(&self.core, one => one.value(x, w, z, room), table => table.value(x, w, z));
    }

    fn core_vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[f64],
        z_bar: &[T],
        bars: &mut Bars<'_, T>,
        room: &mut [T],
    ) {
        of_core!(
            &self.core,
            one => one.vjp(x, w, z_bar, bars, room),
            table => table.vjp(x, w, z_bar, bars)
        );
    }

    fn turn_signs<T: Scalar>(&self, numbers: &mut [T]) {
        for &input in &self.odd {
            numbers[input] = -numbers[input];
        }
    }

    /// (1) and (2).
    fn middle<T: Scalar>(&self, x: &[T], w: &[f64], work: &mut Work<'_, T>) {
        for ((scaled, &x), [center, scale]) in work.scaled.iter_mut().zip(x).zip(&self.scales) {
            *scaled = (x - *center) / *scale; // (1)
        }
        self.core_value(work.scaled, w, work.z, work.room);
        if !self.odd.is_empty() {
            self.turn_signs(work.scaled);
            self.core_value(work.scaled, w, work.z_bar, work.room);
            self.turn_signs(work.scaled);
            for (z, &mut other) in work.z.iter_mut().zip(&mut *work.z_bar) {
                *z = (*z - other) * 0.5; // (2)
            }
        }
    }

    /// (3), after [`Self::middle`].
    fn end<T: Scalar>(&self, x: &[T], w: &[f64], work: &mut Work<'_, T>, u: &mut [T]) {
        if !self.is_dissipative() {
            u.copy_from_slice(work.z);
            return;
        }
        // Lᵀ·v.
        work.pulled.fill(T::ZERO);
        for (row, &input) in self.velocities.iter().enumerate() {
            let entries = &work.z[Self::entries(row)..];
            for k in 0..=row {
                work.pulled[k] += entries[k] * x[input];
            }
        }
        let gain = w[self.core_weights()];
        for (row, u) in u.iter_mut().enumerate() {
            *u = -work.row(row) * gain; // (3)
        }
    }

    /// f(x, w). `room` has [`Self::room`] numbers.
    pub fn value<T: Scalar>(&self, x: &[T], w: &[f64], y: &mut [T], room: &mut [T]) {
        let mut work = self.work(room);
        self.middle(x, w, &mut work);
        self.end(x, w, &mut work, y);
        if let Some(bound) = self.bound {
            for y in y {
                *y = (*y / bound).tanh() * bound; // (4)
            }
        }
    }

    /// The adjoint: adds ∂fᵀ/∂x·ȳ and ∂fᵀ/∂w·ȳ to `bars`.
    pub fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[f64],
        y_bar: &[T],
        bars: &mut Bars<'_, T>,
        room: &mut [T],
    ) {
        let mut work = self.work(room);
        self.middle(x, w, &mut work);
        let u_bar = std::mem::take(&mut work.u_bar);
        self.end(x, w, &mut work, u_bar);
        for (u, &y_bar) in u_bar.iter_mut().zip(y_bar) {
            let slope = self.bound.map_or(T::ONE, |bound| {
                let share = (*u / bound).tanh();
                T::ONE - share * share
            });
            *u = slope * y_bar;
        }
        if self.is_dissipative() {
            self.end_vjp(x, w, u_bar, &mut work, bars);
        } else {
            work.z_bar.copy_from_slice(u_bar);
        }
        self.middle_vjp(w, &mut work, bars);
    }

    /// The adjoint of [`Self::end`] for dissipative forms: with p = Lᵀ·v and ū,
    /// L̄ = −g·ū·pᵀ + v·p̄ᵀ,   p̄ = −g·Lᵀ·ū,   v̄ += L·p̄,   ḡ += −ūᵀ·L·p.
    fn end_vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[f64],
        u_bar: &[T],
        work: &mut Work<'_, T>,
        bars: &mut Bars<'_, T>,
    ) {
        let gain = w[self.core_weights()];
        work.pulled_bar.fill(T::ZERO);
        for (row, &u_bar) in u_bar.iter().enumerate() {
            bars.weights[self.core_weights()] -= work.row(row) * u_bar;
            let first = Self::entries(row);
            for k in 0..=row {
                work.z_bar[first + k] = work.pulled[k] * u_bar * -gain;
                work.pulled_bar[k] -= work.z[first + k] * u_bar * gain;
            }
        }
        for (row, &input) in self.velocities.iter().enumerate() {
            let first = Self::entries(row);
            for k in 0..=row {
                work.z_bar[first + k] += work.pulled_bar[k] * x[input];
                bars.inputs[input] += work.z[first + k] * work.pulled_bar[k];
            }
        }
    }

    /// The adjoint of [`Self::middle`], given z̄.
    fn middle_vjp<T: Scalar>(&self, w: &[f64], work: &mut Work<'_, T>, bars: &mut Bars<'_, T>) {
        let weights = &mut bars.weights[..self.core_weights()];
        let is_odd = !self.odd.is_empty();
        if is_odd {
            for bar in &mut *work.z_bar {
                *bar *= 0.5;
            }
        }
        work.scaled_bar.fill(T::ZERO);
        let mut own = Bars {
            inputs: &mut *work.scaled_bar,
            weights: &mut *weights,
        };
        self.core_vjp(work.scaled, w, work.z_bar, &mut own, work.room);
        if is_odd {
            for bar in &mut *work.z_bar {
                *bar = -*bar;
            }
            // R·x̂ has the cotangent R·x̄̂: turned before the second half is added, and back after it.
            self.turn_signs(work.scaled);
            self.turn_signs(work.scaled_bar);
            let mut own = Bars {
                inputs: &mut *work.scaled_bar,
                weights,
            };
            self.core_vjp(work.scaled, w, work.z_bar, &mut own, work.room);
            self.turn_signs(work.scaled_bar);
        }
        let scaled_bar = work.scaled_bar.iter();
        for ((bar, &scaled), [_, scale]) in bars.inputs.iter_mut().zip(scaled_bar).zip(&self.scales)
        {
            *bar += scaled / *scale;
        }
    }

    /// Cuts a work area into its parts.
    fn work<'a, T: Scalar>(&self, room: &'a mut [T]) -> Work<'a, T> {
        let mut rest = room;
        let mut take = |count: usize| {
            let (part, remainder) = std::mem::take(&mut rest).split_at_mut(count);
            rest = remainder;
            part
        };
        let (inputs, entries, outputs) = (self.inputs(), self.core_outputs(), self.outputs());
        Work {
            scaled: take(inputs),
            scaled_bar: take(inputs),
            z: take(entries),
            z_bar: take(entries),
            pulled: take(outputs),
            pulled_bar: take(outputs),
            u_bar: take(outputs),
            room: rest,
        }
    }
}

/// Numbers between inputs and outputs, and their cotangents.
struct Work<'a, T> {
    scaled: &'a mut [T],
    scaled_bar: &'a mut [T],
    z: &'a mut [T],
    z_bar: &'a mut [T],
    pulled: &'a mut [T],
    pulled_bar: &'a mut [T],
    u_bar: &'a mut [T],
    room: &'a mut [T],
}

impl<T: Scalar> Work<'_, T> {
    /// A row of L times Lᵀ·v.
    fn row(&self, row: usize) -> T {
        let entries = &self.z[Form::entries(row)..];
        (0..=row).fold(T::ZERO, |sum, k| sum + entries[k] * self.pulled[k])
    }
}
