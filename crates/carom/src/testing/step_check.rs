//! Is the backward pass of a whole step the adjoint of the step?
//!
//! As in [`stage_check`](super::stage_check), for the map from model, state and input to the next state and the sensors:
//! derivatives along random directions, one group at a time, against dual numbers (1e-10) and central differences (1e-6).

use super::Random;
use super::stage_check::{
    Point, Stage, Tally, groups, is_still, keep_only, moved_along, pair_inputs, random_direction,
    two_sided, with_direction,
};
use crate::cotangent::{Cotangents, StateBar};
use crate::history::HistoryBar;
use crate::integrate::{self, Retraced};
use crate::model::Model;
use crate::scalar::Scalar;
use crate::state::State;

/// Step sizes of difference quotients.
const STEPS: [f64; 4] = [1e-6, 1e-5, 1e-7, 1e-8];

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
    let tally = examine(point).unwrap_or_else(|why| panic!("{why}"));
    assert_eq!(tally.kinks, 0, "differences do not converge");
}

/// As [`check`], counting kinks; disagreement is an error.
pub(crate) fn examine(point: &Point) -> Result<Tally, String> {
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
    let (mut tally, mut failures) = (Tally::default(), Vec::new());
    for group in groups(&point.model) {
        let mut part = direction.clone();
        keep_only(&mut part, &|other| other == group);
        if is_still::<Step>(&part) {
            continue;
        }
        let bars = (&next, &values[..]);
        let compared = compare(point, &end.state, bars, &bar, &part, &mut tally);
        failures.extend(compared.err().map(|why| format!("step by {group}: {why}")));
    }
    if failures.is_empty() {
        Ok(tally)
    } else {
        Err(failures.join("\n"))
    }
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
    tally: &mut Tally,
) -> Result<(), String> {
    let backward = pair_inputs::<Step>(bar, direction);
    let mut dual = with_direction(point, direction);
    dual.state.warmstart = point.state.warmstart.iter().map(|&a| a.into()).collect();
    Step::forward(&mut dual);
    let tangent = |number: crate::dual::Dual<{ crate::dual::LANES }>| number.tangent[0];
    let forward = pair(&point.model, end, (next, values), &dual, tangent);
    let scale = 1e-3 + forward.1.max(backward.norm);
    let error = (forward.0 - backward.sum).abs() / scale;
    tally.moving += usize::from(forward.1 > 0.0);
    tally.worst[0] = tally.worst[0].max(error);
    if error.is_nan() || error >= 1e-10 {
        return Err(format!(
            "backward {:e}, duals {:e}, relative error {error:e}",
            backward.sum, forward.0
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
    // The difference between the slopes ahead and behind.
    let jump = |step: f64| {
        let [ahead, here, behind] = [step, 0.0, -step].map(|step| {
            let mut moved = moved_along(point, &direction, step);
            Step::forward(&mut moved);
            moved
        });
        let bars = (next, values);
        (difference(point, bars, &ahead, &here) - difference(point, bars, &here, &behind)).abs()
            / step
    };
    // The pair of steps that agrees best with itself judges, as far as it can.
    let mut best = [0.0, f64::INFINITY];
    for step in STEPS {
        let [coarse, fine] = [quotient(step), quotient(0.5 * step)];
        let [found, spread] = [(4.0 * fine - coarse) / 3.0, (coarse - fine).abs()];
        if spread < best[1] {
            best = [found, spread];
        }
        if (found - backward.sum).abs() < 1e-6 * scale && spread < 1e-6 * scale {
            best = [found, spread];
            break;
        }
    }
    let [differences, spread] = best;
    let uncertain = spread / scale;
    let error = (differences - backward.sum).abs() / scale;
    if error <= 1e-6 + uncertain && uncertain < 1e-3 {
        tally.worst[2] = tally.worst[2].max(error);
        Ok(())
    } else if uncertain > 1e-6 || jump(1e-6) > 0.5 * error * scale {
        tally.kinks += 1;
        Ok(())
    } else {
        Err(format!(
            "backward {:e}, differences {differences:e}, relative error {error:e}, of which {uncertain:e} is theirs",
            backward.sum
        ))
    }
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
    let mut terms: Vec<f64> = model
        .qpos_tangent(&end.qpos, &rates)
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
