//! Random directions in one quantity of what a step is given.

use std::ops::Range;

use carom::cotangent::{InputBar, StateBar};
use carom::math::{Components, Vec3};
use carom::model::{Family, Model, Quantity};
use carom::quantity::Role;
use carom::system::Seen;
use carom::{History, Input, Scalar, State};

/// What a step is given.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) model: &'a Model,
    pub(super) state: &'a State,
    pub(super) input: &'a Input,
}

impl<'a> Given<'a> {
    /// The step, for its derivatives; `end` is the state after it.
    pub(super) fn seen<'b>(&self, end: &'b State) -> Seen<'b>
    where
        'a: 'b,
    {
        Seen {
            step: 0,
            state: self.state,
            input: self.input,
            warmstart: &end.warmstart,
        }
    }
}

/// Numbers in [−1, 1) (splitmix64).
pub(super) struct Noise(pub(super) u64);

impl Noise {
    pub(super) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    /// A factor between a half and one, with all its digits.
    pub(super) fn factor(&mut self) -> f64 {
        0.75 + 0.25 * self.next()
    }

    /// A random weighing of a state.
    pub(super) fn weigh(&mut self, loss: &mut StateBar) {
        for number in (loss.qpos.iter_mut())
            .chain(&mut loss.qvel)
            .chain(&mut loss.act)
            .chain((loss.history.iter_mut()).flat_map(|past| &mut past.values))
        {
            *number = self.next();
        }
    }

    /// Some speed and control everywhere, within the controls' ranges.
    pub(super) fn disturb(&mut self, model: &Model, state: &mut State, input: &mut Input) {
        state.qvel.fill_with(|| 0.3 * self.next());
        state.act.fill_with(|| 0.5 + 0.3 * self.next());
        self.control(model, input);
    }

    /// Controls within their ranges.
    pub(super) fn control(&mut self, model: &Model, input: &mut Input) {
        for (place, control) in input.ctrl.iter_mut().enumerate() {
            let [low, high] = model.control_range(place).unwrap_or([-0.5, 0.5]);
            *control = 0.5 * (low + high) + 0.3 * (high - low) * self.next();
        }
    }
}

/// Where a quantity is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Configuration, in tangent space.
    Qpos,
    Qvel,
    Activation,
    MocapPosition,
    /// In tangent space.
    MocapRotation,
    /// Values of all histories.
    History,
    Control,
    Force,
    BodyForce,
    /// Numbers of the model, counted over all of them.
    Model(Quantity, Range<usize>),
}

/// Part of the given that is looked at as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Variable {
    name: &'static str,
    pub(super) place: Place,
    pub(super) numbers: usize,
}

/// Everything that has derivatives.
pub(super) fn variables(model: &Model) -> Vec<Variable> {
    let n = model.counts();
    let given = [
        ("state.qpos", Place::Qpos, n.nv),
        ("state.qvel", Place::Qvel, n.nv),
        ("state.act", Place::Activation, n.na),
        ("state.mocap_position", Place::MocapPosition, 3 * n.nmocap),
        ("state.mocap_rotation", Place::MocapRotation, 3 * n.nmocap),
        ("state.history", Place::History, past_values(model)),
        ("input.ctrl", Place::Control, n.nu),
        ("input.force", Place::Force, n.nv),
        ("input.body_force", Place::BodyForce, 6 * n.nbody),
    ];
    let mut start = 0;
    let of_model = (Quantity::ALL.iter())
        .filter(|quantity| quantity.family() != Family::Sources)
        .map(|&quantity| {
            let numbers = quantity.row().width * quantity.elements(n);
            let range = start..start + numbers;
            start = range.end;
            (quantity.name(), Place::Model(quantity, range), numbers)
        });
    (given.into_iter().chain(of_model))
        .filter(|(_, place, numbers)| *numbers > 0 && !place.is_setting())
        .map(|(name, place, numbers)| Variable {
            name,
            place,
            numbers,
        })
        .collect()
}

/// Values that all histories hold.
fn past_values(model: &Model) -> usize {
    let shapes = model.structure.histories.iter();
    shapes.map(|shape| shape.samples * shape.dimension).sum()
}

impl Place {
    /// Whether its numbers say how to compute rather than what, or no step reads them.
    fn is_setting(&self) -> bool {
        matches!(self, Self::Model(quantity, _)
            if quantity.family() == Family::Keyframes || quantity.row().role == Role::Setting)
    }
}

/// A direction in one quantity, zero elsewhere.
#[derive(Clone, Debug)]
pub(super) struct Direction {
    pub(super) place: Place,
    pub(super) tangent: Vec<f64>,
    /// Whether it is in unit quaternions or axes, which a finite step leaves.
    pub(super) leaves_sphere: bool,
}

impl Variable {
    pub(super) fn name(&self) -> String {
        self.name.to_owned()
    }

    /// Why it can move to one side only.
    pub(super) fn one_sided(&self, model: &Model) -> Option<String> {
        let Place::Model(quantity, _) = self.place else {
            return None;
        };
        let option = &model.option;
        let absent = match quantity {
            Quantity::OptionDensity => option.density[0] == 0.0,
            Quantity::OptionViscosity => option.viscosity[0] == 0.0,
            Quantity::DofDamping => (model.dofs.damping.iter()).all(|&damping| damping <= 0.0),
            _ => false,
        };
        absent.then(|| format!("there is no {} below zero", quantity.row().field))
    }

    /// A random direction, as large as the numbers are; `numbers` are those of the model.
    pub(super) fn direction(&self, model: &Model, numbers: &[f64], noise: &mut Noise) -> Direction {
        let mut leaves_sphere = false;
        let tangent = match &self.place {
            Place::Model(quantity, range) => {
                let mut tangent = in_proportion(&numbers[range.clone()], noise);
                if self.one_sided(model).is_some() {
                    for number in &mut tangent {
                        *number = number.abs();
                    }
                }
                model.project(*quantity, &mut tangent);
                leaves_sphere = quantity.row().is_unit_vector;
                tangent
            }
            _ => (0..self.numbers).map(|_| noise.next()).collect(),
        };
        Direction {
            place: self.place.clone(),
            tangent,
            leaves_sphere,
        }
    }
}

/// Numbers of one field may differ by powers of ten: each moves in proportion, zeros as the largest.
fn in_proportion(numbers: &[f64], noise: &mut Noise) -> Vec<f64> {
    let finite = numbers.iter().filter(|number| number.is_finite());
    let largest = finite.fold(0.0_f64, |most, number| most.max(number.abs()));
    let typical = if largest > 0.0 { largest } else { 1.0 };
    let scale = |number: f64| {
        if number != 0.0 && number.is_finite() {
            number.abs()
        } else {
            typical
        }
    };
    (numbers.iter())
        .map(|&number| scale(number) * noise.next())
        .collect()
}

/// Sets the numbers of a quantity.
pub(super) fn write_numbers<T: Scalar>(
    model: &mut Model<T>,
    quantity: Quantity,
    mut values: impl Iterator<Item = T>,
) {
    model.numbers_mut(quantity, |number| {
        if let Some(value) = values.next() {
            *number = value;
        }
    });
}

/// A gradient whose model is a row of numbers.
pub(super) struct FlatGradient {
    pub(super) state: StateBar,
    pub(super) input: InputBar,
    pub(super) model: Vec<f64>,
}

impl Direction {
    /// No direction at all.
    pub(super) fn none() -> Self {
        Self {
            place: Place::Qvel,
            tangent: Vec::new(),
            leaves_sphere: false,
        }
    }

    /// The same direction at another speed.
    pub(super) fn scaled(&self, factor: f64) -> Self {
        Self {
            tangent: (self.tangent.iter())
                .map(|tangent| factor * tangent)
                .collect(),
            ..self.clone()
        }
    }

    /// The slope along this direction by a gradient.
    pub(super) fn dot(&self, by: &FlatGradient) -> f64 {
        let dot = |numbers: &[f64]| -> f64 {
            (self.tangent.iter().zip(numbers)).map(|(a, b)| a * b).sum()
        };
        let FlatGradient { state, input, .. } = by;
        let vectors =
            |vectors: &[Vec3]| -> Vec<f64> { vectors.iter().flat_map(|vector| vector.0).collect() };
        match &self.place {
            Place::Qpos => dot(&state.qpos),
            Place::Qvel => dot(&state.qvel),
            Place::Activation => dot(&state.act),
            Place::MocapPosition => dot(&vectors(&state.mocap_position)),
            Place::MocapRotation => dot(&vectors(&state.mocap_rotation)),
            Place::History => {
                let histories = state.history.iter();
                let values = histories.flat_map(|history| history.values.iter().copied());
                dot(&values.collect::<Vec<_>>())
            }
            Place::Control => dot(&input.ctrl),
            Place::Force => dot(&input.force),
            Place::BodyForce => {
                let forces = input.body_force.iter();
                dot(&forces.flat_map(|force| force.0).collect::<Vec<_>>())
            }
            Place::Model(_, range) => dot(&by.model[range.clone()]),
        }
    }
}

impl Direction {
    /// Adds `amount(tangent)` to the numbers of state and input along a direction; those of the model are left alone.
    pub(super) fn add_to<T: Scalar>(
        &self,
        given: Given<'_>,
        (state, input): (&mut State<T>, &mut Input<T>),
        amount: impl Fn(f64) -> T,
    ) {
        let mut tangent = self.tangent.clone();
        let numbers: Vec<&mut T> = match &self.place {
            Place::Qpos => {
                tangent = given.model.qpos_rates(&given.state.qpos, &tangent);
                state.qpos.iter_mut().collect()
            }
            Place::Qvel => state.qvel.iter_mut().collect(),
            Place::Activation => state.act.iter_mut().collect(),
            Place::MocapPosition => parts(&mut state.mocap_position),
            Place::MocapRotation => {
                let quats = given.state.mocap_quat.iter().zip(tangent.chunks(3));
                let rates = quats
                    .flat_map(|(quat, turn)| quat.derivative(Vec3([turn[0], turn[1], turn[2]])).0);
                tangent = rates.collect();
                parts(&mut state.mocap_quat)
            }
            Place::History => (state.history.iter_mut())
                .flat_map(History::values_mut)
                .collect(),
            Place::Control => input.ctrl.iter_mut().collect(),
            Place::Force => input.force.iter_mut().collect(),
            Place::BodyForce => parts(&mut input.body_force),
            Place::Model(..) => Vec::new(),
        };
        for (number, tangent) in numbers.into_iter().zip(tangent) {
            *number += amount(tangent);
        }
    }
}

/// All numbers of some elements.
fn parts<T: Scalar, C: Components<T>>(elements: &mut [C]) -> Vec<&mut T> {
    (elements.iter_mut())
        .flat_map(Components::as_mut_slice)
        .collect()
}
