//! Forms of learned terms: functions y = f(x, w) of inputs x and weights w that stand for laws nobody has written down.
//!
//! A [`Form`] is a [`Core`] (a network, a polynomial, a quotient of polynomials, a table, a law of friction or drag) between
//! scaled inputs and an end that makes it physical:
//!
//!   x̂ = (x − c)/s                                                                           (1)
//!   z = core(x̂, w), or ½·(core(x̂, w) − core(R·x̂, w)) if odd, R turns the sign of some inputs          (2)
//!   u = z, or −g·L·Lᵀ·v if dissipative, L lower triangular with the entries z, gain g ≥ 0           (3)
//!   y = u, or B·tanh(u/B) if bounded                                                         (4)
//!
//! A dissipative form takes out energy whatever its weights are: vᵀ·u = −g·|Lᵀ·v|² ≤ 0. A form is zero for its
//! [initial weights](Form::initial): an untrained term changes nothing.
//!
//! A form itself is discrete. Its numbers are given with each call: the weights w, and the [constants](Form::constants), which are c
//! and s of each input, then B. Values and adjoints are generic over [`Scalar`] in all of them, so dual numbers pass through a
//! form. The adjoint over dual numbers that move along ẋ has the second derivatives that implicit integrators need as its
//! tangents: d/dε ∂fᵀ/∂x(x + ε·ẋ)·ȳ = ∂/∂x ȳᵀ·(∂f/∂x·ẋ). Nothing is allocated: the caller brings [`Form::room`] numbers.
//!
//! ```
//! use carom_form::{Activation, Core, Form, Mlp, Numbers};
//!
//! // A friction over position and velocity that never creates energy.
//! let form = Form::new(Core::Mlp(Mlp::new(2, &[8], 1, Activation::Tanh))).dissipative(&[1]);
//! let (weights, constants) = (vec![0.3; form.weights()], form.plain_constants());
//! let numbers = Numbers { weights: &weights, constants: &constants };
//! let (mut force, mut room) = ([0.0], vec![0.0; form.room()]);
//! form.value(&[0.2, 1.5], numbers, &mut force, &mut room);
//! assert!(force[0] * 1.5 < 0.0);
//! ```

mod activation;
mod law;
mod mlp;
mod polynomial;
mod table;
#[cfg(test)]
mod tests;

pub use activation::Activation;
pub use law::{Drag, Friction};
pub use mlp::Mlp;
pub use polynomial::Polynomial;
pub use table::Table;

use carom_scalar::Scalar;

/// What is learned of a form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Core {
    /// A network of dense layers.
    Mlp(Mlp),
    /// A polynomial, or a quotient of two.
    Polynomial(Polynomial),
    /// A spline over one or two inputs.
    Table(Table),
    /// Friction of a joint that falls with speed and rises with load.
    Friction(Friction),
    /// Linear and quadratic resistance along each input.
    Drag(Drag),
}

/// A core: a function z = core(x̂, w) with its adjoint.
pub(crate) trait Function {
    fn inputs(&self) -> usize;
    fn outputs(&self) -> usize;
    fn weights(&self) -> usize;
    /// Weights for which all outputs are `z`, or zero where a core has no such choice.
    fn initial(&self, z: f64, normal: &mut dyn FnMut() -> f64) -> Vec<f64>;
    fn value<T: Scalar>(&self, x: &[T], w: &[T], z: &mut [T], room: &mut [T]);
    /// Adds to the cotangents of inputs and weights.
    fn vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        z_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        room: &mut [T],
    );

    /// Typical sizes of the weights, for inputs and outputs of typical sizes.
    fn weight_scales(&self, x: &[f64], z: &[f64]) -> Vec<f64>;

    /// Numbers of work area.
    fn room(&self) -> usize {
        0
    }

    /// The lowest value that a weight may have.
    fn lower_bound(&self, _weight: usize) -> f64 {
        f64::NEG_INFINITY
    }
}

/// Calls the same method of whichever core it is.
macro_rules! of_core {
    ($core:expr, $one:ident => $call:expr) => {
        match $core {
            Core::Mlp($one) => $call,
            Core::Polynomial($one) => $call,
            Core::Table($one) => $call,
            Core::Friction($one) => $call,
            Core::Drag($one) => $call,
        }
    };
}

/// The numbers of a form.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a, T> {
    /// Those that are learned.
    pub weights: &'a [T],
    /// Centre and scale of each input, then the bound if there is one.
    pub constants: &'a [T],
}

/// Cotangents of inputs and numbers, which adjoints add to.
#[derive(Debug)]
pub struct Bars<'a, T> {
    /// Of the inputs.
    pub inputs: &'a mut [T],
    /// Of the weights.
    pub weights: &'a mut [T],
    /// Of the constants.
    pub constants: &'a mut [T],
}

/// A function of inputs and weights; see the [crate] documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    core: Core,
    /// Inputs whose sign R turns; none if the form is not odd.
    odd: Vec<usize>,
    /// Inputs that are the velocities v; none if the form is not dissipative.
    velocities: Vec<usize>,
    is_bounded: bool,
}

impl Form {
    /// A core by itself.
    pub fn new(core: Core) -> Self {
        Self {
            core,
            odd: Vec::new(),
            velocities: Vec::new(),
            is_bounded: false,
        }
    }

    /// With the sign of y turned where the sign of these inputs is, as friction does with the velocity. Their centre must be zero.
    #[must_use]
    pub fn odd(mut self, inputs: &[usize]) -> Self {
        self.odd = inputs.to_vec();
        self
    }

    /// With y = −g·L·Lᵀ·v for the velocities v among the inputs: the core gives the entries of L, row by row.
    #[must_use]
    pub fn dissipative(mut self, velocities: &[usize]) -> Self {
        self.velocities = velocities.to_vec();
        self
    }

    /// With |y| below a bound, which is the last of the constants.
    #[must_use]
    pub fn bounded(mut self) -> Self {
        self.is_bounded = true;
        self
    }

    /// Entries of L for so many velocities: outputs that the core of a dissipative form must have.
    pub fn entries(velocities: usize) -> usize {
        velocities * (velocities + 1) / 2
    }

    /// Numbers that go in.
    pub fn inputs(&self) -> usize {
        of_core!(&self.core, one => one.inputs())
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

    /// Numbers that are given: centre and scale of each input, then the bound if there is one.
    pub fn constants(&self) -> usize {
        2 * self.inputs() + usize::from(self.is_bounded)
    }

    /// Constants that leave inputs as they are, with a bound of one.
    pub fn plain_constants(&self) -> Vec<f64> {
        let mut constants = [0.0, 1.0].repeat(self.inputs());
        constants.resize(self.constants(), 1.0);
        constants
    }

    /// Inputs whose centre must be zero, and which scales must not move: those that the form is odd in.
    pub fn odd_inputs(&self) -> &[usize] {
        &self.odd
    }

    /// Whether inputs are to be scaled by data: a law takes them in their units.
    pub fn scales_by_data(&self) -> bool {
        !matches!(self.core, Core::Friction(_) | Core::Drag(_))
    }

    /// The lowest value that a weight may have: a gain below zero would create energy.
    pub fn lower_bound(&self, weight: usize) -> f64 {
        if self.is_dissipative() && weight == self.core_weights() {
            return 0.0;
        }
        of_core!(&self.core, one => one.lower_bound(weight))
    }

    /// Typical sizes of the weights where inputs and outputs have typical sizes: what searches measure steps by.
    pub fn weight_scales(&self, inputs: &[f64], outputs: &[f64]) -> Vec<f64> {
        // Scaled inputs are about one.
        let scaled: Vec<f64> = if self.scales_by_data() {
            vec![1.0; inputs.len()]
        } else {
            inputs.to_vec()
        };
        if !self.is_dissipative() {
            return of_core!(&self.core, one => one.weight_scales(&scaled, outputs));
        }
        let entries = vec![1.0; self.core_outputs()];
        let mut scales = of_core!(&self.core, one => one.weight_scales(&scaled, &entries));
        let ratios = self.velocities.iter().zip(outputs);
        let ratios = ratios.map(|(&input, output)| output / inputs[input]);
        scales.push(ratios.fold(0.0, f64::max));
        scales
    }

    /// Numbers of work area that values and adjoints need.
    pub fn room(&self) -> usize {
        let core = of_core!(&self.core, one => one.room());
        core + 2 * self.inputs() + 2 * self.core_outputs() + 3 * self.outputs()
    }

    /// Weights to train from, for which the form is zero. `normal` gives numbers of the standard normal distribution.
    pub fn initial(&self, mut normal: impl FnMut() -> f64) -> Vec<f64> {
        // With L = 0 a dissipative form would have no gradient: its gain is zero instead.
        let (z, normal) = (if self.is_dissipative() { 0.5 } else { 0.0 }, &mut normal);
        let mut weights = of_core!(&self.core, one => one.initial(z, normal));
        weights.resize(self.weights(), 0.0);
        weights
    }

    fn is_dissipative(&self) -> bool {
        !self.velocities.is_empty()
    }

    fn core_outputs(&self) -> usize {
        of_core!(&self.core, one => one.outputs())
    }

    fn core_weights(&self) -> usize {
        of_core!(&self.core, one => one.weights())
    }

    fn core_value<T: Scalar>(&self, x: &[T], w: &[T], z: &mut [T], room: &mut [T]) {
        of_core!(&self.core, one => one.value(x, w, z, room));
    }

    fn core_vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
        z_bar: &[T],
        bars: &mut CoreBars<'_, T>,
        room: &mut [T],
    ) {
        of_core!(&self.core, one => one.vjp(x, w, z_bar, bars, room));
    }

    fn turn_signs<T: Scalar>(&self, numbers: &mut [T]) {
        for &input in &self.odd {
            numbers[input] = -numbers[input];
        }
    }

    /// The bound B among the constants.
    fn bound<T: Scalar>(&self, numbers: Numbers<'_, T>) -> Option<T> {
        let place = 2 * self.inputs();
        self.is_bounded.then(|| numbers.constants[place])
    }

    /// (1) and (2).
    fn middle<T: Scalar>(&self, x: &[T], numbers: Numbers<'_, T>, work: &mut Work<'_, T>) {
        let scales = numbers.constants.as_chunks().0;
        for ((scaled, &x), &[center, scale]) in work.scaled.iter_mut().zip(x).zip(scales) {
            *scaled = (x - center) / scale; // (1)
        }
        self.core_value(work.scaled, numbers.weights, work.z, work.room);
        if !self.odd.is_empty() {
            self.turn_signs(work.scaled);
            self.core_value(work.scaled, numbers.weights, work.z_bar, work.room);
            self.turn_signs(work.scaled);
            for (z, &mut other) in work.z.iter_mut().zip(&mut *work.z_bar) {
                *z = (*z - other) * 0.5; // (2)
            }
        }
    }

    /// (3), after [`Self::middle`].
    fn end<T: Scalar>(&self, x: &[T], w: &[T], work: &mut Work<'_, T>, u: &mut [T]) {
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
    pub fn value<T: Scalar>(&self, x: &[T], numbers: Numbers<'_, T>, y: &mut [T], room: &mut [T]) {
        let mut work = self.work(room);
        self.middle(x, numbers, &mut work);
        self.end(x, numbers.weights, &mut work, y);
        if let Some(bound) = self.bound(numbers) {
            for y in y {
                *y = (*y / bound).tanh() * bound; // (4)
            }
        }
    }

    /// The adjoint: adds ∂fᵀ/∂x·ȳ and ∂fᵀ/∂w·ȳ to `bars`, and the same for the constants.
    pub fn vjp<T: Scalar>(
        &self,
        x: &[T],
        numbers: Numbers<'_, T>,
        y_bar: &[T],
        bars: &mut Bars<'_, T>,
        room: &mut [T],
    ) {
        let mut work = self.work(room);
        self.middle(x, numbers, &mut work);
        let u_bar = std::mem::take(&mut work.u_bar);
        self.end(x, numbers.weights, &mut work, u_bar);
        if let Some(bound) = self.bound(numbers) {
            // Of B·tanh(u/B) by B: tanh(u/B) − u/B·(1 − tanh²(u/B)).
            let bound_bar = &mut bars.constants[2 * self.inputs()];
            for (u, &y_bar) in u_bar.iter_mut().zip(y_bar) {
                let share = *u / bound;
                let (held, slope) = (share.tanh(), T::ONE - share.tanh() * share.tanh());
                *bound_bar += (held - share * slope) * y_bar;
                *u = slope * y_bar;
            }
        } else {
            u_bar.copy_from_slice(y_bar);
        }
        if self.is_dissipative() {
            self.end_vjp(x, numbers.weights, u_bar, &mut work, bars);
        } else {
            work.z_bar.copy_from_slice(u_bar);
        }
        self.middle_vjp(numbers, &mut work, bars);
    }

    /// The adjoint of [`Self::end`] for dissipative forms: with p = Lᵀ·v and ū,
    /// L̄ = −g·ū·pᵀ + v·p̄ᵀ,   p̄ = −g·Lᵀ·ū,   v̄ += L·p̄,   ḡ += −ūᵀ·L·p.
    fn end_vjp<T: Scalar>(
        &self,
        x: &[T],
        w: &[T],
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

    /// The adjoint of [`Self::middle`], given z̄:   x̄ += x̄̂/s,   c̄ −= x̄̂/s,   s̄ −= x̄̂·x̂/s.
    fn middle_vjp<T: Scalar>(
        &self,
        numbers: Numbers<'_, T>,
        work: &mut Work<'_, T>,
        bars: &mut Bars<'_, T>,
    ) {
        let (w, is_odd) = (numbers.weights, !self.odd.is_empty());
        let weights = &mut bars.weights[..self.core_weights()];
        if is_odd {
            for bar in &mut *work.z_bar {
                *bar *= 0.5;
            }
        }
        work.scaled_bar.fill(T::ZERO);
        let mut own = CoreBars {
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
            let mut own = CoreBars {
                inputs: &mut *work.scaled_bar,
                weights,
            };
            self.core_vjp(work.scaled, w, work.z_bar, &mut own, work.room);
            self.turn_signs(work.scaled);
            self.turn_signs(work.scaled_bar);
        }
        let scales = numbers.constants.as_chunks::<2>().0.iter();
        let scale_bars = bars.constants.as_chunks_mut::<2>().0.iter_mut();
        let scaled = work.scaled.iter().zip(&*work.scaled_bar);
        let each = bars.inputs.iter_mut().zip(scaled);
        for ((bar, (&scaled, &scaled_bar)), ([_, scale], [center_bar, scale_bar])) in
            each.zip(scales.zip(scale_bars))
        {
            let passed = scaled_bar / *scale;
            *bar += passed;
            *center_bar -= passed;
            *scale_bar -= passed * scaled;
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

/// Cotangents of scaled inputs and of the weights of a core, which its adjoint adds to.
pub(crate) struct CoreBars<'a, T> {
    inputs: &'a mut [T],
    weights: &'a mut [T],
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
