//! Products of cotangents and directions: ⟨x̄, ẋ⟩ over what a stage reads, ⟨ȳ, y⟩ over what it computes.

use super::directions::numbers_of;
use super::{Stage, for_stages, is_dependent};
use crate::arrays::Arrays;
use crate::cotangent::{Cotangents, DataBar};
use crate::data::Data;
use crate::scalar::Scalar;
use crate::stages::constraint::RowBar;

/// ⟨x̄, ẋ⟩ over everything but the stage's own results.
pub(crate) fn pair_inputs<S: Stage>(bar: &Cotangents, direction: &Cotangents) -> Pairing {
    let mut terms: Vec<[f64; 2]> = Vec::new();
    let mut bars = Vec::new();
    (bar.model).for_each(|_, _, _, number| bars.push(number));
    let mut index = 0;
    (direction.model).for_each(|_, _, _, number| {
        terms.push([bars[index], number]);
        index += 1;
    });
    macro_rules! pair {
        ($stage:ident) => {
            if S::NAME != stringify!($stage) {
                let (mut a, mut b) = (Vec::new(), Vec::new());
                bar.data.$stage.visit(&mut |_, number| a.push(number));
                (direction.data.$stage).visit(&mut |_, number| b.push(number));
                terms.extend(a.into_iter().zip(b).map(|(a, b)| [a, b]));
            }
        };
    }
    for_stages!(pair);
    let mut slices = |a: &[f64], b: &[f64]| {
        terms.extend(a.iter().zip(b).map(|(&a, &b)| [a, b]));
    };
    let (a, b) = (&bar.state, &direction.state);
    slices(&a.qpos, &b.qpos);
    slices(&a.qvel, &b.qvel);
    slices(&a.act, &b.act);
    slices(&[a.time], &[b.time]);
    for (a, b) in a.history.iter().zip(&b.history) {
        slices(&a.times, &b.times);
        slices(&a.values, &b.values);
    }
    for mocap in 0..a.mocap_position.len() {
        slices(&a.mocap_position[mocap].0, &b.mocap_position[mocap].0);
        slices(&a.mocap_rotation[mocap].0, &b.mocap_rotation[mocap].0);
    }
    let (a, b) = (&bar.input, &direction.input);
    slices(&a.ctrl, &b.ctrl);
    slices(&a.force, &b.force);
    // Steps have the model's own length.
    slices(&[a.timestep], &direction.model.option.timestep);
    let contacts = bar.data.contacts.iter().zip(&direction.data.contacts);
    for (a, b) in contacts.filter(|_| S::NAME != "collision") {
        slices(&numbers_of(a), &numbers_of(b));
    }
    for body in 0..a.body_force.len() {
        slices(&a.body_force[body].0, &b.body_force[body].0);
    }
    if S::NAME == "sensing" {
        let (a, b) = (&bar.data.solve, &direction.data.solve);
        slices(&a.qacc, &b.qacc);
        slices(&a.force, &b.force);
    }
    if matches!(S::NAME, "solve" | "sensing") {
        let (a, b) = (&bar.data.constraint, &direction.data.constraint);
        slices(&a.jacobian, &b.jacobian);
        for (a, b) in a.rows.iter().zip(&b.rows) {
            slices(&row_numbers(a), &row_numbers(b));
        }
    }
    sums(&terms)
}

fn row_numbers(row: &RowBar) -> [f64; 6] {
    [
        row.weight,
        row.friction,
        row.reference_acceleration,
        row.position,
        row.distance,
        row.velocity,
    ]
}

/// ⟨ȳ, y⟩ over the stage's own results; none if there are others than ȳ is for.
pub(super) fn pair_results<S: Stage, T: Scalar>(
    bar: &DataBar,
    data: &Data<T>,
    part: impl Fn(T) -> f64,
) -> Option<Pairing> {
    let mut terms = Vec::new();
    macro_rules! pair {
        ($stage:ident) => {
            if S::NAME == stringify!($stage) {
                let mut bars = Vec::new();
                bar.$stage.visit(&mut |_, number| bars.push(number));
                let mut index = 0;
                parts(&bar.$stage, &data.$stage, &mut |field, number| {
                    if !is_dependent(stringify!($stage), field) {
                        terms.push([bars[index], part(number)]);
                    }
                    index += 1;
                });
            }
        };
    }
    for_stages!(pair);
    let mut is_alike = true;
    let mut slices = |bars: &[f64], numbers: &[T]| {
        is_alike &= bars.len() == numbers.len();
        terms.extend((bars.iter().zip(numbers)).map(|(&bar, &number)| [bar, part(number)]));
    };
    if S::NAME == "constraint" {
        slices(&bar.constraint.jacobian, &data.constraint.jacobian);
        for (bar, row) in bar.constraint.rows.iter().zip(&data.constraint.rows) {
            let numbers = [
                row.weight,
                row.friction,
                row.reference_acceleration,
                row.position,
                row.position - row.margin,
                row.velocity,
            ];
            slices(&row_numbers(bar), &numbers);
        }
    }
    if S::NAME == "collision" {
        let contacts = &data.collision.contacts;
        if bar.contacts.len() != contacts.len() {
            return None;
        }
        for (bar, contact) in bar.contacts.iter().zip(contacts) {
            let mut numbers = Vec::new();
            let _ = contact.map(|number| {
                numbers.push(number);
                number
            });
            slices(&numbers_of(bar), &numbers);
        }
    }
    if S::NAME == "compliance" {
        slices(&bar.acceleration.force_smooth, &data.compliance.force);
    }
    if S::NAME == "solve" {
        let (bar, solve) = (&bar.solve, &data.solve);
        slices(&bar.qacc, &solve.qacc);
        slices(&bar.force_constraint, &solve.force_constraint);
        slices(&bar.residual, &solve.residual);
        slices(&bar.force, &solve.force);
    }
    is_alike.then(|| sums(&terms))
}

/// Lets the compiler infer whose arrays are visited.
fn parts<A: Arrays, T: Scalar>(
    _like: &A,
    over: &A::Over<T>,
    visit: &mut dyn FnMut(&'static str, T),
) {
    A::parts(over, visit);
}

/// A sum of products, and how large they are.
#[derive(Clone, Copy)]
pub(crate) struct Pairing {
    pub(crate) sum: f64,
    /// Length of the vector of products.
    pub(crate) norm: f64,
    /// Sum of their magnitudes.
    pub(super) magnitude: f64,
}

fn sums(terms: &[[f64; 2]]) -> Pairing {
    let products = terms.iter().map(|[a, b]| a * b);
    let squares = products.clone().map(|product| product * product);
    Pairing {
        sum: products.clone().sum(),
        norm: squares.sum::<f64>().sqrt(),
        magnitude: products.map(f64::abs).sum(),
    }
}
