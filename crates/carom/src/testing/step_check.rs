//! Is the backward pass of a whole step the adjoint of the step?
//!
//! As in [`stage_check`](super::stage_check), for the map from model, state and input to the next state and the sensors:
//! derivatives along random directions, one group at a time, against dual numbers (1e-10) and central differences (1e-6).

use super::Random;
use super::stage_check::{
    Point, Stage, groups, keep_only, moved_along, pair_inputs, random_direction, two_sided,
    with_direction,
};
use crate::cotangent::{Cotangents, StateBar};
use crate::gradient_check::tangent_of;
use crate::history::HistoryBar;
use crate::integrate::{self, Retraced};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::State;

/// Step sizes of difference quotients.
const STEPS: [f64; 4] = [1e-5, 1e-6, 1e-7, 1e-8];

/// A step seen as a stage.
struct Step;

impl Stage for Step {
    const NAME: &'static str = "step";
    fn forward<T: Scalar>(point: &mut Point<T>) {
        integrate::step(
            &point.model,
            &mut point.state,
            &point.input,
            &mut point.data,
        );
    }
    fn backward(_: &Point, _: &mut Cotangents) {}
}

/// Checks the step from a point, all directions of the groups of the model, the state and the input.
pub(crate) fn check(point: &Point) {
    let mut random = Random::new(0x5EED);
    let (next, values) = random_bars(point, &mut random);
    let mut end = point.clone();
    Step::forward(&mut end);
    let mut retraced = Retraced::new(&point.model);
    let found = &end.state.warmstart;
    assert!(retraced.retrace(&point.model, &point.state, &point.input, found));
    retraced.sense(&point.model, &point.input);
    let mut bar = Cotangents::zeros(&point.model);
    bar.data.start(retraced.data());
    bar.data.sensing.values.copy_from_slice(&values);
    retraced.backward(&point.model, &point.input, &next, &mut bar);
    // The results of the stages are not given but computed.
    bar.data.start(retraced.data());
    let mut direction = random_direction::<Step>(point, &mut random);
    direction.data.start(&point.data);
    let mut failures = Vec::new();
    for group in groups(&point.model) {
        let mut part = direction.clone();
        keep_only(&mut part, group);
        failures.extend(compare(
            point,
            &end.state,
            (&next, &values),
            &bar,
            &part,
            group,
        ));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn random_bars(point: &Point, random: &mut Random) -> (StateBar, Vec<f64>) {
    let model = &point.model;
    let mut next = StateBar::zeros(model);
    for number in (next.qpos.iter_mut())
        .chain(&mut next.qvel)
        .chain(&mut next.act)
        .chain([&mut next.time])
        .chain(next.history.iter_mut().flat_map(HistoryBar::numbers_mut))
    {
        *number = random.next();
    }
    let mut values = vec![0.0; model.counts().nsensor_value];
    values.fill_with(|| random.next());
    (next, values)
}

fn compare(
    point: &Point,
    end: &State,
    (next, values): (&StateBar, &[f64]),
    bar: &Cotangents,
    direction: &Cotangents,
    group: &str,
) -> Option<String> {
    let backward = pair_inputs::<Step>(bar, direction);
    let mut dual = with_direction(point, direction);
    dual.state.warmstart = point.state.warmstart.iter().map(|&a| a.into()).collect();
    Step::forward(&mut dual);
    let tangent = |number: crate::dual::Dual<1>| number.tangent[0];
    let forward = pair(&point.model, end, (next, values), &dual, tangent);
    let scale = 1e-3 + forward.1.max(backward.1);
    let error = (forward.0 - backward.0).abs() / scale;
    if error.is_nan() || error >= 1e-10 {
        return Some(format!(
            "step by {group}: backward {:e}, duals {:e}, relative error {error:e}",
            backward.0, forward.0
        ));
    }
    let direction = two_sided(point, direction);
    let backward = pair_inputs::<Step>(bar, &direction);
    let quotient = |step: f64| {
        let [ahead, behind] = [step, -step].map(|step| {
            let mut moved = moved_along(point, &direction, step);
            Step::forward(&mut moved);
            moved
        });
        difference(point, (next, values), &ahead, &behind) / (2.0 * step)
    };
    // The pair of steps that agrees best with itself judges, as far as it can.
    let pairs = STEPS.map(|step| [quotient(step), quotient(0.5 * step)]);
    let spread = |[coarse, fine]: &[f64; 2]| (coarse - fine).abs();
    let best = pairs
        .iter()
        .min_by(|a, b| spread(a).total_cmp(&spread(b)))?;
    let differences = (4.0 * best[1] - best[0]) / 3.0;
    let uncertain = spread(best) / scale;
    let error = (differences - backward.0).abs() / scale;
    let agrees = error <= 1e-6 + uncertain && uncertain < 1e-3;
    (!agrees).then(|| {
        format!(
            "step by {group}: backward {:e}, differences {differences:e}, relative error {error:e}, of which {uncertain:e} is theirs",
            backward.0
        )
    })
}

/// ⟨ȳ, ẏ⟩ over the next state and the sensors, and the sum of magnitudes.
fn pair<T: Scalar>(
    model: &Model,
    end: &State,
    (next, values): (&StateBar, &[f64]),
    moved: &Point<T>,
    part: impl Fn(T) -> f64,
) -> (f64, f64) {
    let rates: Vec<f64> = moved
        .state
        .qpos
        .iter()
        .map(|&number| part(number))
        .collect();
    let mut terms: Vec<f64> = tangent_of(model, &end.qpos, &rates)
        .iter()
        .zip(&next.qpos)
        .map(|(a, b)| a * b)
        .collect();
    let mut add = |bars: &[f64], numbers: &[T]| {
        terms.extend(
            bars.iter()
                .zip(numbers)
                .map(|(bar, &number)| bar * part(number)),
        );
    };
    add(&next.qvel, &moved.state.qvel);
    add(&next.act, &moved.state.act);
    add(values, &moved.data.sensing.values);
    add(&[next.time], &[moved.state.time]);
    for (bar, history) in next.history.iter().zip(&moved.state.history) {
        add(&bar.times, history.times());
        add(&bar.values, history.values());
    }
    let magnitude = terms.iter().map(|term| term * term).sum::<f64>();
    (terms.iter().sum(), magnitude.sqrt())
}

/// ⟨ȳ, y⟩ of the difference between two points.
fn difference(point: &Point, (next, values): (&StateBar, &[f64]), a: &Point, b: &Point) -> f64 {
    let mut tangent = vec![0.0; point.model.counts().nv];
    integrate::difference(&point.model, &b.state.qpos, &a.state.qpos, &mut tangent);
    let dot = |bars: &[f64], a: &[f64], b: &[f64]| -> f64 {
        let differences = a.iter().zip(b).map(|(a, b)| a - b);
        bars.iter().zip(differences).map(|(bar, d)| bar * d).sum()
    };
    let zeros = vec![0.0; tangent.len()];
    let histories = a.state.history.iter().zip(&b.state.history);
    let past: f64 = (next.history.iter().zip(histories))
        .map(|(bar, (a, b))| {
            dot(&bar.times, a.times(), b.times()) + dot(&bar.values, a.values(), b.values())
        })
        .sum();
    dot(&next.qpos, &tangent, &zeros)
        + dot(&next.qvel, &a.state.qvel, &b.state.qvel)
        + dot(&next.act, &a.state.act, &b.state.act)
        + dot(values, &a.data.sensing.values, &b.data.sensing.values)
        + dot(&[next.time], &[a.state.time], &[b.state.time])
        + past
}
